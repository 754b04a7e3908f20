//! Reads from the rows of a heap page for which block they were written.
//!
//! A row that was not changed since it was inserted points to itself (t_ctid of
//! access/htup_details.h), and so it names its block. Pages of indexes have no such rows.

use crate::header::{is_all_zero, Header, HEADER_BYTES};

const POINTER_BYTES: usize = 4;
/// Of a row's header, before its map of nulls (SizeofHeapTupleHeader); rows are aligned.
const ROW_HEADER_BYTES: usize = 23;
const ALIGNMENT: usize = 8;
const MOST_COLUMNS: u16 = 1664; // MaxTupleAttributeNumber
const COLUMNS_MASK: u16 = 0x07ff; // HEAP_NATTS_MASK
const NEVER_CHANGED: u16 = 0x0800; // HEAP_XMAX_INVALID

/// A row that names its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    pub at: usize,
    pub block: u32,
}

/// The rows of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    pub named: Vec<Named>,
    /// Line pointers, counted from 1, that lead to zeroes among the rows.
    pub empty: Vec<usize>,
    /// Those that lead to what is no row, or are none themselves.
    pub broken: Vec<usize>,
}

impl Rows {
    /// None: it is no page of a heap, or too little is left of it to say so.
    pub fn of(page: &[u8], header: &Header) -> Option<Self> {
        let lower = usize::from(header.lower);
        let heap = !header.is_new()
            && header.insanity(page.len()).is_none()
            && usize::from(header.special) == page.len()
            && lower > HEADER_BYTES
            && lower % POINTER_BYTES == 0;
        if !heap {
            return None;
        }
        let mut rows = Self::default();
        let pointers = page[HEADER_BYTES..lower].chunks_exact(POINTER_BYTES);
        let count = pointers.len();
        for (index, bytes) in pointers.enumerate() {
            rows.add(page, header, Pointer::of(bytes), (index + 1, count));
        }
        let is_sure = !rows.named.is_empty() || rows.are_sound();
        is_sure.then_some(rows)
    }

    pub fn are_sound(&self) -> bool {
        self.empty.is_empty() && self.broken.is_empty()
    }

    fn add(
        &mut self,
        page: &[u8],
        header: &Header,
        Pointer { at, flags, length }: Pointer,
        (number, count): (usize, usize),
    ) {
        match flags {
            UNUSED if at != 0 || length != 0 => self.broken.push(number),
            REDIRECT if length != 0 || at == 0 || at > count => self.broken.push(number),
            NORMAL => self.add_row(page, header, at..at + length, number),
            _ => {}
        }
    }

    fn add_row(
        &mut self,
        page: &[u8],
        header: &Header,
        bytes: std::ops::Range<usize>,
        number: usize,
    ) {
        let at = bytes.start;
        let inside = at >= usize::from(header.upper) && at % ALIGNMENT == 0;
        let row = page.get(bytes).filter(|row| inside && !row.is_empty());
        match row {
            Some(row) if is_all_zero(row) => self.empty.push(number),
            Some(row) if could_be_row(row) => {
                let half = |from: usize| u16::from_ne_bytes([row[from], row[from + 1]]);
                if half(20) & NEVER_CHANGED != 0 && usize::from(half(16)) == number {
                    let block = u32::from(half(12)) << 16 | u32::from(half(14));
                    self.named.push(Named { at, block });
                }
            }
            _ => self.broken.push(number),
        }
    }
}

/// A line pointer, of a heap or an index (storage/itemid.h).
pub struct Pointer {
    pub at: usize,
    pub flags: u32,
    pub length: usize,
}

impl Pointer {
    /// From its four bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Self {
            at: (word & 0x7fff) as usize,
            flags: word >> 15 & 3,
            length: (word >> 17) as usize,
        }
    }
}

/// Flags of a line pointer.
const UNUSED: u32 = 0;
pub const NORMAL: u32 = 1;
const REDIRECT: u32 = 2;

fn could_be_row(row: &[u8]) -> bool {
    if row.len() < ROW_HEADER_BYTES {
        return false;
    }
    let columns = u16::from_ne_bytes([row[18], row[19]]) & COLUMNS_MASK;
    let data = usize::from(row[22]);
    columns <= MOST_COLUMNS
        && data >= ROW_HEADER_BYTES
        && data % ALIGNMENT == 0
        && data <= row.len()
}
