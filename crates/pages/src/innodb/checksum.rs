//! Computes the checksums of InnoDB's pages: CRC-32C in three forms, the older sum, Adler-32.
//!
//! Written from descriptions: which bytes are covered and how they are combined is said in
//! storage/innobase/buf/buf0checksum.cc and page/page0zip.cc of MySQL 5.7 and MariaDB.

use std::ops::Range;

use crate::crc32c::{crc32c_after, Crc32c};

/// The header without the checksum, and without the LSN of the last flush, which is written later.
pub(super) const HEADER: Range<usize> = 4..26;
/// Where the content of a page begins (FIL_PAGE_DATA).
pub(super) const DATA: usize = 38;
/// Bytes of the trailer: a second checksum, and the LSN's lower half.
pub(super) const TRAILER_BYTES: usize = 8;
/// What a compressed page's checksum covers up to its content: number and neighbours, page type.
/// The LSN is left out: it is written again without the checksum.
const ZIP_HEAD: [Range<usize>; 2] = [4..16, 24..26];
/// From the space id on a compressed page is covered to its end.
const ZIP_DATA: usize = 34;

fn content(page: &[u8]) -> &[u8] {
    &page[DATA..page.len() - TRAILER_BYTES]
}

/// The checksum `crc32` of an uncompressed page; both of its fields hold it.
pub fn page_crc32(page: &[u8]) -> u32 {
    crc32c_after(0, &page[HEADER]) ^ crc32c_after(0, content(page))
}

/// The same as MySQL 5.6 computed it on big-endian machines, which 5.7 still accepts.
pub fn page_crc32_big_endian(page: &[u8]) -> u32 {
    big_endian(page, HEADER) ^ big_endian(page, DATA..page.len() - TRAILER_BYTES)
}

/// The checksum `full_crc32` of MariaDB over everything before it.
pub(super) fn full_crc32(covered: &[u8]) -> u32 {
    crc32c_after(0, covered)
}

/// The checksum `crc32` of a compressed page.
pub fn zip_crc32(page: &[u8]) -> u32 {
    zip_ranges(page).fold(0, |sum, range| sum ^ crc32c_after(0, &page[range]))
}

/// The same as big-endian machines computed it.
pub(super) fn zip_crc32_big_endian(page: &[u8]) -> u32 {
    zip_ranges(page).fold(0, |sum, range| sum ^ big_endian(page, range))
}

/// The checksum `innodb` of a compressed page: Adler-32, which zlib brings along.
pub(super) fn zip_adler32(page: &[u8]) -> u32 {
    // zlib's function is begun with 0 here, not with the 1 that its manual asks for.
    zip_ranges(page).fold(0, |sum, range| adler32(sum, &page[range]))
}

fn zip_ranges(page: &[u8]) -> impl Iterator<Item = Range<usize>> {
    ZIP_HEAD
        .into_iter()
        .chain(std::iter::once(ZIP_DATA..page.len()))
}

/// CRC-32C as MySQL 5.6 got it on big-endian machines: words of eight bytes backwards. The bytes
/// before the first word, and behind the last, are taken one by one.
fn big_endian(page: &[u8], range: Range<usize>) -> u32 {
    let first = range.start.next_multiple_of(8).min(range.end);
    let (head, rest) = page[range.clone()].split_at(first - range.start);
    let words = rest.chunks_exact(8);
    let tail = words.remainder();
    let mut crc = Crc32c::new();
    crc.add(head);
    for word in words {
        let mut turned = [0; 8];
        turned.copy_from_slice(word);
        turned.reverse();
        crc.add(&turned);
    }
    crc.add(tail);
    crc.finish()
}

/// The two checksums `innodb` of an uncompressed page: that of the header's field, which covers
/// header and content, and that of the trailer's, which covers the first 26 bytes with the other
/// checksum among them.
pub fn innodb_checksums(page: &[u8]) -> (u32, u32) {
    let new = fold(&page[HEADER]).wrapping_add(fold(content(page)));
    (new, trailer_checksum(page))
}

pub(super) fn trailer_checksum(page: &[u8]) -> u32 {
    fold(&page[..HEADER.end])
}

/// InnoDB's own sum of bytes (ut_fold_binary), which begins with 0.
pub fn fold(bytes: &[u8]) -> u32 {
    const FIRST_MASK: u32 = 1_463_735_687;
    const SECOND_MASK: u32 = 1_653_893_711;
    bytes.iter().fold(0, |sum: u32, byte| {
        let byte = u32::from(*byte);
        let mixed = ((sum ^ byte ^ SECOND_MASK) << 8).wrapping_add(sum);
        (mixed ^ FIRST_MASK).wrapping_add(byte)
    })
}

/// Adler-32 of the bytes behind `sum` (RFC 1950).
pub fn adler32(sum: u32, bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// So many bytes keep both sums below 2^32.
    const MOST: usize = 5552;
    let (mut low, mut high) = (sum & 0xffff, sum >> 16);
    for part in bytes.chunks(MOST) {
        for byte in part {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    high << 16 | low
}
