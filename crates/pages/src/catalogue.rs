//! Writes and reads a catalogue of LSNs and checksums, which one scan leaves for the next.
//!
//! An LSN that goes backwards is a write that was lost, or an old page that came back: no checksum
//! sees it. What may go backwards for good reasons is not in it: free space and visibility maps
//! (not every change of them has an LSN), temporary and unlogged relations (theirs are invented).

use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::crc32c::Crc32c;
use crate::header::Header;
use crate::judge::{Fault, Wrong};
use crate::regular::open_regular;
use crate::relation_file::Fork;
use crate::walk::Segment;

const MAGIC: &[u8; 8] = b"SYLSNCA1";
const HEAD_BYTES: usize = 48;
const SEGMENT_HEAD_BYTES: usize = 24;
/// An LSN of eight bytes and a checksum of two.
pub const ENTRY_BYTES: usize = 10;

/// What is kept of a block; zero where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    pub lsn: u64,
    pub checksum: u16,
}

/// Reads an entry of ten bytes.
pub fn read_entry(bytes: &[u8]) -> Entry {
    let mut lsn = [0; 8];
    lsn.copy_from_slice(&bytes[..8]);
    Entry {
        lsn: u64::from_le_bytes(lsn),
        checksum: u16::from_le_bytes([bytes[8], bytes[9]]),
    }
}

/// The cluster a catalogue is of, and when it was made. Entries of another one say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub system_identifier: u64,
    pub timeline: u32,
    pub page_bytes: u32,
    pub segment_blocks: u32,
    /// Of the latest checkpoint.
    pub checkpoint: u64,
    /// Seconds since 1970.
    pub time: i64,
    /// Of the log at that checkpoint, to know this history by; 0: not known.
    pub digest: u32,
}

type Key = (u32, u32, u32, u8, u32);

fn key(segment: &Segment) -> Key {
    let file = &segment.file;
    (
        segment.tablespace,
        segment.database,
        file.filenode,
        file.fork as u8,
        file.segment,
    )
}

/// Whether LSNs of a segment can only grow. `unlogged`: its relation has an init fork.
pub fn is_catalogued(segment: &Segment, unlogged: bool) -> bool {
    segment.file.fork == Fork::Main && segment.file.temporary_of.is_none() && !unlogged
}

/// A catalogue that was read back. It is mapped and not copied: that of a terabyte has 1.3 GB.
#[derive(Debug)]
pub struct Catalogue {
    pub origin: Origin,
    bytes: Mmap,
    segments: HashMap<Key, Range<usize>>,
}

impl Catalogue {
    /// Reads a catalogue whole. InvalidData: it is none, or it is damaged.
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        // SAFETY: the file is ours and never changed in its place: a writer replaces it by another.
        let bytes = unsafe { Mmap::map(&file)? };
        let end = bytes.len().saturating_sub(4);
        if end < HEAD_BYTES || &bytes[..8] != MAGIC {
            return Err(invalid("not a catalogue of Steelyard's scrub"));
        }
        let mut crc = Crc32c::new();
        crc.add(&bytes[..end]);
        if crc.finish().to_le_bytes() != bytes[end..] {
            return Err(invalid(
                "its checksum is wrong: it is damaged or was cut off",
            ));
        }
        let origin = Origin {
            system_identifier: u64_at(&bytes, 8),
            timeline: u32_at(&bytes, 16),
            page_bytes: u32_at(&bytes, 20),
            segment_blocks: u32_at(&bytes, 24),
            checkpoint: u64_at(&bytes, 28),
            time: u64_at(&bytes, 36) as i64,
            digest: u32_at(&bytes, 44),
        };
        let mut segments = HashMap::new();
        let mut at = HEAD_BYTES;
        while at + SEGMENT_HEAD_BYTES <= end {
            let word = |n: usize| u32_at(&bytes, at + 4 * n);
            let key = (word(0), word(1), word(2), word(3) as u8, word(4));
            let from = at + SEGMENT_HEAD_BYTES;
            let to = from + word(5) as usize * ENTRY_BYTES;
            if to > end {
                return Err(invalid("a segment of it leads behind its end"));
            }
            segments.insert(key, from..to);
            at = to;
        }
        Ok(Self {
            origin,
            bytes,
            segments,
        })
    }

    /// The entries of a segment, ten bytes a block.
    pub fn entries(&self, segment: &Segment) -> Option<&[u8]> {
        let range = self.segments.get(&key(segment))?;
        Some(&self.bytes[range.clone()])
    }
}

/// A catalogue that is being written, beside the one it will replace.
pub struct Writer {
    path: PathBuf,
    draft: PathBuf,
    file: BufWriter<File>,
    crc: Crc32c,
    most_lsn: u64,
}

impl Writer {
    /// No page has an LSN behind `most_lsn`: one with such an LSN is damaged, and not kept.
    pub fn create(path: &Path, origin: &Origin, most_lsn: u64) -> io::Result<Self> {
        let draft = draft_of(path);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&draft)?;
        let file = BufWriter::new(created);
        let mut writer = Self {
            path: path.to_owned(),
            draft,
            file,
            crc: Crc32c::new(),
            most_lsn,
        };
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend(MAGIC);
        head.extend(origin.system_identifier.to_le_bytes());
        head.extend(origin.timeline.to_le_bytes());
        head.extend(origin.page_bytes.to_le_bytes());
        head.extend(origin.segment_blocks.to_le_bytes());
        head.extend(origin.checkpoint.to_le_bytes());
        head.extend(origin.time.to_le_bytes());
        head.extend(origin.digest.to_le_bytes());
        writer.put(&head)?;
        Ok(writer)
    }

    /// Adds a segment; `earlier` fills in where nothing is known of a block now.
    pub fn add(
        &mut self,
        segment: &Segment,
        entries: &[Entry],
        earlier: Option<&[u8]>,
    ) -> io::Result<()> {
        let (tablespace, database, filenode, fork, number) = key(segment);
        let mut bytes = Vec::with_capacity(SEGMENT_HEAD_BYTES + entries.len() * ENTRY_BYTES);
        for word in [
            tablespace,
            database,
            filenode,
            fork.into(),
            number,
            entries.len() as u32,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        let mut before = earlier
            .unwrap_or_default()
            .chunks_exact(ENTRY_BYTES)
            .map(read_entry);
        let possible = |entry: Entry| Some(entry).filter(|entry| entry.lsn <= self.most_lsn);
        for entry in entries {
            let before = before.next().and_then(possible).unwrap_or_default();
            let entry = possible(*entry).unwrap_or_default();
            let kept = if entry.lsn < before.lsn {
                before
            } else {
                entry
            };
            bytes.extend(kept.lsn.to_le_bytes());
            bytes.extend(kept.checksum.to_le_bytes());
        }
        self.put(&bytes)
    }

    /// Puts it in the place of the one before.
    pub fn finish(mut self) -> io::Result<()> {
        let crc = self.crc.finish();
        let written = self
            .file
            .write_all(&crc.to_le_bytes())
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| std::fs::rename(&self.draft, &self.path));
        if written.is_err() {
            self.abandon();
        }
        written
    }

    /// Leaves the one before as it was.
    pub fn abandon(self) {
        let _ = std::fs::remove_file(&self.draft);
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.add(bytes);
        self.file.write_all(bytes)
    }
}

/// A name that no other account can have foreseen and put a link at: `NAME.0123456789abcdef.draft`.
fn draft_of(path: &Path) -> PathBuf {
    let random = RandomState::new().build_hasher().finish(); // keys from the system's randomness
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{random:016x}.draft"));
    PathBuf::from(draft)
}

/// LSN and checksum of every page; of an unsound one nothing is known.
pub fn entries_of(chunk: &[u8], page_bytes: usize, unsound: &[(usize, Wrong)]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = chunk
        .chunks_exact(page_bytes)
        .map(|page| {
            let header = Header::of(page);
            Entry {
                lsn: header.lsn,
                checksum: header.checksum,
            }
        })
        .collect();
    for (index, _) in unsound {
        entries[*index] = Entry::default();
    }
    entries
}

/// Pages whose LSN is lower than it was. A page without one (empty again after a truncation) is
/// none of them.
pub fn gone_backwards(
    entries: &[Entry],
    earlier: Option<&[u8]>,
    index: usize,
) -> Vec<(usize, Wrong)> {
    let before = earlier
        .unwrap_or_default()
        .chunks_exact(ENTRY_BYTES)
        .skip(index);
    let pairs = entries.iter().zip(before.map(read_entry)).enumerate();
    let lower = pairs.filter(|(_, (now, before))| now.lsn > 0 && now.lsn < before.lsn);
    lower
        .map(|(at, (now, before))| {
            let (expected, found) = (before.checksum, now.checksum);
            (
                at,
                Wrong {
                    fault: Fault::Backwards,
                    expected,
                    found,
                    lsn: now.lsn,
                    before: before.lsn,
                },
            )
        })
        .collect()
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
