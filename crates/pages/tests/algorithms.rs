//! Tests that every way to verify a page accepts what was written and has its known weaknesses.

use std::sync::atomic::AtomicBool;

use steelyard_pages::{
    algorithm_trials, check_trials, page_checksum, timed, Algorithm, Check, Identity, Kernel,
    PageFault, Place, Scheme, Versions, Work,
};

const PLACE: Place = Place {
    relation: 16_384,
    block: 70_000,
};

fn noise(seed: u32) -> Vec<u8> {
    let mut word = seed;
    let mut page: Vec<u8> = (0..8192)
        .map(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        })
        .collect();
    for (at, value) in [
        (0, 0),
        (2, 0),
        (10, 0),
        (12, 100),
        (14, 4000),
        (16, 8192),
        (18, 8196),
    ] {
        page[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
    }
    page
}

fn pages() -> Vec<Versions> {
    so_many_pages(8)
}

fn so_many_pages(count: u32) -> Vec<Versions> {
    let mut pages = Vec::new();
    for seed in 0..count {
        let mut now = noise(seed);
        let mut before = now.clone();
        before[4096..].rotate_left(77);
        before[600..700].fill(7);
        now[4..8].copy_from_slice(&2000u32.to_ne_bytes());
        before[4..8].copy_from_slice(&1000u32.to_ne_bytes());
        let relation = 16_384 + seed;
        pages.push(Versions {
            now,
            before,
            relation,
        });
    }
    pages
}

fn schemes() -> impl Iterator<Item = Scheme> {
    let each = |algorithm| {
        Identity::ALL.map(|identity| Scheme {
            algorithm,
            identity,
            kernel: Kernel::best(),
        })
    };
    Algorithm::ALL.into_iter().flat_map(each)
}

fn missed(fault: PageFault, algorithm: Algorithm, identity: Identity) -> f64 {
    let scheme = Scheme {
        algorithm,
        identity,
        kernel: Kernel::best(),
    };
    let stop = AtomicBool::new(false);
    let (missed, planted) = algorithm_trials(fault, scheme, &pages(), 20_000, (7, 2), &stop);
    assert!(
        planted > 15_000,
        "{} was planted {planted} times",
        fault.name()
    );
    missed as f64 / planted as f64
}

#[test]
fn every_scheme_accepts_what_was_written_where_it_was_written() {
    for scheme in schemes() {
        for write in 0..3 {
            let mut page = noise(write);
            scheme.seal(&mut page, PLACE, write);
            assert!(scheme.accepts(&page, PLACE), "{scheme:?}");
        }
    }
}

#[test]
fn postgresqls_is_what_the_server_writes() {
    let scheme = Scheme {
        algorithm: Algorithm::Postgres,
        identity: Identity::Block,
        kernel: Kernel::best(),
    };
    let mut page = noise(3);
    scheme.seal(&mut page, PLACE, 0);
    let stored = u16::from_ne_bytes([page[8], page[9]]);
    assert_eq!(stored, page_checksum(&page, PLACE.block));
}

#[test]
fn the_crc_is_castagnolis_over_the_page_with_its_field_as_zero() {
    let scheme = Scheme {
        algorithm: Algorithm::Crc32c,
        identity: Identity::None,
        kernel: Kernel::best(),
    };
    let mut page = noise(4);
    scheme.seal(&mut page, PLACE, 0);
    let stored = page[8..12].to_vec();
    page[8..12].fill(0);
    assert_eq!(stored, steelyard_pages::crc32c(&page).to_le_bytes());
}

#[test]
fn torn_page_bits_see_whatever_spoils_a_whole_sector_and_little_else() {
    let bits = |fault| missed(fault, Algorithm::TornBits, Identity::None);
    for seen in [
        PageFault::TornSector,
        PageFault::TornHalf,
        PageFault::ZeroedSector,
        PageFault::Ones,
        PageFault::Garbage,
    ] {
        assert_eq!(bits(seen), 0.0, "{}", seen.name());
    }
    assert!(bits(PageFault::OneBit) > 0.99);
    assert!(bits(PageFault::BitRun) > 0.95);
    for passed in [
        PageFault::ZeroedPage,
        PageFault::Misplaced,
        PageFault::LostWrite,
    ] {
        assert_eq!(bits(passed), 1.0, "{}", passed.name());
    }
}

#[test]
fn a_page_id_in_the_header_sees_another_place_and_an_empty_page_without_any_sum() {
    for algorithm in [Algorithm::None, Algorithm::TornBits, Algorithm::SqlServer] {
        let missed = |fault| missed(fault, algorithm, Identity::PageId);
        for seen in [
            PageFault::Misplaced,
            PageFault::MisplacedBy(65_537),
            PageFault::OtherRelation,
            PageFault::ZeroedPage,
        ] {
            assert_eq!(missed(seen), 0.0, "{algorithm:?}: {}", seen.name());
        }
        assert_eq!(missed(PageFault::LostWrite), 1.0);
    }
    assert_eq!(
        missed(PageFault::TornHalf, Algorithm::None, Identity::PageId),
        1.0
    );
}

#[test]
fn a_reader_gets_back_what_the_torn_page_bits_displaced() {
    let scheme = Scheme {
        algorithm: Algorithm::TornBits,
        identity: Identity::None,
        kernel: Kernel::best(),
    };
    let written = noise(6);
    let mut page = written.clone();
    scheme.seal(&mut page, PLACE, 0);
    assert_ne!(page[512..], written[512..]);
    assert!(scheme.open(&mut page, PLACE));
    assert_eq!(page[512..], written[512..]);
}

#[test]
fn a_torn_page_is_planted_as_often_whatever_verifies_it() {
    let mut halves = pages();
    for page in &mut halves {
        // Nothing changed behind the first half: to tear there is to lose, or to write, all of it.
        page.before[4096..].copy_from_slice(&page.now.clone()[4096..]);
    }
    let stop = AtomicBool::new(false);
    let planted =
        |scheme| algorithm_trials(PageFault::TornSector, scheme, &halves, 500, (9, 2), &stop).1;
    let counts: Vec<u64> = schemes().map(planted).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    assert!((1..500).contains(&counts[0]));
}

#[test]
fn a_sum_of_sectors_is_blind_to_two_flips_in_a_column() {
    let scheme = Scheme {
        algorithm: Algorithm::SqlServer,
        identity: Identity::None,
        kernel: Kernel::best(),
    };
    let mut page = noise(5);
    scheme.seal(&mut page, PLACE, 0);
    page[1024] ^= 8;
    assert!(!scheme.accepts(&page, PLACE));
    page[1028] ^= 8;
    assert!(scheme.accepts(&page, PLACE));
}

#[test]
fn identity_decides_what_is_seen_of_misdirected_writes() {
    for algorithm in [Algorithm::Postgres, Algorithm::Crc32c, Algorithm::Xxh3] {
        let missed = |fault, identity| missed(fault, algorithm, identity);
        assert_eq!(missed(PageFault::Misplaced, Identity::None), 1.0);
        assert!(missed(PageFault::Misplaced, Identity::Block) < 0.001);
        assert_eq!(missed(PageFault::OtherRelation, Identity::Block), 1.0);
        assert!(missed(PageFault::OtherRelation, Identity::Relation) < 0.002);
        assert_eq!(missed(PageFault::LostWrite, Identity::Relation), 1.0);
    }
}

#[test]
fn sixteen_bits_are_blind_around_sixty_five_thousand_blocks() {
    // How many are missed depends on the page's sum as well as on its number: it takes many.
    let pages = so_many_pages(300);
    let scheme = Scheme {
        algorithm: Algorithm::Postgres,
        identity: Identity::Block,
        kernel: Kernel::best(),
    };
    let stop = AtomicBool::new(false);
    let missed = |fault| {
        let (missed, of) = algorithm_trials(fault, scheme, &pages, 20_000, (7, 2), &stop);
        missed as f64 / of as f64
    };
    assert_eq!(missed(PageFault::MisplacedBy(65_536)), 0.0);
    for distance in [65_535, 65_537] {
        let rate = missed(PageFault::MisplacedBy(distance));
        assert!((0.20..0.28).contains(&rate), "{distance}: {rate}");
    }
}

#[test]
fn checks_differ_where_their_rules_do() {
    let stop = AtomicBool::new(false);
    let rates = |fault: PageFault, start| {
        let (missed, planted) = check_trials(fault, &pages(), start, 2000, (1, 1), &stop);
        let rate = |check: Check| {
            let at = Check::ALL
                .iter()
                .position(|each| *each == check)
                .expect("listed");
            missed[at] as f64 / planted as f64
        };
        Check::ALL.map(rate)
    };
    //           checksum  header  pg_checksums  backup  scrub  catalogue
    assert_eq!(
        rates(PageFault::EmptyHeader, u64::MAX),
        [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    );
    assert_eq!(
        rates(PageFault::LostWrite, u64::MAX),
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    );
    assert_eq!(rates(PageFault::ZeroedPage, u64::MAX), [1.0; 6]);
    assert_eq!(rates(PageFault::OtherRelation, u64::MAX)[0], 1.0);
    let [checksum, header, _, backup, ..] = rates(PageFault::TornHalf, 1500);
    // Half new, half old is neither: a page that is old altogether is a lost write.
    assert!(checksum < 0.01 && header > 0.9);
    assert!(
        (0.3..0.7).contains(&backup),
        "half of them have the newer LSN: {backup}"
    );
}

#[test]
fn a_seed_draws_the_same_faults_again() {
    let stop = AtomicBool::new(false);
    let of = |seed| {
        check_trials(
            PageFault::MisplacedBy(65_535),
            &pages(),
            0,
            3000,
            (seed, 2),
            &stop,
        )
    };
    assert_eq!(of(5), of(5));
    let of_threads = |threads| {
        let fault = PageFault::MisplacedBy(65_535);
        check_trials(fault, &pages(), 0, 3000, (5, threads), &stop)
    };
    assert_eq!(of_threads(1), of_threads(3));
    assert_ne!(of(5), of(6));
}

#[test]
fn work_is_timed_over_all_pages() {
    let mut buffer = vec![1; 8 * 8192];
    for scheme in schemes() {
        for work in [Work::Write, Work::Read] {
            assert_eq!(
                timed(scheme, work, &mut buffer, 8192, 3).bytes,
                3 * 8 * 8192
            );
        }
    }
}
