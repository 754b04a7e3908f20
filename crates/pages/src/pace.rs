//! Limits all threads of a scan together to a number of bytes a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Unused time is made up for, but not more than this of it.
const BURST: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(50);

pub struct Pace {
    bytes_per_s: Option<f64>,
    next: Mutex<Instant>,
}

impl Pace {
    /// None: as fast as it goes.
    pub fn new(bytes_per_s: Option<f64>) -> Self {
        Self {
            bytes_per_s: bytes_per_s.filter(|rate| *rate > 0.0),
            next: Mutex::new(Instant::now()),
        }
    }

    /// Waits until `bytes` more may be read, or `stop` is set.
    pub fn take(&self, bytes: usize, stop: &AtomicBool) {
        let Some(rate) = self.bytes_per_s else { return };
        let due = {
            let mut next = match self.next.lock() {
                Ok(next) => next,
                Err(poisoned) => poisoned.into_inner(),
            };
            let earliest = Instant::now().checked_sub(BURST);
            let due = earliest.map_or(*next, |earliest| earliest.max(*next));
            *next = due + Duration::from_secs_f64(bytes as f64 / rate);
            due
        };
        while !stop.load(Ordering::Relaxed) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}
