//! Streams the rows of a table in chunks that threads make ahead, always in the same order.

use std::ops::Range;
use std::sync::mpsc::{sync_channel, Receiver};
use std::sync::Arc;
use std::thread;

use crate::encoder::{Encoded, Encoder};
use crate::random::mix;
use crate::source::Source;

/// Chunks that a thread makes before they are requested.
const AHEAD: usize = 2;

struct Chunk {
    encoded: Encoded,
    digest: u64,
}

/// Chunks of a table that follow each other, in order.
pub struct Stream {
    threads: Vec<Receiver<Chunk>>,
    next: u64,
    chunks: u64,
    /// Rows, control sum and digest of what was given out so far.
    pub rows: u64,
    pub control_sum: i64,
    pub digest: u64,
    /// Of each chunk that was given out: `digest_of` those of all parts is that of the whole.
    pub chunk_digests: Vec<u64>,
}

/// How many chunks a table is cut into, on any number of threads and machines.
pub fn chunks<E: Encoder>(source: &dyn Source<E>) -> u64 {
    source.units().div_ceil(source.units_a_chunk())
}

/// The digest of a stream whose chunks have these digests, in order.
pub fn digest_of(chunks: impl IntoIterator<Item = u64>) -> u64 {
    chunks.into_iter().fold(0, with_chunk)
}

fn with_chunk(digest: u64, chunk: u64) -> u64 {
    mix(digest.rotate_left(1) ^ chunk)
}

impl Stream {
    /// Begin to make all rows of a source, on so many threads.
    pub fn new<E: Encoder>(source: Box<dyn Source<E>>, threads: usize) -> Self {
        let all = 0..chunks(&*source);
        Self::part(source, all, threads)
    }

    /// Begin to make these chunks of a source alone; those past its end are left out.
    pub fn part<E: Encoder>(source: Box<dyn Source<E>>, part: Range<u64>, threads: usize) -> Self {
        let end = part.end.min(chunks(&*source));
        let part = part.start.min(end)..end;
        let (start, chunks) = (part.start, part.end - part.start);
        let source: Arc<dyn Source<E>> = source.into();
        let threads = threads.clamp(1, 64) as u64;
        let started = (0..threads).map(|first| {
            let source = Arc::clone(&source);
            let (sender, receiver) = sync_channel(AHEAD);
            thread::spawn(move || {
                let mut size = 0;
                for number in (first..chunks).step_by(threads as usize) {
                    let begin = (start + number) * source.units_a_chunk();
                    let end = (begin + source.units_a_chunk()).min(source.units());
                    let mut rows = E::with_capacity(size + size / 16);
                    source.write(begin..end, &mut rows);
                    let encoded = rows.finish();
                    size = encoded.bytes.len();
                    let digest = digest(&encoded.bytes);
                    if sender.send(Chunk { encoded, digest }).is_err() {
                        return; // the receiver is gone
                    }
                }
            });
            receiver
        });
        Self {
            threads: started.collect(),
            next: 0,
            chunks,
            rows: 0,
            control_sum: 0,
            digest: 0,
            chunk_digests: Vec::new(),
        }
    }
}

impl Iterator for Stream {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.next == self.chunks {
            return None;
        }
        let thread = (self.next % self.threads.len() as u64) as usize;
        let chunk = self.threads[thread].recv().ok()?;
        self.next += 1;
        self.rows += chunk.encoded.rows;
        self.control_sum = self.control_sum.wrapping_add(chunk.encoded.control_sum);
        self.digest = with_chunk(self.digest, chunk.digest);
        self.chunk_digests.push(chunk.digest);
        Some(chunk.encoded.bytes)
    }
}

/// A hash of bytes, a word at a time: it distinguishes loads, it is not cryptographic.
fn digest(bytes: &[u8]) -> u64 {
    let mut state = bytes.len() as u64;
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let absorb = |state: u64, word: u64| {
        (state ^ word)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    };
    for word in words {
        state = absorb(
            state,
            u64::from_le_bytes(word.try_into().unwrap_or_default()),
        );
    }
    for &byte in rest {
        state = absorb(state, u64::from(byte));
    }
    mix(state)
}
