//! Finds the single bits of a page that, flipped, would make it right.

use crate::checksum::{finish, page_checksum, stored_checksum};
use crate::header::{Header, HEADER_BYTES};
use crate::lanes::{first_row, mix, CHECKSUM_AT, LANES, OFFSETS, ROW_BYTES};
use crate::rows::Rows;

/// A bit of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bit {
    pub byte: usize,
    pub bit: usize,
}

impl Bit {
    pub fn is_in_header(self) -> bool {
        self.byte < HEADER_BYTES
    }

    pub fn is_in_checksum(self) -> bool {
        (CHECKSUM_AT..CHECKSUM_AT + 2).contains(&self.byte)
    }
}

/// Every bit of the page that would explain that it failed as block `block`: flipped, its checksum
/// is right, the server takes its header, and none of its rows is broken.
///
/// A single bit that was flipped is always among them. Whatever else happened to a page, about one
/// other is there by chance: 65,536 bits are tried against a checksum of 16.
pub fn explaining(page: &[u8], block: u32) -> Vec<Bit> {
    let mut found = matching(page, block);
    let wrong = page_checksum(page, block) ^ stored_checksum(page);
    if wrong.is_power_of_two() {
        let bit = wrong.trailing_zeros() as usize;
        found.push(Bit {
            byte: CHECKSUM_AT + bit / 8,
            bit: bit % 8,
        });
    }
    found.retain(|bit| is_sound_with(page, *bit));
    found
}

fn is_sound_with(page: &[u8], bit: Bit) -> bool {
    let mut repaired = page.to_vec();
    repaired[bit.byte] ^= 1 << bit.bit;
    let header = Header::of(&repaired);
    let sane = !header.is_new() && header.insanity(page.len()).is_none();
    sane && Rows::of(&repaired, &header).map_or(true, |rows| rows.are_sound())
}

/// Bits outside of pd_checksum with which the checksum would be the one that is stored.
fn matching(page: &[u8], block: u32) -> Vec<Bit> {
    let wanted = stored_checksum(page);
    let rows = rows_of(page);
    let finals: [u32; LANES] = std::array::from_fn(|lane| ended(&rows, lane, [OFFSETS[lane]])[0]);
    let all = finals.iter().fold(0, |fold, sum| fold ^ sum);
    let mut found = Vec::new();
    for (lane, last) in finals.iter().enumerate() {
        let mut sum = OFFSETS[lane];
        for (row, words) in rows.iter().enumerate() {
            // All bits of a word side by side: they wait for no other.
            let flipped: [u32; 32] = std::array::from_fn(|bit| mix(sum, words[lane] ^ 1 << bit));
            let flipped = ended(&rows[row + 1..], lane, flipped);
            for (bit, end) in flipped.iter().enumerate() {
                if finish(all ^ last ^ end, block) == wanted {
                    let byte = row * ROW_BYTES + lane * 4 + bit / 8;
                    found.push(Bit { byte, bit: bit % 8 });
                }
            }
            sum = mix(sum, words[lane]);
        }
    }
    found.retain(|bit| !bit.is_in_checksum());
    found
}

fn rows_of(page: &[u8]) -> Vec<[u32; LANES]> {
    let head = first_row(page);
    let rows = std::iter::once(&head[..]).chain(page[ROW_BYTES..].chunks_exact(ROW_BYTES));
    rows.map(|row| {
        std::array::from_fn(|n| {
            u32::from_ne_bytes([row[4 * n], row[4 * n + 1], row[4 * n + 2], row[4 * n + 3]])
        })
    })
    .collect()
}

/// A lane's sums at the end of the page, from what they are before these rows.
fn ended<const SUMS: usize>(
    rows: &[[u32; LANES]],
    lane: usize,
    mut sums: [u32; SUMS],
) -> [u32; SUMS] {
    let words = rows.iter().map(|words| words[lane]);
    for word in words.chain([0, 0]) {
        sums.iter_mut().for_each(|sum| *sum = mix(*sum, word));
    }
    sums
}
