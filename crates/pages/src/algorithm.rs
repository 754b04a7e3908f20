//! Implements several ways to verify a page: what each writes, and what it accepts when it reads.
//!
//! Each keeps its field at byte 8 of the page and counts it as zero. SQL Server's two are as its
//! documentation and analyses of its pages describe them: torn-page detection puts a
//! pattern that changes with every write into the last two bits of each 512-byte sector and keeps
//! the bits themselves in the header; CHECKSUM is the XOR of the sectors' XORs, each rotated left
//! by 15 less its number.

use twox_hash::XxHash3_64;

use crate::crc32c::crc32c_after;
use crate::header::is_all_zero;
use crate::lanes::Kernel;

const SECTOR_BYTES: usize = 512;
const FIELD_AT: usize = 8;
/// Where a page keeps its own number, when it does: SQL Server's m_pageId is there.
const PAGE_ID: std::ops::Range<usize> = 32..40;
/// The first bytes of a page, with the widest field in them.
const HEAD_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    None,
    TornBits,
    SqlServer,
    Postgres,
    Crc32c,
    Xxh3,
}

impl Algorithm {
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::TornBits,
        Self::SqlServer,
        Self::Postgres,
        Self::Crc32c,
        Self::Xxh3,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::TornBits => "torn-page bits",
            Self::SqlServer => "SQL Server CHECKSUM",
            Self::Postgres => "PostgreSQL",
            Self::Crc32c => "CRC-32C",
            Self::Xxh3 => "XXH3-64",
        }
    }

    fn field_bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Postgres => 2,
            Self::TornBits | Self::SqlServer | Self::Crc32c => 4,
            Self::Xxh3 => 8,
        }
    }
}

/// What of a page's identity goes into its sum, or stands in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    None,
    /// The block's number in its fork: what PostgreSQL does.
    Block,
    /// The relation and the block's number.
    Relation,
    /// Both stand in the page itself and are compared on their own, as SQL Server does it whatever
    /// PAGE_VERIFY says: its numbers are those of a file of the database, which all tables share.
    PageId,
}

impl Identity {
    pub const ALL: [Self; 4] = [Self::None, Self::Block, Self::Relation, Self::PageId];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Block => "block",
            Self::Relation => "relation and block",
            Self::PageId => "page id in the header",
        }
    }
}

/// Where a page belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub relation: u32,
    pub block: u32,
}

/// An algorithm, and the identity that it mixes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    pub algorithm: Algorithm,
    pub identity: Identity,
    /// The instructions that PostgreSQL's sum is computed with; the others have one way each.
    pub kernel: Kernel,
}

impl Scheme {
    /// Puts into `page` what is written with it; `write` counts the writes of this page.
    pub fn seal(&self, page: &mut [u8], place: Place, write: u32) {
        if self.identity == Identity::PageId {
            page[PAGE_ID].copy_from_slice(&page_id(place));
        }
        if self.algorithm == Algorithm::TornBits {
            return put_torn_bits(page, if write % 2 == 0 { 0b01 } else { 0b10 });
        }
        let width = self.algorithm.field_bytes();
        let sum = self.sum(page, place).to_le_bytes();
        page[FIELD_AT..FIELD_AT + width].copy_from_slice(&sum[..width]);
    }

    /// Whether `page`, read from `place`, is taken for what was written there.
    pub fn accepts(&self, page: &[u8], place: Place) -> bool {
        if self.identity == Identity::PageId && page[PAGE_ID] != page_id(place) {
            return false;
        }
        if self.algorithm == Algorithm::TornBits {
            return torn_bits_agree(page);
        }
        let width = self.algorithm.field_bytes();
        page[FIELD_AT..FIELD_AT + width] == self.sum(page, place).to_le_bytes()[..width]
    }

    /// Whether a reader goes on with `page`: one of zeroes was never written, and is refused
    /// only by a check for the page's number in it.
    pub fn takes_for_sound(&self, page: &[u8], place: Place) -> bool {
        let empty = self.identity != Identity::PageId && is_all_zero(page);
        empty || self.accepts(page, place)
    }

    /// All that is done when a page is read: verify it, and put back what verification displaced.
    pub fn open(&self, page: &mut [u8], place: Place) -> bool {
        let accepted = self.accepts(page, place);
        if accepted && self.algorithm == Algorithm::TornBits {
            take_torn_bits(page);
        }
        accepted
    }

    fn identity_word(&self, place: Place) -> u64 {
        match self.identity {
            Identity::None | Identity::PageId => 0,
            Identity::Block => place.block.into(),
            Identity::Relation => u64::from(place.relation) << 32 | u64::from(place.block),
        }
    }

    fn sum(&self, page: &[u8], place: Place) -> u64 {
        let identity = self.identity_word(place);
        match self.algorithm {
            Algorithm::None | Algorithm::TornBits => 0,
            Algorithm::Postgres => {
                let relation = ((identity >> 32) as u32).wrapping_mul(0x9E37_79B1);
                let fold = self.kernel.fold(page) ^ relation;
                crate::checksum::finish(fold, identity as u32).into()
            }
            Algorithm::SqlServer => {
                let mixed = (identity >> 32) as u32;
                let identity = mixed.wrapping_mul(0x9E37_79B1) ^ identity as u32;
                (sector_sum(page) ^ identity).into()
            }
            Algorithm::Crc32c => {
                let mut head = head_of(page, self.algorithm.field_bytes());
                if matches!(self.identity, Identity::Block | Identity::Relation) {
                    // Its four bytes stand in the field's place: as good as bytes of their own.
                    head[8..12].copy_from_slice(&fold_identity(identity).to_le_bytes());
                }
                crc32c_after(crc32c_after(0, &head), &page[HEAD_BYTES..]).into()
            }
            Algorithm::Xxh3 => {
                let mut first = [0; 8];
                first.copy_from_slice(&page[..8]);
                let seed = u64::from_le_bytes(first) ^ identity.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                XxHash3_64::oneshot_with_seed(seed, &page[HEAD_BYTES..])
            }
        }
    }
}

fn page_id(place: Place) -> [u8; 8] {
    (u64::from(place.relation) << 32 | u64::from(place.block)).to_le_bytes()
}

fn fold_identity(identity: u64) -> u32 {
    ((identity >> 32) as u32).wrapping_mul(0x9E37_79B1) ^ identity as u32
}

fn head_of(page: &[u8], field_bytes: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head.copy_from_slice(&page[..HEAD_BYTES]);
    head[FIELD_AT..FIELD_AT + field_bytes].fill(0);
    head
}

fn sector_sum(page: &[u8]) -> u32 {
    let sectors = page.chunks_exact(SECTOR_BYTES);
    let last = (sectors.len() - 1) as u32;
    let mut sum = 0;
    for (number, sector) in sectors.enumerate() {
        let words = sector.chunks_exact(4);
        let mut xor = words.fold(0, |xor, word| {
            xor ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]])
        });
        if number == 0 {
            let field = &page[FIELD_AT..FIELD_AT + 4];
            xor ^= u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
        }
        sum ^= xor.rotate_left(last - number as u32);
    }
    sum
}

fn last_of(number: usize) -> usize {
    (number + 1) * SECTOR_BYTES - 1
}

fn put_torn_bits(page: &mut [u8], pattern: u8) {
    let mut kept = u32::from(pattern);
    for number in 1..page.len() / SECTOR_BYTES {
        let byte = &mut page[last_of(number)];
        kept |= u32::from(*byte & 0b11) << (2 * number);
        *byte = *byte & !0b11 | pattern;
    }
    page[FIELD_AT..FIELD_AT + 4].copy_from_slice(&kept.to_le_bytes());
}

/// Puts the bits back that the pattern displaced.
fn take_torn_bits(page: &mut [u8]) {
    let field = &page[FIELD_AT..FIELD_AT + 4];
    let kept = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
    for number in 1..page.len() / SECTOR_BYTES {
        let byte = &mut page[last_of(number)];
        *byte = *byte & !0b11 | (kept >> (2 * number) & 0b11) as u8;
    }
}

fn torn_bits_agree(page: &[u8]) -> bool {
    let pattern = page[FIELD_AT] & 0b11;
    let known = pattern == 0b01 || pattern == 0b10;
    known && (1..page.len() / SECTOR_BYTES).all(|n| page[last_of(n)] & 0b11 == pattern)
}
