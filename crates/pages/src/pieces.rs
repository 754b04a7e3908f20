//! Reads stretches of files in pieces by several threads: every page once, whatever judges it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use steelyard_buffer::on_a_page;

use crate::pace::Pace;
use crate::reading::{OpenStretch, CHUNK_BYTES};

/// Bytes of a stretch that a thread takes at a time.
const PIECE_BYTES: u64 = 16 << 20;
/// How often the thread that waits for the others shows how far they are.
pub const TICK: Duration = Duration::from_millis(100);

/// A file of pages, or a part of one.
pub struct Stretch<'a> {
    pub path: &'a Path,
    /// Where in the file it begins: not 0 inside an archive.
    pub offset: u64,
    pub bytes: u64,
    pub page_bytes: usize,
}

/// What a thread does with what it reads of a stretch, which is named by its number.
pub trait Reader {
    /// Pages from `at` on, in bytes from where the stretch begins; of the last, where the file ends
    /// inside of it, the part that is there.
    fn pages(&mut self, stretch: usize, at: u64, pages: &[u8]);

    /// A page that could not be read; `pages` has zeros for it.
    fn unreadable(&mut self, stretch: usize, at: u64);

    /// It could not be opened.
    fn failed(&mut self, stretch: usize, error: io::Error);

    /// Everything of it was read: so many whole pages.
    fn done(&mut self, stretch: usize, pages: u64);
}

/// How files are read.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Bytes a second of all threads together.
    pub max_rate: Option<f64>,
    /// Whether what was not cached before is dropped from the page cache again.
    pub drop_behind: bool,
    /// Whether to read in the idle class of the I/O scheduler.
    pub idle: bool,
}

/// What is counted as it goes on; `stop` ends it early.
pub struct Counters<'a> {
    pub bytes: &'a AtomicU64,
    pub pages: &'a AtomicU64,
    pub files: &'a AtomicU64,
    pub stop: &'a AtomicBool,
}

struct Piece {
    stretch: usize,
    from: u64,
    to: u64,
}

#[derive(Default)]
struct State {
    open: Mutex<Option<Arc<OpenStretch>>>,
    left: AtomicUsize,
    pages: AtomicU64,
    failed: AtomicBool,
}

/// The pieces of all stretches, of which each thread takes the next.
pub struct Pieces<'a> {
    stretches: Vec<Stretch<'a>>,
    pieces: Vec<Piece>,
    next: AtomicUsize,
    states: Vec<State>,
    pace: Pace,
    manner: Manner,
    counters: Counters<'a>,
}

impl<'a> Pieces<'a> {
    pub fn new(stretches: Vec<Stretch<'a>>, manner: Manner, counters: Counters<'a>) -> Self {
        let mut pieces = Vec::with_capacity(stretches.len());
        let mut states = Vec::with_capacity(stretches.len());
        for (stretch, each) in stretches.iter().enumerate() {
            let count = each.bytes.div_ceil(PIECE_BYTES).max(1);
            pieces.extend((0..count).map(|n| Piece {
                stretch,
                from: n * PIECE_BYTES,
                to: ((n + 1) * PIECE_BYTES).min(each.bytes),
            }));
            states.push(State {
                left: AtomicUsize::new(count as usize),
                ..State::default()
            });
        }
        Self {
            stretches,
            pieces,
            next: AtomicUsize::new(0),
            states,
            pace: Pace::new(manner.max_rate),
            manner,
            counters,
        }
    }

    /// Reads pieces until none is left, or soon after `stop` was set: what one thread does.
    pub fn read(&self, reader: &mut impl Reader) {
        if self.manner.idle {
            read_when_idle();
        }
        let page_bytes = self.stretches.iter().map(|each| each.page_bytes);
        let mut buffer = on_a_page(CHUNK_BYTES.max(page_bytes.max().unwrap_or_default()));
        while !self.stopped() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(number) else {
                return;
            };
            let state = &self.states[piece.stretch];
            if !state.failed.load(Ordering::Relaxed) {
                match self.opened(piece.stretch) {
                    Ok(open) => self.read_piece(piece, &open, &mut buffer, reader),
                    Err(error) if !state.failed.swap(true, Ordering::Relaxed) => {
                        reader.failed(piece.stretch, error);
                    }
                    Err(_) => {}
                }
            }
            self.finish(piece.stretch, reader);
        }
    }

    fn stopped(&self) -> bool {
        self.counters.stop.load(Ordering::Relaxed)
    }

    fn opened(&self, number: usize) -> io::Result<Arc<OpenStretch>> {
        let mut open = lock(&self.states[number].open);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let Stretch {
            path,
            offset,
            bytes,
            ..
        } = self.stretches[number];
        let made = OpenStretch::open(path, offset, bytes, self.manner.drop_behind)?;
        Ok(Arc::clone(open.insert(Arc::new(made))))
    }

    fn finish(&self, number: usize, reader: &mut impl Reader) {
        let state = &self.states[number];
        if state.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        *lock(&state.open) = None;
        // Stopped in the middle of a piece, it is not done.
        if !state.failed.load(Ordering::Relaxed) && !self.stopped() {
            self.counters.files.fetch_add(1, Ordering::Relaxed);
            reader.done(number, state.pages.load(Ordering::Relaxed));
        }
    }

    fn read_piece(
        &self,
        piece: &Piece,
        open: &OpenStretch,
        buffer: &mut [u8],
        reader: &mut impl Reader,
    ) {
        let number = piece.stretch;
        let stretch = &self.stretches[number];
        open.read_ahead(piece.from);
        let mut at = piece.from;
        while at < piece.to && !self.stopped() {
            let left = match stretch.offset {
                // A last page that was half there at the walk may be whole by now.
                0 => (piece.to - at).next_multiple_of(stretch.page_bytes as u64),
                // Inside an archive what follows is not this file's.
                _ => piece.to - at,
            };
            let wanted = left.min(buffer.len() as u64) as usize;
            self.pace.take(wanted, self.counters.stop);
            let chunk = &mut buffer[..wanted];
            let bytes = match open.read(at, chunk) {
                Ok(bytes) => bytes,
                Err(_) => self.read_pages(number, open, at, chunk, reader),
            };
            reader.pages(number, at, &chunk[..bytes]);
            let whole = (bytes / stretch.page_bytes) as u64;
            self.states[number]
                .pages
                .fetch_add(whole, Ordering::Relaxed);
            self.counters.pages.fetch_add(whole, Ordering::Relaxed);
            self.counters
                .bytes
                .fetch_add(bytes as u64, Ordering::Relaxed);
            at += wanted as u64;
            if bytes < wanted {
                break; // truncated since the walk, or its end
            }
        }
        open.drop_behind(piece.from, at.min(stretch.bytes));
    }

    /// Reads page by page where a large read failed: what cannot be read is reported, and is zero
    /// in the buffer.
    fn read_pages(
        &self,
        number: usize,
        open: &OpenStretch,
        at: u64,
        chunk: &mut [u8],
        reader: &mut impl Reader,
    ) -> usize {
        let mut done = 0;
        for page in chunk.chunks_mut(self.stretches[number].page_bytes) {
            match open.read(at + done as u64, page) {
                Ok(bytes) if bytes < page.len() => return done + bytes,
                Ok(_) => {}
                Err(_) => {
                    page.fill(0);
                    reader.unreadable(number, at + done as u64);
                }
            }
            done += page.len();
        }
        done
    }
}

/// Locks; a thread that panicked left nothing half done behind it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Puts this thread into the idle class of the I/O scheduler (ioprio_set(2)): others come first.
fn read_when_idle() {
    const WHO_PROCESS: libc::c_int = 1;
    const CLASS_IDLE: libc::c_int = 3 << 13;
    // SAFETY: a system call with numbers alone; refused, nothing changes.
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Done(Vec<(usize, u64)>);

    impl Reader for Done {
        fn pages(&mut self, _: usize, _: u64, _: &[u8]) {}

        fn unreadable(&mut self, stretch: usize, at: u64) {
            panic!("{stretch} at {at}");
        }

        fn failed(&mut self, stretch: usize, error: io::Error) {
            panic!("{stretch}: {error}");
        }

        fn done(&mut self, stretch: usize, pages: u64) {
            self.0.push((stretch, pages));
        }
    }

    #[test]
    fn a_file_without_a_page_is_done_as_others_are() {
        let name = format!("syt-pieces-{}", std::process::id());
        let full = std::env::temp_dir().join(&name);
        let empty = std::env::temp_dir().join(name + "-empty");
        std::fs::write(&full, vec![0; 3 * 8192]).unwrap();
        std::fs::write(&empty, []).unwrap();
        let stretches = [(&empty, 0), (&full, 3 * 8192), (&empty, 0)];
        let (bytes, pages) = (AtomicU64::new(0), AtomicU64::new(0));
        let (files, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let pieces = Pieces::new(
            stretches
                .map(|(path, bytes)| Stretch {
                    path,
                    offset: 0,
                    bytes,
                    page_bytes: 8192,
                })
                .into(),
            Manner {
                max_rate: None,
                drop_behind: false,
                idle: false,
            },
            Counters {
                bytes: &bytes,
                pages: &pages,
                files: &files,
                stop: &stop,
            },
        );
        let mut reader = Done(Vec::new());
        pieces.read(&mut reader);
        assert_eq!(reader.0, [(0, 0), (1, 3), (2, 0)]);
        assert_eq!(files.into_inner(), 3);
        std::fs::remove_file(full).unwrap();
        std::fs::remove_file(empty).unwrap();
    }
}
