//! Reads pg_filenode.map, which names the files of catalogues that pg_class cannot name itself
//! (utils/cache/relmapper.c).

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use crate::crc32c::crc32c;
use crate::regular::open_regular;

const MAGIC: i32 = 0x0059_2717;
const HEAD_BYTES: usize = 8;
const MAPPING_BYTES: usize = 8;
/// Slots of the file since 16, and before, when it had to fit into a sector of 512 bytes.
const SLOTS: usize = 64;
const SLOTS_BEFORE_16: usize = 62;

/// Files of relations, by the relations' OIDs.
pub type RelationMap = Vec<(u32, u32)>;

/// Why the server would refuse a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapFault {
    /// It has so many bytes, and needs so many.
    Short { bytes: usize, needed: usize },
    /// It does not begin with the magic number.
    Magic(i32),
    /// It says that it has so many entries, for which there is no room.
    Count(i32),
    /// The checksum of its content, and the stored one.
    Crc { expected: u32, found: u32 },
}

impl fmt::Display for MapFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { bytes, needed } => {
                write!(out, "it is cut off: {bytes} of {needed} bytes are there")
            }
            Self::Magic(found) => write!(
                out,
                "it does not begin with the magic number {MAGIC:#x}, but with {found:#x}"
            ),
            Self::Count(found) => write!(out, "it claims {found} entries"),
            Self::Crc { expected, found } => write!(
                out,
                "CRC {found:#010x} is stored, {expected:#010x} is right for what is there"
            ),
        }
    }
}

/// Reads a map as a server of that major version does. The outer error: it cannot be read.
pub fn read_relation_map(path: &Path, major: u32) -> io::Result<Result<RelationMap, MapFault>> {
    let slots = if major >= 16 { SLOTS } else { SLOTS_BEFORE_16 };
    let covered = HEAD_BYTES + slots * MAPPING_BYTES;
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(covered as u64 + 4)
        .read_to_end(&mut bytes)?;
    // The server reads the whole structure: before 16 with four bytes of padding.
    Ok(parse(&bytes, covered, slots))
}

fn parse(bytes: &[u8], covered: usize, slots: usize) -> Result<RelationMap, MapFault> {
    let needed = covered + 4;
    if bytes.len() < needed {
        let bytes = bytes.len();
        return Err(MapFault::Short { bytes, needed });
    }
    let word = |at: usize| {
        let mut four = [0; 4];
        four.copy_from_slice(&bytes[at..at + 4]);
        u32::from_ne_bytes(four)
    };
    let (magic, count) = (word(0) as i32, word(4) as i32);
    if magic != MAGIC {
        return Err(MapFault::Magic(magic));
    }
    let Some(entries) = usize::try_from(count).ok().filter(|n| *n <= slots) else {
        return Err(MapFault::Count(count));
    };
    let (expected, found) = (crc32c(&bytes[..covered]), word(covered));
    if expected != found {
        return Err(MapFault::Crc { expected, found });
    }
    let entry = |n: usize| {
        let at = HEAD_BYTES + n * MAPPING_BYTES;
        (word(at), word(at + 4))
    };
    Ok((0..entries).map(entry).collect())
}
