//! Every way to verify a page accepts what was written, and the known weaknesses are there.

use std::sync::atomic::AtomicBool;

use steelyard_pages::{
    algorithm_trials, check_trials, page_checksum, timed, Algorithm, Check, Identity, PageFault,
    Place, Scheme, Versions, Work,
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
    let mut pages = Vec::new();
    for seed in 0..8 {
        let mut now = noise(seed);
        let mut before = now.clone();
        before[4096..].rotate_left(77);
        before[600..700].fill(7);
        now[4..8].copy_from_slice(&2000u32.to_ne_bytes());
        before[4..8].copy_from_slice(&1000u32.to_ne_bytes());
        let place = Place {
            relation: 16_384 + seed,
            block: 70_000 + seed,
        };
        pages.push(Versions { now, before, place });
    }
    pages
}

fn schemes() -> impl Iterator<Item = Scheme> {
    let each = |algorithm| {
        Identity::ALL.map(|identity| Scheme {
            algorithm,
            identity,
        })
    };
    Algorithm::ALL.into_iter().flat_map(each)
}

fn missed(fault: PageFault, algorithm: Algorithm, identity: Identity) -> f64 {
    let scheme = Scheme {
        algorithm,
        identity,
    };
    let stop = AtomicBool::new(false);
    let (missed, planted) = algorithm_trials(fault, scheme, &pages(), 4000, (7, 2), &stop);
    assert!(
        planted > 3000,
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
    };
    let mut page = noise(4);
    scheme.seal(&mut page, PLACE, 0);
    let stored = page[8..12].to_vec();
    page[8..12].fill(0);
    assert_eq!(stored, steelyard_pages::crc32c(&page).to_le_bytes());
}

#[test]
fn torn_page_bits_see_torn_pages_and_nothing_else() {
    let bits = |fault| missed(fault, Algorithm::TornBits, Identity::None);
    assert_eq!(bits(PageFault::TornSector), 0.0);
    assert_eq!(bits(PageFault::TornHalf), 0.0);
    assert!(bits(PageFault::OneBit) > 0.99);
    assert_eq!(bits(PageFault::LostWrite), 1.0);
}

#[test]
fn a_sum_of_sectors_is_blind_to_two_flips_in_a_column() {
    let scheme = Scheme {
        algorithm: Algorithm::SqlServer,
        identity: Identity::None,
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
    let missed = |fault| missed(fault, Algorithm::Postgres, Identity::Block);
    assert_eq!(missed(PageFault::MisplacedBy(65_536)), 0.0);
    for distance in [65_535, 65_537] {
        let rate = missed(PageFault::MisplacedBy(distance));
        assert!((0.02..0.6).contains(&rate), "{distance}: {rate}");
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
    //                 on   off  pg_checksums  backup  scrub  catalogue
    assert_eq!(
        rates(PageFault::EmptyHeader, u64::MAX),
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(
        rates(PageFault::LostWrite, u64::MAX),
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    );
    assert_eq!(rates(PageFault::ZeroedPage, u64::MAX), [1.0; 6]);
    assert_eq!(rates(PageFault::OtherRelation, u64::MAX)[0], 1.0);
    let [on, off, _, backup, ..] = rates(PageFault::TornHalf, 1500);
    // Half new, half old is neither: a page that is old altogether is a lost write.
    assert!(on < 0.01 && off > 0.9);
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
