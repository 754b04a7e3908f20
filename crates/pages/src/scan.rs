//! Scans segments by several threads: every page is read once and judged.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::catalogue::{entries_of, gone_backwards, Entry};
use crate::judge::{Fault, Judge, Wrong};
use crate::pace::Pace;
use crate::reading::{OpenStretch, CHUNK_BYTES};
use crate::walk::Segment;

/// Bytes of a segment that a thread takes at a time.
pub(crate) const PIECE_BYTES: u64 = 16 << 20;
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// How a cluster is scanned.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub judge: Judge,
    pub segment_blocks: u32,
    pub threads: usize,
    /// Bytes a second of all threads together.
    pub max_rate: Option<f64>,
    /// Whether what was not cached before is dropped from the page cache again.
    pub drop_behind: bool,
    /// Whether to read in the idle class of the I/O scheduler.
    pub idle: bool,
    /// Whether `Event::Done` brings the LSN and checksum of every block.
    pub entries: bool,
}

/// How far a scan is; `stop` ends it early.
#[derive(Debug, Default)]
pub struct Progress {
    pub bytes: AtomicU64,
    pub blocks: AtomicU64,
    pub files: AtomicU64,
    pub stop: AtomicBool,
}

/// What a scan tells as it goes; `segment` is an index into the segments given.
#[derive(Debug)]
pub enum Event {
    Wrong {
        segment: usize,
        block: u32,
        wrong: Wrong,
    },
    /// Every page of it was read.
    Done {
        segment: usize,
        blocks: u32,
        entries: Vec<Entry>,
    },
    /// It was dropped since the walk.
    Vanished {
        segment: usize,
    },
    Denied {
        segment: usize,
        error: io::Error,
    },
}

struct Piece {
    segment: usize,
    from: u64,
    to: u64,
}

#[derive(Default)]
struct State {
    open: Mutex<Option<Arc<OpenStretch>>>,
    left: AtomicUsize,
    blocks: AtomicU64,
    failed: AtomicBool,
    entries: Mutex<Vec<Entry>>,
}

struct Work<'a> {
    segments: &'a [Segment],
    /// What an earlier scan kept of each segment; None where it must not be compared.
    earlier: &'a [Option<&'a [u8]>],
    options: &'a Options,
    pieces: Vec<Piece>,
    next: AtomicUsize,
    states: Vec<State>,
    pace: Pace,
    progress: &'a Progress,
}

/// Scans the segments. `event` is called in this thread, `tick` ten times a second; it returns
/// when all is read, or soon after `progress.stop` was set.
pub fn scan(
    segments: &[Segment],
    earlier: &[Option<&[u8]>],
    options: &Options,
    progress: &Progress,
    mut event: impl FnMut(Event),
    mut tick: impl FnMut(),
) {
    let work = Work::new(segments, earlier, options, progress);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..options.threads.max(1) {
            let (work, sender) = (&work, sender.clone());
            scope.spawn(move || work.do_pieces(&sender));
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(told) => event(told),
                Err(RecvTimeoutError::Timeout) => tick(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    tick();
}

impl<'a> Work<'a> {
    fn new(
        segments: &'a [Segment],
        earlier: &'a [Option<&'a [u8]>],
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        let mut pieces = Vec::with_capacity(segments.len());
        let mut states = Vec::with_capacity(segments.len());
        for (segment, each) in segments.iter().enumerate() {
            let count = each.bytes.div_ceil(PIECE_BYTES).max(1);
            pieces.extend((0..count).map(|n| Piece {
                segment,
                from: n * PIECE_BYTES,
                to: ((n + 1) * PIECE_BYTES).min(each.bytes),
            }));
            states.push(State {
                left: AtomicUsize::new(count as usize),
                ..State::default()
            });
        }
        Self {
            segments,
            earlier,
            options,
            pieces,
            next: AtomicUsize::new(0),
            states,
            pace: Pace::new(options.max_rate),
            progress,
        }
    }

    fn do_pieces(&self, events: &Sender<Event>) {
        if self.options.idle {
            read_when_idle();
        }
        let page_bytes = self.options.judge.page_bytes;
        let mut buffer = vec![0; CHUNK_BYTES.max(page_bytes)];
        let mut computed = Vec::with_capacity(buffer.len() / page_bytes);
        while !self.progress.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(number) else {
                return;
            };
            let state = &self.states[piece.segment];
            if !state.failed.load(Ordering::Relaxed) {
                match self.opened(piece.segment) {
                    Ok(open) => self.read_piece(piece, &open, &mut buffer, &mut computed, events),
                    Err(error) => {
                        if !state.failed.swap(true, Ordering::Relaxed) {
                            let _ = events.send(failure(piece.segment, error));
                        }
                    }
                }
            }
            self.finish(piece, events);
        }
    }

    fn opened(&self, segment: usize) -> io::Result<Arc<OpenStretch>> {
        let mut open = lock(&self.states[segment].open);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let Segment {
            path,
            offset,
            bytes,
            ..
        } = &self.segments[segment];
        let made = OpenStretch::open(path, *offset, *bytes, self.options.drop_behind)?;
        Ok(Arc::clone(open.insert(Arc::new(made))))
    }

    fn finish(&self, piece: &Piece, events: &Sender<Event>) {
        let state = &self.states[piece.segment];
        if state.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        *lock(&state.open) = None;
        // Stopped in the middle of a piece, it is not done.
        if !state.failed.load(Ordering::Relaxed) && !self.progress.stop.load(Ordering::Relaxed) {
            self.progress.files.fetch_add(1, Ordering::Relaxed);
            let _ = events.send(Event::Done {
                segment: piece.segment,
                blocks: state.blocks.load(Ordering::Relaxed) as u32,
                entries: std::mem::take(&mut *lock(&state.entries)),
            });
        }
    }

    fn read_piece(
        &self,
        piece: &Piece,
        open: &OpenStretch,
        buffer: &mut [u8],
        computed: &mut Vec<u16>,
        events: &Sender<Event>,
    ) {
        let segment = &self.segments[piece.segment];
        let page_bytes = self.options.judge.page_bytes;
        open.read_ahead(piece.from);
        let mut at = piece.from;
        while at < piece.to && !self.progress.stop.load(Ordering::Relaxed) {
            let left = match segment.offset {
                // A last page that was half there at the walk may be whole by now.
                0 => (piece.to - at).next_multiple_of(page_bytes as u64),
                // Inside an archive what follows is not this file's.
                _ => piece.to - at,
            };
            let wanted = left.min(buffer.len() as u64) as usize;
            self.pace.take(wanted, &self.progress.stop);
            let chunk = &mut buffer[..wanted];
            let bytes = match open.read(at, chunk) {
                Ok(bytes) => bytes,
                Err(_) => self.read_pages(piece.segment, open, at, chunk, events),
            };
            self.judge_chunk(piece.segment, at, &chunk[..bytes], computed, events);
            self.progress
                .bytes
                .fetch_add(bytes as u64, Ordering::Relaxed);
            at += wanted as u64;
            if bytes < wanted {
                break; // truncated since the walk, or its end
            }
        }
        open.drop_behind(piece.from, at.min(segment.bytes));
    }

    /// Reads page by page where a large read failed: what cannot be read is reported, and is zero
    /// in the buffer.
    fn read_pages(
        &self,
        number: usize,
        open: &OpenStretch,
        at: u64,
        chunk: &mut [u8],
        events: &Sender<Event>,
    ) -> usize {
        let page_bytes = self.options.judge.page_bytes;
        let mut done = 0;
        for page in chunk.chunks_mut(page_bytes) {
            match open.read(at + done as u64, page) {
                Ok(bytes) if bytes < page.len() => return done + bytes,
                Ok(_) => {}
                Err(_) => {
                    page.fill(0);
                    let block = self.block(number, at + done as u64);
                    let _ = events.send(told(number, block, Fault::Unreadable));
                }
            }
            done += page.len();
        }
        done
    }

    fn judge_chunk(
        &self,
        number: usize,
        at: u64,
        chunk: &[u8],
        computed: &mut Vec<u16>,
        events: &Sender<Event>,
    ) {
        let judge = &self.options.judge;
        let first = self.block(number, at);
        let whole = chunk.len() / judge.page_bytes;
        let mut unsound = Vec::new();
        judge.pages(chunk, first, computed, |index, wrong| {
            unsound.push((index, wrong))
        });
        let earlier = self.earlier.get(number).copied().flatten();
        if self.options.entries || earlier.is_some() {
            let index = (at / judge.page_bytes as u64) as usize;
            let entries = entries_of(chunk, judge.page_bytes, &unsound);
            unsound.extend(gone_backwards(&entries, earlier, index));
            if self.options.entries {
                let mut kept = lock(&self.states[number].entries);
                let needed = index + entries.len();
                if kept.len() < needed {
                    kept.resize(needed, Entry::default());
                }
                kept[index..needed].copy_from_slice(&entries);
            }
        }
        for (index, wrong) in unsound {
            let block = first.wrapping_add(index as u32);
            let _ = events.send(Event::Wrong {
                segment: number,
                block,
                wrong,
            });
        }
        if chunk.len() % judge.page_bytes != 0 {
            let _ = events.send(told(number, first.wrapping_add(whole as u32), Fault::Short));
        }
        self.states[number]
            .blocks
            .fetch_add(whole as u64, Ordering::Relaxed);
        self.progress
            .blocks
            .fetch_add(whole as u64, Ordering::Relaxed);
    }

    fn block(&self, number: usize, at: u64) -> u32 {
        let inside = (at / self.options.judge.page_bytes as u64) as u32;
        let segment = self.segments[number].file.segment;
        segment
            .wrapping_mul(self.options.segment_blocks)
            .wrapping_add(inside)
    }
}

fn told(segment: usize, block: u32, fault: Fault) -> Event {
    let wrong = Wrong {
        fault,
        expected: 0,
        found: 0,
        lsn: 0,
        before: 0,
    };
    Event::Wrong {
        segment,
        block,
        wrong,
    }
}

fn failure(segment: usize, error: io::Error) -> Event {
    if error.kind() == io::ErrorKind::NotFound {
        Event::Vanished { segment }
    } else {
        Event::Denied { segment, error }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// Puts this thread into the idle class of the I/O scheduler (ioprio_set(2)): others come first.
pub(crate) fn read_when_idle() {
    const WHO_PROCESS: libc::c_int = 1;
    const CLASS_IDLE: libc::c_int = 3 << 13;
    // SAFETY: a system call with numbers alone; refused, nothing changes.
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE);
    }
}
