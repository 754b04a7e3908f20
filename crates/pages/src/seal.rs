//! Writes the checksum of every page of a stopped cluster, as `pg_checksums --enable` does.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use steelyard_buffer::on_a_page;

use crate::checksum::{page_checksum, stored_checksum};
use crate::header::Header;
use crate::walk::{walk, Segment};

/// Where `pd_checksum` stands in a page.
const CHECKSUM_AT: usize = 8;
/// Pages that are read, sealed and written at a time.
const PAGES_AT_ONCE: usize = 64;

/// How the pages of a cluster are laid out in files, and how many threads write.
#[derive(Debug, Clone, Copy)]
pub struct SealOptions {
    pub page_bytes: usize,
    /// Blocks of a whole segment.
    pub segment_blocks: u32,
    pub threads: usize,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sealed {
    pub pages: u64,
    /// Of them, those whose checksum was another before.
    pub changed: u64,
}

/// Puts its checksum on every page below a stopped cluster's data directory; pages on which nothing
/// was ever put have none. The files are not synced. Err: a file or directory, and what the system
/// said of it; where a part cannot be entered, no page is written, for those of that part would be
/// refused by a server that looks for checksums.
pub fn seal_cluster(
    directory: &Path,
    tablespace_version: &str,
    options: SealOptions,
) -> Result<Sealed, (String, io::Error)> {
    let found = walk(directory, tablespace_version)
        .map_err(|error| (directory.display().to_string(), error))?;
    if let Some(denied) = found.denied.into_iter().next() {
        return Err((denied.label, io::Error::other(denied.reason)));
    }
    seal(&found.segments, options)
}

fn seal(segments: &[Segment], options: SealOptions) -> Result<Sealed, (String, io::Error)> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Sealed, (String, io::Error)> {
        let mut done = Sealed::default();
        while let Some(segment) = segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sealed =
                seal_segment(segment, options).map_err(|error| (segment.label.clone(), error))?;
            done.pages += sealed.pages;
            done.changed += sealed.changed;
        }
        Ok(done)
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads.max(1))
            .map(|_| scope.spawn(work))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread that seals pages panicked"))
            .collect()
    });
    let mut whole = Sealed::default();
    for result in results {
        let part = result?;
        whole.pages += part.pages;
        whole.changed += part.changed;
    }
    Ok(whole)
}

fn seal_segment(segment: &Segment, options: SealOptions) -> io::Result<Sealed> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&segment.path)?;
    let first = u64::from(segment.file.segment) * u64::from(options.segment_blocks);
    let mut done = Sealed::default();
    let mut buffer = on_a_page(options.page_bytes * PAGES_AT_ONCE);
    let mut at = 0;
    loop {
        let read = fill(&file, &mut buffer, at)?;
        if read % options.page_bytes != 0 {
            let reason = "it ends within a page";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        let changed_before = done.changed;
        for (number, page) in buffer[..read]
            .chunks_exact_mut(options.page_bytes)
            .enumerate()
        {
            if Header::of(page).is_new() {
                continue;
            }
            let block = first + at / options.page_bytes as u64 + number as u64;
            let block = u32::try_from(block)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "too many blocks"))?;
            let checksum = page_checksum(page, block);
            done.pages += 1;
            if stored_checksum(page) != checksum {
                page[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_ne_bytes());
                done.changed += 1;
            }
        }
        if done.changed > changed_before {
            file.write_all_at(&buffer[..read], at)?;
        }
        if read < buffer.len() {
            return Ok(done);
        }
        at += read as u64;
    }
}

/// Reads until the buffer is full or the file ends; the bytes read.
fn fill(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
