//! Tests the checksums against slow versions that follow their definitions.

use steelyard_pages::innodb::{
    adler32, fold, innodb_checksums, page_crc32, page_crc32_big_endian, zip_crc32,
};

fn noise(bytes: usize, seed: u32) -> Vec<u8> {
    let mut word = seed;
    (0..bytes)
        .map(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        })
        .collect()
}

/// CRC-32C bit by bit.
fn slow_crc(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}

#[test]
fn crc32_covers_header_and_content_apart() {
    assert_eq!(slow_crc(*b"123456789"), 0xE306_9283);
    for bytes in [4096, 8192, 16384, 32768, 65536] {
        let page = noise(bytes, bytes as u32);
        let wanted = slow_crc(page[4..26].to_vec()) ^ slow_crc(page[38..bytes - 8].to_vec());
        assert_eq!(page_crc32(&page), wanted);
        let zip = slow_crc(page[4..16].to_vec())
            ^ slow_crc(page[24..26].to_vec())
            ^ slow_crc(page[34..].to_vec());
        assert_eq!(zip_crc32(&page), zip);
    }
}

#[test]
fn crc32_of_big_endian_machines_turns_aligned_words() {
    let page = noise(4096, 9);
    let turned = |from: usize, to: usize| -> Vec<u8> {
        let first = from.next_multiple_of(8);
        let mut bytes = page[from..first].to_vec();
        let last = first + (to - first) / 8 * 8;
        for at in (first..last).step_by(8) {
            bytes.extend(page[at..at + 8].iter().rev());
        }
        bytes.extend(&page[last..to]);
        bytes
    };
    let wanted = slow_crc(turned(4, 26)) ^ slow_crc(turned(38, 4088));
    assert_eq!(page_crc32_big_endian(&page), wanted);
}

#[test]
fn the_older_sum_is_what_64_bits_give() {
    // ut_fold_ulint_pair over machine words; the lower half is what is stored.
    let slow = |bytes: &[u8]| {
        bytes.iter().fold(0u64, |sum, byte| {
            let byte = u64::from(*byte);
            let mixed = ((sum ^ byte ^ 1_653_893_711) << 8).wrapping_add(sum);
            (mixed ^ 1_463_735_687).wrapping_add(byte)
        }) as u32
    };
    let page = noise(8192, 3);
    assert_eq!(fold(&page), slow(&page));
    let new = slow(&page[4..26]).wrapping_add(slow(&page[38..8184]));
    assert_eq!(innodb_checksums(&page), (new, slow(&page[..26])));
}

#[test]
fn adler32_is_that_of_rfc_1950() {
    assert_eq!(adler32(1, b"Wikipedia"), 0x11E6_0398);
    let bytes = vec![255; 100_000];
    let (mut low, mut high) = (1u64, 0u64);
    for byte in &bytes {
        low = (low + u64::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    assert_eq!(u64::from(adler32(1, &bytes)), high << 16 | low);
}
