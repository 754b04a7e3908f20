//! Fuzzes the judgement of InnoDB's pages: any bytes under any flags end without a panic, and a
//! page that is sound is so in its place alone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_pages::innodb::{judge, page_crc32, Carried, Fault, Layout, Place, Verdict};

fuzz_target!(|input: &[u8]| {
    let [a, b, c, d, head @ ..] = input else {
        return;
    };
    let Some(layout) = Layout::of_flags(u32::from_be_bytes([*a, *b, *c, *d])) else {
        return;
    };
    // The input is the page's beginning and, backwards, its end.
    let mut page = vec![0; layout.page_bytes];
    let half = head.len().min(layout.page_bytes / 2);
    page[..half].copy_from_slice(&head[..half]);
    for (end, byte) in page.iter_mut().rev().zip(&head[..half]) {
        *end = *byte;
    }
    let _ = Layout::of_first_page(&page);
    let number = u32::from_be_bytes([page[4], page[5], page[6], page[7]]);
    let place = Place {
        number,
        space: None,
    };
    let moved = Place {
        number: number.wrapping_add(1),
        space: None,
    };
    let unverified = [Carried::Zero, Carried::Compressed, Carried::Encrypted];
    if let Verdict::Sound(carried) = judge(&page, &layout, place) {
        let elsewhere = judge(&page, &layout, moved);
        assert!(
            unverified.contains(&carried)
                || matches!(elsewhere, Verdict::Wrong(wrong) if wrong.fault != Fault::Checksum)
        );
    }
    if !layout.zip && !layout.full_crc32 && number != 0 {
        let end = page.len();
        page.copy_within(20..24, end - 4);
        let checksum = page_crc32(&page).to_be_bytes();
        page[..4].copy_from_slice(&checksum);
        page[end - 8..end - 4].copy_from_slice(&checksum);
        assert_eq!(judge(&page, &layout, place), Verdict::Sound(Carried::Crc32));
    }
});
