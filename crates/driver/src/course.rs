//! How long a slice goes on: until the bell, or until a number of executions has begun.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bell of a slice by count that names none.
const LONGEST_BY_COUNT_NS: u64 = 600_000_000_000;

/// The rule by which a transaction may begin, shared by all threads of a slice.
#[derive(Debug)]
pub struct Course {
    pub arm: usize,
    /// From a thread's start to its bell; after the bell nothing begins.
    pub length_ns: u64,
    /// From the bell to the moment when the last client is given up.
    pub cap_ns: u64,
    /// Executions that may still begin; without, only the bell counts.
    tickets: Option<AtomicU64>,
    /// When the last ticket was found taken; `u64::MAX` before.
    exhausted_ns: AtomicU64,
}

impl Course {
    pub fn by_time(arm: usize, length_ns: u64, cap_ns: u64) -> Course {
        Course {
            arm,
            length_ns,
            cap_ns,
            tickets: None,
            exhausted_ns: AtomicU64::new(u64::MAX),
        }
    }

    pub fn by_count(arm: usize, count: u64, limit_ns: Option<u64>, cap_ns: u64) -> Course {
        let length_ns = limit_ns.unwrap_or(LONGEST_BY_COUNT_NS);
        let tickets = Some(AtomicU64::new(count));
        Course {
            arm,
            length_ns,
            cap_ns,
            tickets,
            exhausted_ns: AtomicU64::new(u64::MAX),
        }
    }

    pub fn is_by_count(&self) -> bool {
        self.tickets.is_some()
    }

    /// Whether one more execution may begin at `now_ns`.
    #[inline]
    pub fn admits(&self, now_ns: u64) -> bool {
        let Some(tickets) = &self.tickets else {
            return true;
        };
        let take = |left: u64| left.checked_sub(1);
        let taken = tickets
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok();
        if !taken {
            self.exhausted_ns.fetch_min(now_ns, Ordering::Relaxed);
        }
        taken
    }

    /// When a thread that began at `start_ns` gives up the clients that are not back.
    #[inline]
    pub fn deadline_ns(&self, start_ns: u64) -> u64 {
        let bell_ns = start_ns.saturating_add(self.length_ns);
        bell_ns
            .min(self.exhausted_ns.load(Ordering::Relaxed))
            .saturating_add(self.cap_ns)
    }

    /// When a thread that began at `start_ns` must look at the clock whatever happens, and how
    /// often then: by count, another thread may ring the bell.
    pub fn alarm_ns(&self, start_ns: u64) -> (u64, u64) {
        const LOOK_AGAIN_NS: u64 = 50_000_000;
        if self.tickets.is_some() {
            (start_ns + LOOK_AGAIN_NS, LOOK_AGAIN_NS)
        } else {
            (self.deadline_ns(start_ns), LOOK_AGAIN_NS)
        }
    }
}
