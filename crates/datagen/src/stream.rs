//! Streams the rows of a table in chunks that threads make ahead, always in the same order.

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

/// The chunks of a table, in order.
pub struct Stream {
    threads: Vec<Receiver<Chunk>>,
    next: u64,
    chunks: u64,
    /// Rows, control sum and digest of what was given out so far.
    pub rows: u64,
    pub control_sum: i64,
    pub digest: u64,
}

impl Stream {
    /// Begin to make all rows of a source, on so many threads.
    pub fn new<E: Encoder>(source: Box<dyn Source<E>>, threads: usize) -> Self {
        let source: Arc<dyn Source<E>> = source.into();
        let chunks = source.units().div_ceil(source.units_a_chunk());
        let threads = threads.clamp(1, 64) as u64;
        let started = (0..threads).map(|first| {
            let source = Arc::clone(&source);
            let (sender, receiver) = sync_channel(AHEAD);
            thread::spawn(move || {
                let mut size = 0;
                for number in (first..chunks).step_by(threads as usize) {
                    let begin = number * source.units_a_chunk();
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
        self.digest = mix(self.digest.rotate_left(1) ^ chunk.digest);
        Some(chunk.encoded.bytes)
    }
}

/// A hash of bytes, a word at a time: it tells loads apart, it keeps no secret.
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
