//! Scans segments by several threads: every page is read once and judged.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Mutex;

use crate::catalogue::{entries_of, gone_backwards, Entry};
use crate::judge::{Fault, Judge, Wrong};
use crate::pieces::{lock, Counters, Manner, Pieces, Reader, Stretch, TICK};
use crate::walk::Segment;

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
    /// Blocks of zeroes.
    pub empty: AtomicU64,
    pub stop: AtomicBool,
}

/// What a scan reports as it runs; `segment` is an index into the segments given.
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

struct Scan<'a> {
    segments: &'a [Segment],
    /// What an earlier scan kept of each segment; None where it must not be compared.
    earlier: &'a [Option<&'a [u8]>],
    options: &'a Options,
    /// Of each segment.
    entries: Vec<Mutex<Vec<Entry>>>,
    empty: &'a AtomicU64,
}

/// One thread of a scan.
struct Judging<'a> {
    scan: &'a Scan<'a>,
    events: Sender<Event>,
    computed: Vec<u16>,
    /// Pages of what comes next that are zeroes because they could not be read.
    unreadable: u64,
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
    let scan = Scan {
        segments,
        earlier,
        options,
        entries: segments.iter().map(|_| Mutex::default()).collect(),
        empty: &progress.empty,
    };
    let pieces = scan.pieces(progress);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..options.threads.max(1) {
            let mut judging = Judging {
                scan: &scan,
                events: sender.clone(),
                computed: Vec::new(),
                unreadable: 0,
            };
            let pieces = &pieces;
            scope.spawn(move || pieces.read(&mut judging));
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

impl Scan<'_> {
    fn pieces<'a>(&'a self, progress: &'a Progress) -> Pieces<'a> {
        let stretches = self.segments.iter().map(|segment| Stretch {
            path: &segment.path,
            offset: segment.offset,
            bytes: segment.bytes,
            page_bytes: self.options.judge.page_bytes,
        });
        let manner = Manner {
            max_rate: self.options.max_rate,
            drop_behind: self.options.drop_behind,
            idle: self.options.idle,
        };
        let counters = Counters {
            bytes: &progress.bytes,
            pages: &progress.blocks,
            files: &progress.files,
            stop: &progress.stop,
        };
        Pieces::new(stretches.collect(), manner, counters)
    }

    fn block(&self, number: usize, at: u64) -> u32 {
        let inside = (at / self.options.judge.page_bytes as u64) as u32;
        let segment = self.segments[number].file.segment;
        segment
            .wrapping_mul(self.options.segment_blocks)
            .wrapping_add(inside)
    }
}

impl Reader for Judging<'_> {
    fn pages(&mut self, number: usize, at: u64, chunk: &[u8]) {
        let Scan {
            earlier, options, ..
        } = self.scan;
        let judge = &options.judge;
        let first = self.scan.block(number, at);
        let whole = chunk.len() / judge.page_bytes;
        let mut unsound = Vec::new();
        let empty = judge.pages(chunk, first, &mut self.computed, |index, wrong| {
            unsound.push((index, wrong))
        });
        let unreadable = std::mem::take(&mut self.unreadable);
        let empty = empty.saturating_sub(unreadable);
        self.scan.empty.fetch_add(empty, Ordering::Relaxed);
        let earlier = earlier.get(number).copied().flatten();
        if options.entries || earlier.is_some() {
            let index = (at / judge.page_bytes as u64) as usize;
            let entries = entries_of(chunk, judge.page_bytes, &unsound);
            unsound.extend(gone_backwards(&entries, earlier, index));
            if options.entries {
                let mut kept = lock(&self.scan.entries[number]);
                let needed = index + entries.len();
                if kept.len() < needed {
                    kept.resize(needed, Entry::default());
                }
                kept[index..needed].copy_from_slice(&entries);
            }
        }
        for (index, wrong) in unsound {
            let block = first.wrapping_add(index as u32);
            let _ = self.events.send(Event::Wrong {
                segment: number,
                block,
                wrong,
            });
        }
        if chunk.len() % judge.page_bytes != 0 {
            let block = first.wrapping_add(whole as u32);
            let _ = self.events.send(told(number, block, Fault::Short));
        }
    }

    fn unreadable(&mut self, number: usize, at: u64) {
        self.unreadable += 1;
        let block = self.scan.block(number, at);
        let _ = self.events.send(told(number, block, Fault::Unreadable));
    }

    fn failed(&mut self, number: usize, error: io::Error) {
        let _ = self.events.send(failure(number, error));
    }

    fn done(&mut self, number: usize, pages: u64) {
        let _ = self.events.send(Event::Done {
            segment: number,
            blocks: pages as u32,
            entries: std::mem::take(&mut *lock(&self.scan.entries[number])),
        });
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
