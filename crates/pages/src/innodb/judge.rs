//! Judges a page of InnoDB as it lies on disk: sound and what it carries, or what is wrong.
//!
//! As the servers do when they read a page (buf_page_is_corrupted of buf0buf.cc, and
//! page_zip_verify_checksum of page0zip.cc), with three differences: both fields must belong to one
//! algorithm, number and tablespace are compared with the page's place, and a page without a
//! checksum must be of a type that a server writes.

use super::checksum::{
    full_crc32, innodb_checksums, page_crc32, page_crc32_big_endian, trailer_checksum, zip_adler32,
    zip_crc32, zip_crc32_big_endian, DATA, TRAILER_BYTES,
};
use super::layout::{Encryption, Layout};
use crate::header::is_all_zero;

/// In both fields of pages that were written with innodb_checksum_algorithm=none.
const NO_CHECKSUM: u32 = 0xDEAD_BEEF;
/// Under full_crc32; 0: the page is not encrypted.
const KEY_VERSION_AT: usize = 0;
const NUMBER_AT: usize = 4;
const LSN_AT: usize = 16;
const TYPE_AT: usize = 24;
/// LSN of the last flush in the system tablespace's first page; elsewhere the version of the key
/// (MariaDB), or what describes a compressed page (MySQL).
const FLUSH_LSN_AT: usize = 26;
const SPACE_AT: usize = 34;

/// Set in the type of a page that was compressed under full_crc32; the rest is its size by 256.
const FULL_CRC32_COMPRESSED: u16 = 1 << 15;
const MYSQL_COMPRESSED: u16 = 14;
const MYSQL_ENCRYPTED: [u16; 3] = [15, 16, 17];
const MARIADB_COMPRESSED: [u16; 2] = [34354, 37401];
/// Types up to here are given out by one server or the other (fil0fil.h).
const LAST_TYPE: u16 = 29;
/// Indexes: serialized dictionary, R-tree, B-tree.
const INDEX_TYPES: std::ops::RangeInclusive<u16> = 17853..=17855;

/// What a sound page carries, or why nothing is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carried {
    Crc32,
    /// CRC-32C as MySQL 5.6 computed it on big-endian machines.
    Crc32BigEndian,
    Innodb,
    /// No checksum: the constant in its place.
    None,
    FullCrc32,
    /// Every byte is 0: never written.
    Zero,
    /// Not verified: compressed page by page, the checksum is that of what it was before.
    Compressed,
    /// Not verified: encrypted, the checksum is that of what it was before.
    Encrypted,
    /// Not verified: in the doublewrite area, a copy of another page.
    Doublewrite,
}

impl Carried {
    pub const ALL: [Self; 9] = [
        Self::Crc32,
        Self::Crc32BigEndian,
        Self::Innodb,
        Self::None,
        Self::FullCrc32,
        Self::Zero,
        Self::Compressed,
        Self::Encrypted,
        Self::Doublewrite,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Crc32 => "crc32",
            Self::Crc32BigEndian => "crc32 (big-endian)",
            Self::Innodb => "innodb",
            Self::None => "none",
            Self::FullCrc32 => "full_crc32",
            Self::Zero => "zero",
            Self::Compressed => "not verified: compressed",
            Self::Encrypted => "not verified: encrypted",
            Self::Doublewrite => "not verified: doublewrite",
        }
    }
}

/// What is wrong with a page, or with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The checksum of the content is not the stored one.
    Checksum,
    /// The LSN's lower half differs between header and trailer: two halves of two versions.
    Lsn,
    /// The page bears another number than that of its place.
    Misplaced,
    /// The page bears the number of another tablespace.
    OtherTablespace,
    /// A tablespace's first page is empty, or its flags are none that a server writes.
    Header,
    /// A page without a checksum is of a type that no server writes.
    PageType,
    /// The file ends within the page, or before it.
    Short,
    /// The operating system could not read it.
    Unreadable,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Lsn => "lsn",
            Self::Misplaced => "misplaced",
            Self::OtherTablespace => "other tablespace",
            Self::Header => "header",
            Self::PageType => "page type",
            Self::Short => "short",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A page that is not sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    pub fault: Fault,
    /// What should be there: a checksum, the lower half of an LSN, a number.
    pub expected: u32,
    /// What is there.
    pub found: u32,
    pub lsn: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Sound(Carried),
    Wrong(Wrong),
}

/// Where a page lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub number: u32,
    /// The tablespace's number; None: not known, and not compared.
    pub space: Option<u32>,
}

/// Judges a page of `layout.page_bytes` bytes.
pub fn judge(page: &[u8], layout: &Layout, place: Place) -> Verdict {
    let verified = if layout.full_crc32 {
        verify_full(page)
    } else if layout.zip {
        verify_zip(page)
    } else {
        verify_plain(page, place)
    };
    match verified {
        Ok(Carried::Zero) if place.number == 0 => Verdict::Wrong(wrong(page, Fault::Header, 0, 0)),
        Ok(Carried::Zero) => Verdict::Sound(Carried::Zero),
        Ok(carried) => match misplaced(page, layout, place, carried) {
            Some(wrong) => Verdict::Wrong(wrong),
            None => Verdict::Sound(carried),
        },
        Err(wrong) => match not_verifiable(page, layout) {
            Some(carried) => Verdict::Sound(carried),
            None => Verdict::Wrong(wrong),
        },
    }
}

/// The lower half of the LSN is in the trailer too.
fn verify_plain(page: &[u8], place: Place) -> Result<Carried, Wrong> {
    let end = page.len() - TRAILER_BYTES;
    let (first, second) = (word(page, 0), word(page, end));
    if first == 0 && second == 0 && is_empty(page, place) {
        return Ok(Carried::Zero);
    }
    let carried = match (first, second) {
        (NO_CHECKSUM, NO_CHECKSUM) => Carried::None,
        _ => by_checksum(page, first, second)?,
    };
    let (header, trailer) = (word(page, LSN_AT + 4), word(page, end + 4));
    if header != trailer {
        return Err(wrong(page, Fault::Lsn, header, trailer));
    }
    Ok(carried)
}

/// Every byte is 0; but for the LSN of the last flush, which older servers wrote to the first page
/// of every file of the system tablespace before they wrote the page.
fn is_empty(page: &[u8], place: Place) -> bool {
    match place.space {
        Some(0) => is_all_zero(&page[..FLUSH_LSN_AT]) && is_all_zero(&page[SPACE_AT..]),
        _ => is_all_zero(page),
    }
}

fn by_checksum(page: &[u8], first: u32, second: u32) -> Result<Carried, Wrong> {
    let crc32 = page_crc32(page);
    if first == crc32 && second == crc32 {
        return Ok(Carried::Crc32);
    }
    // The trailer's sum is cheap, and says whether the slow one is worth computing.
    if second == trailer_checksum(page) {
        let (new, _) = innodb_checksums(page);
        return match first == new {
            true => Ok(Carried::Innodb),
            false => Err(wrong(page, Fault::Checksum, new, first)),
        };
    }
    if first == second && first == page_crc32_big_endian(page) {
        return Ok(Carried::Crc32BigEndian);
    }
    let (new, trailer) = innodb_checksums(page);
    Err(match first {
        _ if first == crc32 => wrong(page, Fault::Checksum, crc32, second),
        _ if first == new => wrong(page, Fault::Checksum, trailer, second),
        _ => wrong(page, Fault::Checksum, crc32, first),
    })
}

fn verify_zip(page: &[u8]) -> Result<Carried, Wrong> {
    let stored = word(page, 0);
    if stored == 0 && is_all_zero(page) {
        return Ok(Carried::Zero);
    }
    if stored == NO_CHECKSUM {
        return Ok(Carried::None);
    }
    let crc32 = zip_crc32(page);
    if stored == crc32 {
        Ok(Carried::Crc32)
    } else if stored == zip_adler32(page) {
        Ok(Carried::Innodb)
    } else if stored == zip_crc32_big_endian(page) {
        Ok(Carried::Crc32BigEndian)
    } else {
        Err(wrong(page, Fault::Checksum, crc32, stored))
    }
}

/// The checksum is the last word; of a page that was compressed, that of its payload.
fn verify_full(page: &[u8]) -> Result<Carried, Wrong> {
    if is_all_zero(page) {
        return Ok(Carried::Zero);
    }
    let kind = half(page, TYPE_AT);
    let compressed = kind & FULL_CRC32_COMPRESSED != 0;
    let bytes = match compressed {
        true => usize::from(kind & !FULL_CRC32_COMPRESSED) << 8,
        false => page.len(),
    };
    // One that is not smaller than a page is no size.
    if compressed && (bytes <= DATA + TRAILER_BYTES || bytes >= page.len()) {
        let checksum = full_crc32(&page[..page.len() - 4]);
        let stored = word(page, page.len() - 4);
        return Err(wrong(page, Fault::Checksum, checksum, stored));
    }
    let end = bytes - 4;
    let (checksum, stored) = (full_crc32(&page[..end]), word(page, end));
    if checksum != stored {
        return Err(wrong(page, Fault::Checksum, checksum, stored));
    }
    let encrypted = word(page, KEY_VERSION_AT) != 0;
    let (header, trailer) = (word(page, LSN_AT + 4), word(page, end - 4));
    if !compressed && !encrypted && header != trailer {
        return Err(wrong(page, Fault::Lsn, header, trailer));
    }
    Ok(Carried::FullCrc32)
}

/// The tablespace's number that a page bears; None: under full_crc32 all behind the page's type was
/// compressed, or encrypted with a key whose version the first word says
/// (fil_page_compress_for_full_crc32, fil_encrypt_buf_for_full_crc32).
pub(super) fn space_of(page: &[u8], layout: &Layout) -> Option<u32> {
    let compressed = half(page, TYPE_AT) & FULL_CRC32_COMPRESSED != 0;
    let in_clear = !layout.full_crc32 || !compressed && word(page, KEY_VERSION_AT) == 0;
    in_clear.then(|| word(page, SPACE_AT))
}

fn misplaced(page: &[u8], layout: &Layout, place: Place, carried: Carried) -> Option<Wrong> {
    let number = word(page, NUMBER_AT);
    let kind = half(page, TYPE_AT);
    if let (Some(own), Some(space)) = (place.space, space_of(page, layout)) {
        if own != space {
            return Some(wrong(page, Fault::OtherTablespace, own, space));
        }
    }
    if number != place.number {
        return Some(wrong(page, Fault::Misplaced, place.number, number));
    }
    let first = place.number == 0 && Layout::of_first_page(page).is_none();
    if first {
        return Some(wrong(page, Fault::Header, 0, word(page, DATA + 16)));
    }
    let known = kind <= LAST_TYPE || INDEX_TYPES.contains(&kind);
    let known = known || layout.compressed && MARIADB_COMPRESSED.contains(&kind);
    (carried == Carried::None && !known).then(|| wrong(page, Fault::PageType, 0, u32::from(kind)))
}

/// Whether a page that does not verify is one that cannot: its checksum, if it has one, is that of
/// what it was before it was compressed or encrypted.
fn not_verifiable(page: &[u8], layout: &Layout) -> Option<Carried> {
    if layout.full_crc32 {
        return None;
    }
    let kind = half(page, TYPE_AT);
    let encrypted = match layout.encryption {
        Encryption::None => false,
        Encryption::Mysql => MYSQL_ENCRYPTED.contains(&kind),
        Encryption::Mariadb => word(page, FLUSH_LSN_AT) != 0,
    };
    if encrypted {
        return Some(Carried::Encrypted);
    }
    if layout.zip {
        return None;
    }
    if layout.compressed && MARIADB_COMPRESSED.contains(&kind) {
        return Some(Carried::Compressed);
    }
    (kind == MYSQL_COMPRESSED && is_compressed_by_mysql(page)).then_some(Carried::Compressed)
}

/// MySQL's table option COMPRESSION is in no flag: the page itself says it. Behind the type follow
/// a version, an algorithm (zlib or LZ4), type and size before, and the size now; the rest, which
/// the file system may have freed, is 0.
fn is_compressed_by_mysql(page: &[u8]) -> bool {
    let before = usize::from(half(page, FLUSH_LSN_AT + 4));
    let now = usize::from(half(page, FLUSH_LSN_AT + 6));
    let end = DATA + now;
    matches!(page[FLUSH_LSN_AT], 1 | 2)
        && matches!(page[FLUSH_LSN_AT + 1], 1 | 2)
        && before > now
        && before <= page.len()
        && now > 0
        && end <= page.len()
        && is_all_zero(&page[end..])
}

/// A fault of a page that is there.
fn wrong(page: &[u8], fault: Fault, expected: u32, found: u32) -> Wrong {
    let lsn = u64::from(word(page, LSN_AT)) << 32 | u64::from(word(page, LSN_AT + 4));
    Wrong {
        fault,
        expected,
        found,
        lsn,
    }
}

/// A number of four bytes; InnoDB writes the most significant first on every machine.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
