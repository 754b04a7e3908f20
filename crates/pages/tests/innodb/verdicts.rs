//! Tests verdicts: real pages are sound in their place alone, and every damage that is covered is
//! seen.

use steelyard_pages::crc32c;
use steelyard_pages::innodb::{
    judge, page_crc32, page_crc32_big_endian, Carried, Encryption, Fault, Layout, Place, Verdict,
};

use crate::recorded::{recorded, Recorded};

fn fault(verdict: Verdict) -> Option<Fault> {
    match verdict {
        Verdict::Sound(_) => None,
        Verdict::Wrong(wrong) => Some(wrong.fault),
    }
}

#[test]
fn recorded_pages_are_sound_and_carry_what_their_servers_were_told() {
    for each in recorded() {
        let verdict = judge(&each.page, &each.layout, each.place);
        assert_eq!(verdict, Verdict::Sound(each.carried), "{}", each.name);
        if each.place.number == 0 {
            let read = Layout::of_first_page(&each.page);
            assert_eq!(read, Some(each.layout), "{}", each.name);
        }
    }
}

#[test]
fn a_page_in_another_place_or_file_is_named() {
    for each in recorded() {
        let moved = Place {
            number: each.place.number + 1,
            ..each.place
        };
        let foreign = Place {
            space: Some(99),
            ..each.place
        };
        let unknown = Place {
            space: None,
            ..each.place
        };
        let found = |place| fault(judge(&each.page, &each.layout, place));
        assert_eq!(found(moved), Some(Fault::Misplaced), "{}", each.name);
        assert_eq!(found(foreign), Some(Fault::OtherTablespace));
        assert_eq!(found(unknown), None);
    }
}

/// Whether a checksum, or another rule, sees a change of the byte at an offset.
fn is_covered(each: &Recorded, at: usize) -> bool {
    let bytes = each.page.len();
    match (each.carried, each.layout.zip) {
        (Carried::FullCrc32, _) => true,
        // The LSN of the last flush is written without the checksum.
        (Carried::Crc32 | Carried::Innodb, false) => !(26..34).contains(&at),
        (Carried::Crc32 | Carried::Innodb, true) => {
            !(16..24).contains(&at) && !(26..34).contains(&at)
        }
        // Checksum, number, LSN's lower half, tablespace, trailer.
        (Carried::None, false) => {
            at < 8 || (20..24).contains(&at) || (34..38).contains(&at) || at >= bytes - 8
        }
        (Carried::None, true) => at < 8 || (34..38).contains(&at),
        _ => unreachable!("no such page is recorded"),
    }
}

#[test]
fn every_single_bit_that_is_covered_is_seen_and_no_other() {
    for each in recorded() {
        let mut page = each.page.clone();
        // All bits of the first and last bytes, and one of every byte between.
        for at in 0..page.len() {
            let ends = at < 128 || at >= page.len() - 16;
            for bit in if ends { 0..8 } else { at % 8..at % 8 + 1 } {
                page[at] ^= 1 << bit;
                let wrong = fault(judge(&page, &each.layout, each.place));
                page[at] ^= 1 << bit;
                let name = &each.name;
                // A type that no server writes is seen without a checksum.
                let kind = each.carried == Carried::None && (24..26).contains(&at);
                if !kind {
                    assert_eq!(wrong.is_some(), is_covered(&each, at), "{name} {at} {bit}");
                }
            }
        }
    }
}

#[test]
fn halves_of_two_versions_are_seen_without_a_checksum() {
    let none = recorded()
        .into_iter()
        .find(|each| each.carried == Carried::None && !each.layout.zip)
        .expect("one is recorded");
    let mut page = none.page.clone();
    let end = page.len();
    page[end - 1] ^= 3;
    let verdict = judge(&page, &none.layout, none.place);
    assert_eq!(fault(verdict), Some(Fault::Lsn));
    page[24..26].copy_from_slice(&12345u16.to_be_bytes());
    page[end - 1] ^= 3;
    let verdict = judge(&page, &none.layout, none.place);
    assert_eq!(fault(verdict), Some(Fault::PageType));
}

#[test]
fn zeroes_are_sound_but_for_a_first_page() {
    for layout in Layout::all() {
        let page = vec![0; layout.page_bytes];
        let at = |number| {
            let space = Some(5);
            judge(&page, &layout, Place { number, space })
        };
        assert_eq!(at(3), Verdict::Sound(Carried::Zero));
        assert_eq!(fault(at(0)), Some(Fault::Header));
        let mut page = page.clone();
        page[layout.page_bytes / 2] = 1;
        let place = Place {
            number: 3,
            space: None,
        };
        assert_eq!(fault(judge(&page, &layout, place)), Some(Fault::Checksum));
    }
}

#[test]
fn pages_of_big_endian_machines_are_sound() {
    let mut each = recorded().remove(0);
    assert_eq!(each.carried, Carried::Crc32);
    let checksum = page_crc32_big_endian(&each.page);
    assert_ne!(checksum, page_crc32(&each.page));
    let end = each.page.len() - 8;
    each.page[..4].copy_from_slice(&checksum.to_be_bytes());
    each.page[end..end + 4].copy_from_slice(&checksum.to_be_bytes());
    let verdict = judge(&each.page, &each.layout, each.place);
    assert_eq!(verdict, Verdict::Sound(Carried::Crc32BigEndian));
    // Of two algorithms is of none.
    let checksum = page_crc32(&each.page);
    each.page[..4].copy_from_slice(&checksum.to_be_bytes());
    let verdict = judge(&each.page, &each.layout, each.place);
    assert_eq!(fault(verdict), Some(Fault::Checksum));
}

#[test]
fn encrypted_pages_are_told_apart_where_the_tablespace_says_so() {
    let each = recorded().remove(0);
    let mut page = each.page.clone();
    page[24..26].copy_from_slice(&15u16.to_be_bytes());
    page[2000] ^= 1;
    let encrypted = Layout {
        encryption: Encryption::Mysql,
        ..each.layout
    };
    let verdict = judge(&page, &encrypted, each.place);
    assert_eq!(verdict, Verdict::Sound(Carried::Encrypted));
    let verdict = judge(&page, &each.layout, each.place);
    assert_eq!(fault(verdict), Some(Fault::Checksum));
}

fn full_crc32_page() -> Recorded {
    recorded()
        .into_iter()
        .find(|each| each.carried == Carried::FullCrc32 && each.place.number > 0)
        .expect("one is recorded")
}

/// A page made of a recorded one is sound there, and neither elsewhere nor with another bit.
fn assert_sound_in_its_place(mut page: Vec<u8>, each: &Recorded) {
    let found = |page: &[u8], place| judge(page, &each.layout, place);
    assert_eq!(found(&page, each.place), Verdict::Sound(Carried::FullCrc32));
    let number = each.place.number + 1;
    let moved = Place {
        number,
        ..each.place
    };
    assert_eq!(fault(found(&page, moved)), Some(Fault::Misplaced));
    page[500] ^= 1;
    assert_eq!(fault(found(&page, each.place)), Some(Fault::Checksum));
}

#[test]
fn a_page_compressed_under_full_crc32_has_its_checksum_behind_its_payload() {
    let each = full_crc32_page();
    let compressed = |size: usize| {
        let mut page = each.page.clone();
        page[24..26].copy_from_slice(&(1 << 15 | (size >> 8) as u16).to_be_bytes());
        // The content begins where the tablespace's number is elsewhere.
        page[34..38].fill(0xAB);
        let checksum = crc32c(&page[..size - 4]);
        page[size - 4..size].copy_from_slice(&checksum.to_be_bytes());
        page[size..].fill(0);
        page
    };
    assert_sound_in_its_place(compressed(1024), &each);
    // Not smaller than a page, or nothing at all: no size of a payload.
    for size in [0u16, 4096, 8192] {
        let mut page = each.page.clone();
        page[24..26].copy_from_slice(&(1 << 15 | size >> 8).to_be_bytes());
        let end = page.len() - 4;
        let checksum = crc32c(&page[..end]);
        page[end..].copy_from_slice(&checksum.to_be_bytes());
        let fault = fault(judge(&page, &each.layout, each.place));
        assert_eq!(fault, Some(Fault::Checksum), "{size}");
    }
}

#[test]
fn a_page_encrypted_under_full_crc32_is_sound_in_its_place_in_any_tablespace() {
    let each = full_crc32_page();
    let mut page = each.page.clone();
    let end = page.len() - 4;
    page[..4].copy_from_slice(&7u32.to_be_bytes());
    // Encrypted from here on, the tablespace's number and the trailer's LSN with it.
    for (at, byte) in page[26..end].iter_mut().enumerate() {
        *byte ^= (at * 167 + 13) as u8;
    }
    let checksum = crc32c(&page[..end]);
    page[end..].copy_from_slice(&checksum.to_be_bytes());
    assert_sound_in_its_place(page, &each);
}
