//! Wakes clients that wait for a time instead of the server: for sleeps and for arrivals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::io_backend::timer::Timer;
use crate::slice::arrivals::Arrivals;

/// The waiting clients of one group, and the timer that wakes them.
pub struct Schedule {
    /// Wakes the group; its event belongs to no client.
    pub timer: Timer,
    /// When the timer expires next; `u64::MAX`: not at all.
    armed_ns: u64,
    /// Clients that wait for a time.
    sleepers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Clients that wait for an arrival.
    pub idle: Vec<usize>,
    pub arrivals: Arrivals,
}

impl Schedule {
    /// For so many clients; it takes no more memory later.
    pub fn new(clients: usize, seed: u64, stream: usize) -> io::Result<Schedule> {
        Ok(Schedule {
            timer: Timer::new()?,
            armed_ns: u64::MAX,
            sleepers: BinaryHeap::with_capacity(clients),
            idle: Vec::with_capacity(clients),
            arrivals: Arrivals::new(seed, stream),
        })
    }

    /// No client waits any more.
    pub fn clear(&mut self) -> io::Result<()> {
        self.sleepers.clear();
        self.idle.clear();
        self.armed_ns = u64::MAX;
        self.timer.disarm()
    }

    /// Lets a client wait until a time.
    pub fn sleep_until(&mut self, until_ns: u64, index: usize) -> io::Result<()> {
        self.sleepers.push(Reverse((until_ns, index)));
        self.wake_by(until_ns)
    }

    /// A client whose time has come.
    pub fn next_due(&mut self, now_ns: u64) -> Option<usize> {
        let &Reverse((until_ns, index)) = self.sleepers.peek()?;
        (until_ns <= now_ns).then(|| {
            self.sleepers.pop();
            index
        })
    }

    /// When the first client is to be woken.
    pub fn first_due_ns(&self) -> Option<u64> {
        self.sleepers.peek().map(|Reverse((until_ns, _))| *until_ns)
    }

    /// Has the timer expire at a time, or before.
    pub fn wake_by(&mut self, at_ns: u64) -> io::Result<()> {
        if at_ns >= self.armed_ns {
            return Ok(());
        }
        self.armed_ns = at_ns;
        self.timer.set(at_ns)
    }

    /// The timer has expired, and is not set any more.
    pub fn acknowledge(&mut self) {
        self.timer.acknowledge();
        self.armed_ns = u64::MAX;
    }
}
