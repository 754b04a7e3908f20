//! Guesses from a damaged page alone what happened to it, or reports that it cannot be known.

use crate::checksum::{finish, page_checksum, stored_checksum};
use crate::header::{is_all_zero, Header, HEADER_BYTES};
use crate::lanes::Kernel;
use crate::rows::{Named, Pointer, Rows, NORMAL};
use crate::single_bit::{explaining, Bit};

const SECTOR_BYTES: usize = 512;
const LAYOUT_VERSION: u16 = 4; // PG_PAGE_LAYOUT_VERSION, in the low byte beside the page's size
/// Where the checksum alone names a page's home, so many blocks are tried: 1 in 100 fits by chance.
const MOST_HOMES: u32 = 655;
const SEGMENT_BLOCKS: u32 = 131_072;

/// What probably happened to a page, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub kind: &'static str,
    pub detail: String,
}

impl Guess {
    fn of(kind: &'static str, detail: String) -> Option<Self> {
        Some(Self { kind, detail })
    }
}

/// Guesses what happened to a page that failed as block `block` of a fork of `blocks` blocks.
pub fn guess(page: &[u8], block: u32, blocks: u32) -> Guess {
    let header = Header::of(page);
    let rows = Rows::of(page, &header);
    let unnamed = rows.as_ref().map_or(true, |rows| rows.named.is_empty());
    let homes = if unnamed {
        homes(page, block, blocks, &header)
    } else {
        Vec::new()
    };
    overwritten(page)
        .or_else(|| shifted(page, &header))
        .or_else(|| named_otherwise(page, block, rows.as_ref()?))
        .or_else(|| {
            let bits = explaining(page, block);
            one_bit(&bits, &homes, rows.as_ref())
                .or_else(|| no_header(page, &header))
                .or_else(|| zeroed_sectors(page, &header))
                .or_else(|| misplaced(&homes))
                .or_else(|| torn(page, &header, rows.as_ref()))
                .or_else(|| untold(&bits, rows.as_ref()))
        })
        .unwrap_or_else(|| Guess {
            kind: "more than one bit",
            detail: "no single bit would explain it".to_owned(),
        })
}

fn overwritten(page: &[u8]) -> Option<Guess> {
    let first = page[0];
    let same = page.iter().all(|byte| *byte == first);
    same.then(|| Guess {
        kind: "overwritten",
        detail: format!("every byte is {first:#04x}"),
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
    Guess::of("shifted", format!("a page header stands at byte {at}"))
}

/// The rows name another block than this, or two. One row alone may be what is damaged.
fn named_otherwise(page: &[u8], block: u32, rows: &Rows) -> Option<Guess> {
    let named = &rows.named;
    let first = named.first()?.block;
    let (some, others): (Vec<&Named>, Vec<&Named>) =
        named.iter().partition(|row| row.block == first);
    if others.is_empty() {
        let right = page_checksum(page, first) == stored_checksum(page);
        return match (first == block, right) {
            (false, true) => Guess::of(
                "misplaced",
                format!("its rows name block {first}, and the checksum is right for it"),
            ),
            (false, false) if named.len() > 1 => Guess::of(
                "two pages",
                format!("its rows name block {first}, but its checksum is not right for it"),
            ),
            _ => None,
        };
    }
    let other = others[0].block;
    if some.len() < 2 || others.len() < 2 || others.iter().any(|row| row.block != other) {
        return None;
    }
    let (mut front, mut back) = (some, others);
    if front[0].at > back[0].at {
        std::mem::swap(&mut front, &mut back);
    }
    let end = front.iter().map(|row| row.at).max()?;
    let begin = back.iter().map(|row| row.at).min()?;
    let (before, behind) = (front[0].block, back[0].block);
    let detail = format!("rows to byte {end} name block {before}, those from {begin} on {behind}");
    (end < begin).then_some(Guess {
        kind: "two pages",
        detail,
    })
}

/// Blocks of the fork for which the checksum is right: all are tried of a small one, else those
/// near by, and those a power of two or whole segments away.
fn homes(page: &[u8], block: u32, blocks: u32, header: &Header) -> Vec<u32> {
    if header.is_new() || header.insanity(page.len()).is_some() {
        return Vec::new();
    }
    let (stored, fold) = (stored_checksum(page), Kernel::best().fold(page));
    let mut tried: Vec<u32> = if blocks <= MOST_HOMES {
        (0..blocks).collect()
    } else {
        let near = 1..=8;
        let powers = (4..32).map(|power| 1 << power);
        let segments = (1..=blocks / SEGMENT_BLOCKS).map(|number| number * SEGMENT_BLOCKS);
        let distances = near.chain(powers).chain(segments);
        let both = distances.flat_map(|d| [block.checked_sub(d), block.checked_add(d)]);
        both.flatten().collect()
    };
    tried.sort_unstable();
    tried.dedup();
    tried.retain(|home| *home < blocks && *home != block && finish(fold, *home) == stored);
    tried
}

/// One bit, where it is seen to be wrong or where chance alone would hardly explain it: it stands
/// in the header, or it makes a row out of what is none.
fn one_bit(bits: &[Bit], homes: &[u32], rows: Option<&Rows>) -> Option<Guess> {
    let repairs = rows.is_some_and(|rows| !rows.are_sound());
    let bit = bits.iter().find(|bit| repairs || bit.is_in_header())?;
    let place = if bit.is_in_checksum() {
        " (pd_checksum)"
    } else {
        ""
    };
    let detail = format!("bit {} of byte {}{place} explains it", bit.bit, bit.byte);
    if homes.is_empty() {
        return Guess::of("one bit", detail);
    }
    let detail = format!(
        "{detail}, or it is misplaced: the checksum is right for {}",
        listed(homes)
    );
    Guess::of(CANNOT_TELL, detail)
}

const CANNOT_TELL: &str = "cannot tell";

/// More of the header is wrong than one bit can make wrong.
fn no_header(page: &[u8], header: &Header) -> Option<Guess> {
    let bounds = Header {
        flags: 0,
        ..*header
    };
    let wrong = [
        (
            "flags",
            header.flags != 0 && header.insanity(page.len()) == Some("unknown flags"),
        ),
        ("bounds", bounds.insanity(page.len()).is_some()),
        (
            "size",
            header.size_and_version != page.len() as u16 | LAYOUT_VERSION,
        ),
    ];
    let names: Vec<&str> = wrong.iter().filter(|w| w.1).map(|w| w.0).collect();
    let detail = format!("its header is none: {} are wrong", names.join(" and "));
    (names.len() > 1 && !is_all_zero(&page[..HEADER_BYTES])).then_some(Guess {
        kind: "overwritten",
        detail,
    })
}

/// Sectors of zeroes where there is content by the header.
fn zeroed_sectors(page: &[u8], header: &Header) -> Option<Guess> {
    let hole = hole(page, header);
    let lost = |number: &usize| {
        let (from, to) = (number * SECTOR_BYTES, (number + 1) * SECTOR_BYTES);
        let free = hole.end.min(to).saturating_sub(hole.start.max(from));
        free < SECTOR_BYTES / 2 && is_all_zero(&page[from..to])
    };
    let sectors: Vec<usize> = (0..page.len() / SECTOR_BYTES).filter(lost).collect();
    let (first, last) = (*sectors.first()?, *sectors.last()?);
    let end = (last + 1) * SECTOR_BYTES - 1;
    let bytes = format!("bytes {} to {end}", first * SECTOR_BYTES);
    let detail = if sectors.len() == last - first + 1 {
        format!("{bytes} are zero")
    } else {
        format!("{} sectors between {bytes} are zero", sectors.len())
    };
    Guess::of("zeroed sector", detail)
}

/// What is free by the header; where its bounds make no sense, the zeroes behind pd_lower.
fn hole(page: &[u8], header: &Header) -> std::ops::Range<usize> {
    let lower = usize::from(header.lower);
    if header.insanity(page.len()).is_none() && !header.is_new() {
        return lower..usize::from(header.upper);
    }
    if !(HEADER_BYTES..page.len()).contains(&lower) {
        return 0..0;
    }
    let zeroes = page[lower..].iter().take_while(|byte| **byte == 0).count();
    lower..lower + zeroes
}

/// Its checksum is that of another block of the fork.
fn misplaced(homes: &[u32]) -> Option<Guess> {
    (!homes.is_empty()).then(|| Guess {
        kind: "misplaced",
        detail: format!("the checksum is right for {}", listed(homes)),
    })
}

fn listed(homes: &[u32]) -> String {
    let told: Vec<String> = homes.iter().take(4).map(u32::to_string).collect();
    format!("block {} of the relation", told.join(" or "))
}

/// Line pointers lead to bytes that were never written.
fn torn(page: &[u8], header: &Header, rows: Option<&Rows>) -> Option<Guess> {
    let empty = match rows {
        Some(rows) => rows.empty.len(),
        None => empty_entries(page, header),
    };
    (empty > 0).then(|| Guess {
        kind: "torn",
        detail: format!("{empty} line pointers lead to zeroes: a part was not written"),
    })
}

/// Entries of an index that are zero; a single one may be a line pointer that was hit.
fn empty_entries(page: &[u8], header: &Header) -> usize {
    if header.is_new() || header.insanity(page.len()).is_some() {
        return 0;
    }
    let lower = usize::from(header.lower).max(HEADER_BYTES);
    let pointers = page[HEADER_BYTES..lower].chunks_exact(4);
    let empty = pointers.filter(|bytes| {
        let Pointer { at, flags, length } = Pointer::of(bytes);
        flags == NORMAL && length > 0 && page.get(at..at + length).is_some_and(is_all_zero)
    });
    let count = empty.count();
    if count > 1 {
        count
    } else {
        0
    }
}

/// Bits that would explain it, of which about one is there by chance; or rows that are broken.
fn untold(bits: &[Bit], rows: Option<&Rows>) -> Option<Guess> {
    if let Some(bit) = bits.first() {
        let detail = format!(
            "one bit or more: {} would explain it alone, such as bit {} of byte {}, and chance \
             gives about one",
            bits.len(),
            bit.bit,
            bit.byte
        );
        return Guess::of(CANNOT_TELL, detail);
    }
    let broken = rows.map_or(0, |rows| rows.broken.len());
    let detail = format!("no single bit would explain it; {broken} line pointers lead to no row");
    (broken > 0).then_some(Guess {
        kind: "more than one bit",
        detail,
    })
}
