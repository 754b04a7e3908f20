//! Adds up what the threads of a slice have counted so far, tick by tick.

use crate::report::tally::Snapshot;

/// The last reports of all threads.
pub struct Progress {
    threads: Vec<Thread>,
    /// The tick that is answered next.
    tick: usize,
}

#[derive(Clone, Default)]
struct Thread {
    last: Snapshot,
    /// Ticks that it has reported.
    ticks: usize,
    /// Its clients are back: it reports no more.
    done: bool,
}

impl Progress {
    pub fn new(threads: usize) -> Progress {
        Progress {
            threads: vec![Thread::default(); threads],
            tick: 0,
        }
    }

    /// Takes a thread's report; the sum of all threads once none is missing for a tick.
    pub fn add(&mut self, thread: usize, snapshot: Snapshot) -> Option<Snapshot> {
        let reporter = &mut self.threads[thread];
        reporter.last = snapshot;
        reporter.ticks += 1;
        let missing = |thread: &Thread| !thread.done && thread.ticks <= self.tick;
        if self.threads.iter().any(missing) {
            return None;
        }
        let mut sum = Snapshot::default();
        for thread in &self.threads {
            sum.add(&thread.last);
        }
        sum.tick = self.tick;
        self.tick += 1;
        Some(sum)
    }

    /// A thread has ended its slice with these counts.
    pub fn end(&mut self, thread: usize, last: Snapshot) {
        let ended = &mut self.threads[thread];
        ended.last = last;
        ended.done = true;
    }
}
