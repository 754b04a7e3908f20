//! When clients of a crew act without a word from the server: sleeps, arrivals, the alarm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::alarm::Alarm;
use crate::arrivals::Arrivals;

/// Of one crew.
pub struct Pace {
    /// Wakes the crew; its event belongs to no client.
    pub alarm: Alarm,
    /// When it rings next; `u64::MAX`: not at all.
    rings_ns: u64,
    /// Clients that wait for a time.
    naps: BinaryHeap<Reverse<(u64, usize)>>,
    /// Clients that wait for an arrival.
    pub idle: Vec<usize>,
    pub arrivals: Arrivals,
}

impl Pace {
    /// For so many clients; nothing grows later.
    pub fn new(clients: usize, seed: u64, thread: usize) -> io::Result<Pace> {
        Ok(Pace {
            alarm: Alarm::new()?,
            rings_ns: u64::MAX,
            naps: BinaryHeap::with_capacity(clients),
            idle: Vec::with_capacity(clients),
            arrivals: Arrivals::new(seed, thread),
        })
    }

    /// Nobody waits for anything.
    pub fn clear(&mut self) -> io::Result<()> {
        self.naps.clear();
        self.idle.clear();
        self.rings_ns = u64::MAX;
        self.alarm.silence()
    }

    /// Lets a client wait until a time.
    pub fn nap(&mut self, until_ns: u64, place: usize) -> io::Result<()> {
        self.naps.push(Reverse((until_ns, place)));
        self.ring_by(until_ns)
    }

    /// A client whose time has come.
    pub fn waking(&mut self, now_ns: u64) -> Option<usize> {
        let &Reverse((until_ns, place)) = self.naps.peek()?;
        (until_ns <= now_ns).then(|| {
            self.naps.pop();
            place
        })
    }

    /// When the first client wants to be woken.
    pub fn first_nap_ns(&self) -> Option<u64> {
        self.naps.peek().map(|Reverse((until_ns, _))| *until_ns)
    }

    /// The alarm rings at a time, or before.
    pub fn ring_by(&mut self, at_ns: u64) -> io::Result<()> {
        if at_ns >= self.rings_ns {
            return Ok(());
        }
        self.rings_ns = at_ns;
        self.alarm.set(at_ns, 0)
    }

    /// The alarm has rung, and is set by nobody.
    pub fn hear(&mut self) {
        self.alarm.hear();
        self.rings_ns = u64::MAX;
    }
}
