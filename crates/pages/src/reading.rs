//! Reads a stretch of a file in large pieces, and leaves the page cache as it was found.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::Advice;

use crate::regular::{open_regular, open_with};
use crate::residency::{advise, Residency};

/// Bytes a thread reads at a time: they stay in the second-level cache while they are judged.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// Bytes of a cold file that are read ahead.
const AHEAD_BYTES: u64 = 8 << 20;

/// A stretch of a file that is being read; offsets count from where it begins.
pub struct OpenStretch {
    file: File,
    offset: u64,
    bytes: u64,
    /// What was cached before; only where what was not is to be dropped again.
    residency: Option<Residency>,
}

impl OpenStretch {
    /// Opens read-only, and without moving the time of last access where that is allowed.
    pub fn open(path: &Path, offset: u64, bytes: u64, drop_behind: bool) -> io::Result<Self> {
        let file = open_with(path, libc::O_NOATIME).or_else(|_| open_regular(path))?;
        let residency = drop_behind
            .then(|| Residency::of(&file, offset, offset + bytes))
            .flatten();
        advise(&file, offset, bytes, Advice::Sequential);
        Ok(Self {
            file,
            offset,
            bytes,
            residency,
        })
    }

    /// Reads from `at` until the buffer is full or the file ends.
    pub fn read(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[done..], self.offset + at + done as u64)
            {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Starts to read what comes next where it is not cached: one thread then keeps a disk busy.
    pub fn read_ahead(&self, at: u64) {
        let (from, end) = (self.offset + at, self.offset + self.bytes);
        let to = (from + AHEAD_BYTES).min(end);
        let absent = |residency: &Residency| residency.is_absent(from, to);
        if from < to && self.residency.as_ref().is_some_and(absent) {
            advise(&self.file, from, to - from, Advice::WillNeed);
        }
    }

    /// Drops what reading a part of the stretch brought into the cache.
    pub fn drop_behind(&self, from: u64, to: u64) {
        if let Some(residency) = &self.residency {
            residency.drop_behind(&self.file, self.offset + from, self.offset + to);
        }
    }
}
