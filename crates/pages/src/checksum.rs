//! Computes the checksum of a data page (PostgreSQL's storage/checksum_impl.h).
//!
//! 32 FNV-1a-like sums run side by side over the columns of a table of words, 32 a row; two rounds
//! of zeroes mix the last words; the sums and the block number are folded by XOR and brought
//! into 1 … 65535. A stored 0 therefore means "written without checksums", or damage.

use crate::lanes::{Kernel, CHECKSUM_AT, SIDE_BY_SIDE};

/// The page size every common build has.
pub const PAGE_BYTES: usize = 8192;

/// The checksum `page` should carry as block `block` of its relation fork: 1 … 65535.
///
/// `block` counts over all segments: segment × 131072 + index, with the usual 1 GiB segments. A
/// page has a multiple of 128 bytes: 8192, or what the cluster was built with (1 to 32 kB).
pub fn page_checksum(page: &[u8], block: u32) -> u16 {
    finish(Kernel::best().fold(page), block)
}

/// The checksums of the whole pages in `buffer`, which begins with block `first`; one a page.
pub fn page_checksums(
    kernel: Kernel,
    buffer: &[u8],
    page_bytes: usize,
    first: u32,
    found: &mut Vec<u16>,
) {
    found.clear();
    let mut groups = buffer.chunks_exact(page_bytes * SIDE_BY_SIDE);
    let mut block = first;
    for group in &mut groups {
        let pages = std::array::from_fn(|n| &group[n * page_bytes..(n + 1) * page_bytes]);
        for fold in kernel.folds(pages) {
            found.push(finish(fold, block));
            block = block.wrapping_add(1);
        }
    }
    for page in groups.remainder().chunks_exact(page_bytes) {
        found.push(finish(kernel.fold(page), block));
        block = block.wrapping_add(1);
    }
}

/// The folded sums of a page, with its block number, as a checksum.
pub fn finish(fold: u32, block: u32) -> u16 {
    ((fold ^ block) % 65_535 + 1) as u16
}

/// The checksum that stands in the header of `page`.
pub fn stored_checksum(page: &[u8]) -> u16 {
    u16::from_ne_bytes([page[CHECKSUM_AT], page[CHECKSUM_AT + 1]])
}
