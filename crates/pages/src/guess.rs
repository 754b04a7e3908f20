//! Guesses from a damaged page alone what happened to it.

use crate::checksum::{finish, page_checksum, stored_checksum};
use crate::header::{is_all_zero, Header, HEADER_BYTES};
use crate::lanes::{first_row, mix, LANES, OFFSETS, ROW_BYTES};

const SECTOR_BYTES: usize = 512;
const LAYOUT_VERSION: u16 = 4; // PG_PAGE_LAYOUT_VERSION, in the low byte beside the page's size
/// A line pointer that refers to a tuple (LP_NORMAL).
const NORMAL: u32 = 1;

/// What probably happened to a page, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub kind: &'static str,
    pub detail: String,
}

/// Guesses what happened to a page that failed as block `block`.
pub fn guess(page: &[u8], block: u32) -> Guess {
    let header = Header::of(page);
    overwritten(page)
        .or_else(|| shifted(page, &header))
        .or_else(|| zeroed_sectors(page, &header))
        .or_else(|| misplaced(page, block, &header))
        .or_else(|| torn(page, &header))
        .unwrap_or_else(|| bits(page, block))
}

fn overwritten(page: &[u8]) -> Option<Guess> {
    let first = page[0];
    let detail = format!("every byte is {first:#04x}");
    page.iter().all(|byte| *byte == first).then_some(Guess {
        kind: "overwritten",
        detail,
    })
}

fn has_signature(page: &[u8], page_bytes: usize) -> bool {
    let header = Header::of(page);
    header.size_and_version == page_bytes as u16 | LAYOUT_VERSION
        && !header.is_new()
        && header.insanity(page_bytes).is_none()
}

/// A page header stands where none should be.
fn shifted(page: &[u8], header: &Header) -> Option<Guess> {
    if header.insanity(page.len()).is_none() && has_signature(page, page.len()) {
        return None;
    }
    let last = page.len() - HEADER_BYTES;
    let at = (1..=last).find(|at| has_signature(&page[*at..], page.len()))?;
    let detail = format!("a page header stands at byte {at}");
    Some(Guess {
        kind: "shifted",
        detail,
    })
}

/// Sectors of zeroes where the header says that there is content.
fn zeroed_sectors(page: &[u8], header: &Header) -> Option<Guess> {
    let sane = header.insanity(page.len()).is_none() && !header.is_new();
    let hole = if sane {
        usize::from(header.lower)..usize::from(header.upper)
    } else {
        0..0
    };
    let lost = |number: &usize| {
        let (from, to) = (number * SECTOR_BYTES, (number + 1) * SECTOR_BYTES);
        let free = hole.end.min(to).saturating_sub(hole.start.max(from));
        free < SECTOR_BYTES / 2 && is_all_zero(&page[from..to])
    };
    let sectors: Vec<usize> = (0..page.len() / SECTOR_BYTES).filter(lost).collect();
    let (first, last) = (*sectors.first()?, *sectors.last()?);
    let bytes = format!(
        "bytes {} to {}",
        first * SECTOR_BYTES,
        (last + 1) * SECTOR_BYTES - 1
    );
    let detail = if sectors.len() == last - first + 1 {
        format!("{bytes} are zero")
    } else {
        format!("{} sectors between {bytes} are zero", sectors.len())
    };
    Some(Guess {
        kind: "zeroed sector",
        detail,
    })
}

/// Its checksum is that of another block: near by, a power of two away, or around 2^16.
fn misplaced(page: &[u8], block: u32, header: &Header) -> Option<Guess> {
    if header.is_new() || header.insanity(page.len()).is_some() {
        return None;
    }
    let stored = stored_checksum(page);
    let near = 1..=8;
    let far = (4..18).map(|power| 1 << power);
    let distances = near.chain(far);
    let mut others = distances.flat_map(|d| [block.checked_sub(d), block.checked_add(d)]);
    let home = others.find_map(|other| {
        let other = other?;
        (page_checksum(page, other) == stored).then_some(other)
    })?;
    let mut detail = format!("the checksum is right for block {home} of the relation");
    if (page_checksum(page, block) ^ stored).is_power_of_two() {
        detail += "; one bit of the checksum itself would look the same";
    }
    Some(Guess {
        kind: "misplaced",
        detail,
    })
}

/// Line pointers lead to bytes that were never written.
fn torn(page: &[u8], header: &Header) -> Option<Guess> {
    if header.is_new() || header.insanity(page.len()).is_some() {
        return None;
    }
    let lower = usize::from(header.lower).max(HEADER_BYTES);
    let pointers = page[HEADER_BYTES..lower].chunks_exact(4);
    let empty = pointers.filter(|bytes| {
        let pointer = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let (at, flags, length) = (
            (pointer & 0x7fff) as usize,
            pointer >> 15 & 3,
            (pointer >> 17) as usize,
        );
        flags == NORMAL && length > 0 && page.get(at..at + length).is_some_and(is_all_zero)
    });
    let empty = empty.count();
    (empty > 0).then(|| Guess {
        kind: "torn",
        detail: format!("{empty} line pointers lead to zeroes: a part was not written"),
    })
}

/// Tries every single bit: one that would make the checksum right may be it. For damage of any
/// other kind one such bit is expected by chance, so only its absence is proof.
fn bits(page: &[u8], block: u32) -> Guess {
    let wanted = stored_checksum(page);
    let rows: Vec<[u32; LANES]> = rows_of(page);
    let finals: Vec<u32> = (0..LANES)
        .map(|lane| ended(&rows, lane, 0, OFFSETS[lane]))
        .collect();
    let all = finals.iter().fold(0, |fold, sum| fold ^ sum);
    let mut explained = Vec::new();
    for (lane, last) in finals.iter().enumerate() {
        let mut sum = OFFSETS[lane];
        for (row, words) in rows.iter().enumerate() {
            for bit in 0..32 {
                let flipped = mix(sum, words[lane] ^ 1 << bit);
                let fold = all ^ last ^ ended(&rows, lane, row + 1, flipped);
                if finish(fold, block) == wanted && !(row == 0 && lane == 2 && bit < 16) {
                    explained.push((row * ROW_BYTES + lane * 4 + bit / 8, bit % 8));
                }
            }
            sum = mix(sum, words[lane]);
        }
    }
    match explained.first() {
        Some((byte, bit)) => Guess {
            kind: "one bit",
            detail: format!(
                "perhaps: {} single bits would explain it, such as bit {bit} of byte {byte}",
                explained.len()
            ),
        },
        None => Guess {
            kind: "several bits",
            detail: "no single bit would explain it".to_owned(),
        },
    }
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

/// A lane's sum at the end, from `sum` before row `from`.
fn ended(rows: &[[u32; LANES]], lane: usize, from: usize, sum: u32) -> u32 {
    let last = rows[from..]
        .iter()
        .fold(sum, |sum, words| mix(sum, words[lane]));
    mix(mix(last, 0), 0)
}
