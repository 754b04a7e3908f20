//! Tests what must hold of every page checksum. Pages written by real servers: tests/workloads.

use steelyard_pages::{page_checksum, stored_checksum, PAGE_BYTES};

fn page(seed: u32) -> [u8; PAGE_BYTES] {
    let mut page = [0u8; PAGE_BYTES];
    let mut word = seed;
    for byte in &mut page {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (word >> 24) as u8;
    }
    page
}

#[test]
fn the_checksum_is_never_zero_and_ignores_its_own_field() {
    for seed in 0..200 {
        let mut page = page(seed);
        let before = page_checksum(&page, seed);
        assert_ne!(before, 0);
        page[8] ^= 0xff;
        page[9] ^= 0x0f;
        assert_eq!(page_checksum(&page, seed), before);
    }
}

#[test]
fn another_block_number_or_another_byte_gives_another_checksum() {
    let mut bytes = page(1);
    let checksum = page_checksum(&bytes, 7);
    assert_ne!(page_checksum(&bytes, 8), checksum);
    bytes[10] ^= 1;
    assert_ne!(page_checksum(&bytes, 7), checksum);
}

#[test]
fn the_stored_checksum_is_read_from_the_header() {
    let mut bytes = page(2);
    bytes[8..10].copy_from_slice(&0xBEEFu16.to_ne_bytes());
    assert_eq!(stored_checksum(&bytes), 0xBEEF);
}
