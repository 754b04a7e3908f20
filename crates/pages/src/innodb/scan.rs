//! Scans the files of an InnoDB data directory by several threads: every page is read once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Mutex;

use super::files::DataFile;
use super::judge::{judge, Carried, Fault, Place, Verdict, Wrong};
use crate::pieces::{lock, Counters, Manner, Pieces, Reader, Stretch, TICK};

/// Pages wrong at first that are kept; the others are only counted.
const MOST_KEPT: usize = 500_000;

/// How a data directory is scanned.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub threads: usize,
    /// Bytes a second of all threads together.
    pub max_rate: Option<f64>,
    /// Whether to read in the idle class of the I/O scheduler.
    pub idle: bool,
}

/// How far a scan is; `stop` ends it early.
#[derive(Debug, Default)]
pub struct Progress {
    pub bytes: AtomicU64,
    pub pages: AtomicU64,
    pub files: AtomicU64,
    pub wrong: AtomicU64,
    pub stop: AtomicBool,
}

/// A page that was wrong when it was read; `file` is an index into the files given.
#[derive(Debug, Clone)]
pub struct Suspect {
    pub file: usize,
    pub page: u32,
    pub wrong: Wrong,
}

/// What sound pages of a file carry, in the order of `Carried::ALL`.
pub type FileCounts = [u64; Carried::ALL.len()];

/// What a scan found.
#[derive(Debug, Default)]
pub struct Scanned {
    pub suspects: Vec<Suspect>,
    /// Wrong pages beyond those.
    pub uncounted: u64,
    pub counts: Vec<FileCounts>,
    /// Files that were dropped since the walk.
    pub vanished: Vec<usize>,
    pub denied: Vec<(usize, io::Error)>,
}

struct Scan<'a> {
    files: &'a [DataFile],
    /// Files that ended within a page, which was reported.
    torn_ends: Vec<AtomicBool>,
    /// Pages that were wrong so far.
    wrong: &'a AtomicU64,
    found: Mutex<Scanned>,
}

/// Scans the files. `tick` is called in this thread ten times a second; it returns when all is
/// read, or soon after `progress.stop` was set.
pub fn scan(
    files: &[DataFile],
    options: &Options,
    progress: &Progress,
    mut tick: impl FnMut(),
) -> Scanned {
    let scan = Scan::new(files, progress);
    let pieces = pieces(files, options, progress);
    std::thread::scope(|scope| {
        let (sender, ended) = channel::<()>();
        for _ in 0..options.threads.max(1) {
            let (mut scan, pieces, sender) = (&scan, &pieces, sender.clone());
            scope.spawn(move || {
                pieces.read(&mut scan);
                drop(sender);
            });
        }
        drop(sender);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
            tick();
        }
    });
    tick();
    let mut found = match scan.found.into_inner() {
        Ok(found) => found,
        Err(poisoned) => poisoned.into_inner(),
    };
    found.suspects.sort_by_key(|s| (s.file, s.page));
    found
}

fn pieces<'a>(files: &'a [DataFile], options: &Options, progress: &'a Progress) -> Pieces<'a> {
    let stretches = files.iter().map(|file| Stretch {
        path: &file.path,
        offset: 0,
        bytes: file.bytes,
        page_bytes: file.layout.page_bytes,
    });
    let manner = Manner {
        max_rate: options.max_rate,
        drop_behind: true,
        idle: options.idle,
    };
    let counters = Counters {
        bytes: &progress.bytes,
        pages: &progress.pages,
        files: &progress.files,
        stop: &progress.stop,
    };
    Pieces::new(stretches.collect(), manner, counters)
}

impl<'a> Scan<'a> {
    fn new(files: &'a [DataFile], progress: &'a Progress) -> Self {
        let found = Scanned {
            counts: vec![FileCounts::default(); files.len()],
            ..Scanned::default()
        };
        Self {
            files,
            torn_ends: files.iter().map(|_| AtomicBool::default()).collect(),
            wrong: &progress.wrong,
            found: Mutex::new(found),
        }
    }

    fn number(&self, file: usize, at: u64) -> u32 {
        let DataFile {
            layout, first_page, ..
        } = &self.files[file];
        first_page.wrapping_add((at / layout.page_bytes as u64) as u32)
    }

    fn suspect(&self, file: usize, page: u32, wrong: Wrong) {
        self.wrong.fetch_add(1, Ordering::Relaxed);
        let mut found = lock(&self.found);
        if found.suspects.len() < MOST_KEPT {
            found.suspects.push(Suspect { file, page, wrong });
        } else {
            found.uncounted += 1;
        }
    }
}

impl Reader for &Scan<'_> {
    fn pages(&mut self, file: usize, at: u64, chunk: &[u8]) {
        let DataFile {
            layout,
            space,
            doublewrite,
            ..
        } = &self.files[file];
        let first = self.number(file, at);
        let mut counts = FileCounts::default();
        let pages = chunk.chunks_exact(layout.page_bytes);
        let torn_end = !pages.remainder().is_empty();
        let whole = pages.len();
        for (index, page) in pages.enumerate() {
            let number = first.wrapping_add(index as u32);
            if doublewrite.iter().any(|range| range.contains(&number)) {
                counts[Carried::Doublewrite as usize] += 1;
                continue;
            }
            let place = Place {
                number,
                space: *space,
            };
            match judge(page, layout, place) {
                Verdict::Sound(carried) => counts[carried as usize] += 1,
                Verdict::Wrong(wrong) => self.suspect(file, number, wrong),
            }
        }
        if torn_end {
            self.torn_ends[file].store(true, Ordering::Relaxed);
            let index = (at / layout.page_bytes as u64) as u32 + whole as u32;
            let number = first.wrapping_add(whole as u32);
            self.suspect(file, number, short(index + 1, index));
        }
        let mut found = lock(&self.found);
        let sums = found.counts[file].iter_mut().zip(counts);
        sums.for_each(|(sum, count)| *sum += count);
    }

    fn unreadable(&mut self, file: usize, at: u64) {
        self.suspect(file, self.number(file, at), unreadable());
    }

    fn failed(&mut self, file: usize, error: io::Error) {
        let mut found = lock(&self.found);
        match error.kind() {
            io::ErrorKind::NotFound => found.vanished.push(file),
            _ => found.denied.push((file, error)),
        }
    }

    /// Sees whether the file is as long as it must be.
    fn done(&mut self, file: usize, pages: u64) {
        let DataFile {
            first_page,
            least_pages,
            ..
        } = self.files[file];
        let pages = pages as u32;
        if pages < least_pages && !self.torn_ends[file].load(Ordering::Relaxed) {
            let wrong = short(least_pages, pages);
            self.suspect(file, first_page.wrapping_add(pages), wrong);
        }
    }
}

/// A file that ends too early; both in pages.
pub(super) fn short(expected: u32, found: u32) -> Wrong {
    Wrong {
        fault: Fault::Short,
        expected,
        found,
        lsn: 0,
    }
}

pub(super) fn unreadable() -> Wrong {
    Wrong {
        fault: Fault::Unreadable,
        expected: 0,
        found: 0,
        lsn: 0,
    }
}
