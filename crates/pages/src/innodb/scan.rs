//! Scans the files of an InnoDB data directory by several threads: every page is read once.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};

use super::files::DataFile;
use super::judge::{judge, Carried, Fault, Place, Verdict, Wrong};
use crate::pace::Pace;
use crate::reading::{OpenStretch, CHUNK_BYTES};
use crate::scan::{lock, read_when_idle, PIECE_BYTES, TICK};

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

struct Piece {
    file: usize,
    from: u64,
    to: u64,
}

#[derive(Default)]
struct State {
    open: Mutex<Option<Arc<OpenStretch>>>,
    left: AtomicUsize,
    pages: AtomicU64,
    /// The file ended within a page, which was reported.
    torn_end: AtomicBool,
    failed: AtomicBool,
}

struct Work<'a> {
    files: &'a [DataFile],
    options: &'a Options,
    pieces: Vec<Piece>,
    next: AtomicUsize,
    states: Vec<State>,
    pace: Pace,
    progress: &'a Progress,
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
    let work = Work::new(files, options, progress);
    std::thread::scope(|scope| {
        let (sender, ended) = channel::<()>();
        for _ in 0..options.threads.max(1) {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || {
                work.do_pieces();
                drop(sender);
            });
        }
        drop(sender);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
            tick();
        }
    });
    tick();
    let mut found = match work.found.into_inner() {
        Ok(found) => found,
        Err(poisoned) => poisoned.into_inner(),
    };
    found.suspects.sort_by_key(|s| (s.file, s.page));
    found
}

impl<'a> Work<'a> {
    fn new(files: &'a [DataFile], options: &'a Options, progress: &'a Progress) -> Self {
        let mut pieces = Vec::with_capacity(files.len());
        let mut states = Vec::with_capacity(files.len());
        for (file, each) in files.iter().enumerate() {
            let count = each.bytes.div_ceil(PIECE_BYTES).max(1);
            pieces.extend((0..count).map(|n| Piece {
                file,
                from: n * PIECE_BYTES,
                to: ((n + 1) * PIECE_BYTES).min(each.bytes),
            }));
            states.push(State {
                left: AtomicUsize::new(count as usize),
                ..State::default()
            });
        }
        let found = Scanned {
            counts: vec![FileCounts::default(); files.len()],
            ..Scanned::default()
        };
        Self {
            files,
            options,
            pieces,
            next: AtomicUsize::new(0),
            states,
            pace: Pace::new(options.max_rate),
            progress,
            found: Mutex::new(found),
        }
    }

    fn do_pieces(&self) {
        if self.options.idle {
            read_when_idle();
        }
        let mut buffer = vec![0; CHUNK_BYTES];
        while !self.progress.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(number) else {
                return;
            };
            let state = &self.states[piece.file];
            if !state.failed.load(Ordering::Relaxed) {
                match self.opened(piece.file) {
                    Ok(open) => self.read_piece(piece, &open, &mut buffer),
                    Err(error) if !state.failed.swap(true, Ordering::Relaxed) => {
                        self.fail(piece.file, error)
                    }
                    Err(_) => {}
                }
            }
            self.finish(piece.file);
        }
    }

    fn opened(&self, file: usize) -> io::Result<Arc<OpenStretch>> {
        let mut open = lock(&self.states[file].open);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let DataFile { path, bytes, .. } = &self.files[file];
        let made = OpenStretch::open(path, 0, *bytes, true)?;
        Ok(Arc::clone(open.insert(Arc::new(made))))
    }

    fn fail(&self, file: usize, error: io::Error) {
        let mut found = lock(&self.found);
        match error.kind() {
            io::ErrorKind::NotFound => found.vanished.push(file),
            _ => found.denied.push((file, error)),
        }
    }

    /// Ends a piece; with the last one of a file, sees whether the file is as long as it must be.
    fn finish(&self, file: usize) {
        let state = &self.states[file];
        if state.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        *lock(&state.open) = None;
        if state.failed.load(Ordering::Relaxed) || self.progress.stop.load(Ordering::Relaxed) {
            return;
        }
        self.progress.files.fetch_add(1, Ordering::Relaxed);
        let DataFile {
            first_page,
            least_pages,
            ..
        } = self.files[file];
        let pages = state.pages.load(Ordering::Relaxed) as u32;
        if pages < least_pages && !state.torn_end.load(Ordering::Relaxed) {
            self.suspect(
                file,
                first_page.wrapping_add(pages),
                short(least_pages, pages),
            );
        }
    }

    fn read_piece(&self, piece: &Piece, open: &OpenStretch, buffer: &mut [u8]) {
        open.read_ahead(piece.from);
        let mut at = piece.from;
        while at < piece.to && !self.progress.stop.load(Ordering::Relaxed) {
            let wanted = (piece.to - at).min(buffer.len() as u64) as usize;
            self.pace.take(wanted, &self.progress.stop);
            let chunk = &mut buffer[..wanted];
            let bytes = match open.read(at, chunk) {
                Ok(bytes) => bytes,
                Err(_) => self.read_pages(piece.file, open, at, chunk),
            };
            self.judge_chunk(piece.file, at, &chunk[..bytes]);
            self.progress
                .bytes
                .fetch_add(bytes as u64, Ordering::Relaxed);
            at += wanted as u64;
            if bytes < wanted {
                break; // truncated since the walk
            }
        }
        open.drop_behind(piece.from, at);
    }

    /// Reads page by page where a large read failed: what cannot be read is reported, and is zero
    /// in the buffer.
    fn read_pages(&self, file: usize, open: &OpenStretch, at: u64, chunk: &mut [u8]) -> usize {
        let mut done = 0;
        for page in chunk.chunks_mut(self.files[file].layout.page_bytes) {
            match open.read(at + done as u64, page) {
                Ok(bytes) if bytes < page.len() => return done + bytes,
                Ok(_) => {}
                Err(_) => {
                    page.fill(0);
                    let number = self.number(file, at + done as u64);
                    self.suspect(file, number, unreadable());
                }
            }
            done += page.len();
        }
        done
    }

    fn judge_chunk(&self, file: usize, at: u64, chunk: &[u8]) {
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
        let state = &self.states[file];
        if torn_end {
            state.torn_end.store(true, Ordering::Relaxed);
            let index = (at / layout.page_bytes as u64) as u32 + whole as u32;
            let number = first.wrapping_add(whole as u32);
            self.suspect(file, number, short(index + 1, index));
        }
        state.pages.fetch_add(whole as u64, Ordering::Relaxed);
        self.progress
            .pages
            .fetch_add(whole as u64, Ordering::Relaxed);
        let mut found = lock(&self.found);
        let sums = found.counts[file].iter_mut().zip(counts);
        sums.for_each(|(sum, count)| *sum += count);
    }

    fn number(&self, file: usize, at: u64) -> u32 {
        let DataFile {
            layout, first_page, ..
        } = &self.files[file];
        first_page.wrapping_add((at / layout.page_bytes as u64) as u32)
    }

    fn suspect(&self, file: usize, page: u32, wrong: Wrong) {
        self.progress.wrong.fetch_add(1, Ordering::Relaxed);
        let mut found = lock(&self.found);
        if found.suspects.len() < MOST_KEPT {
            found.suspects.push(Suspect { file, page, wrong });
        } else {
            found.uncounted += 1;
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
