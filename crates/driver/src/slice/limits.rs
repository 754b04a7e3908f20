//! Limits a slice: to a length of time, or to a number of executions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::clock::now_ns;
use crate::error::DriveError;
use crate::plan::{AbortRule, SlicePlan};

/// The length of a slice by count that names none.
const LONGEST_BY_COUNT_NS: u64 = 600_000_000_000;
/// The length of a slice by executions of each client that names none: a century.
const NEVER_NS: u64 = 1 << 61;
/// How often a thread looks whether another one has taken the last ticket, or ended the slice.
const LOOK_AGAIN_NS: u64 = 50_000_000;
/// A begin that is farther away is a mistake about a clock.
const FARTHEST_BEGIN_NS: u64 = 60_000_000_000;

/// The rule by which a transaction may begin, shared by all threads of a slice.
#[derive(Debug)]
pub struct SliceLimits {
    pub arm: usize,
    /// From a thread's start to the time when it starts no more transactions.
    pub length_ns: u64,
    /// From that time to the moment when the last client is given up.
    pub cap_ns: u64,
    /// Executions of each client, by count.
    pub each: Option<u64>,
    /// Arrivals a second, of all clients together; without, the loop is closed.
    pub rate: Option<f64>,
    /// From where on recorded transactions arrive; without, none do.
    pub from_ns: Option<u64>,
    /// When threads begin, by the clock; at once without.
    pub begin_ns: Option<u64>,
    /// How often a thread reports what it has counted so far.
    pub progress_ns: Option<u64>,
    /// Executions that may still begin; without, only the length counts.
    tickets: Option<AtomicU64>,
    /// When the last ticket was found taken; `u64::MAX` before.
    exhausted_ns: AtomicU64,
    /// Whether a thread may end the slice early, and whether one has.
    may_abort: bool,
    aborted: AtomicBool,
}

impl SliceLimits {
    pub fn new(slice: &SlicePlan, cap_ns: u64, rule: AbortRule) -> Result<SliceLimits, DriveError> {
        let length_ns = match (slice.length_ns, slice.count, slice.each) {
            (Some(length_ns), _, _) => length_ns,
            (None, Some(_), _) => LONGEST_BY_COUNT_NS,
            (None, None, Some(_)) => NEVER_NS,
            (None, None, None) => {
                return Err(DriveError::new("a slice has neither length nor count"))
            }
        };
        if let Some(rate) = slice.rate {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(DriveError::new(format!("cannot drive at a rate of {rate}")));
            }
        }
        if slice.rate.is_some() && slice.from_ns.is_some() {
            return Err(DriveError::new(
                "a slice has both a rate and recorded arrivals",
            ));
        }
        let far = |begin_ns: &u64| *begin_ns > now_ns().saturating_add(FARTHEST_BEGIN_NS);
        if slice.begin_ns.as_ref().is_some_and(far) {
            return Err(DriveError::new("cannot begin a slice minutes from now")
                .hint("The clocks of two machines were compared wrongly, or one has jumped."));
        }
        Ok(SliceLimits {
            arm: slice.arm,
            length_ns,
            cap_ns,
            each: slice.each,
            rate: slice.rate,
            from_ns: slice.from_ns,
            begin_ns: slice.begin_ns,
            progress_ns: slice.progress_ns.filter(|&ns| ns > 0),
            tickets: slice.count.map(AtomicU64::new),
            exhausted_ns: AtomicU64::new(u64::MAX),
            may_abort: rule != AbortRule::Never,
            aborted: AtomicBool::new(false),
        })
    }

    /// Ends the slice for all threads.
    pub fn abort(&self) {
        self.aborted.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Relaxed)
    }

    /// Whether transactions arrive by themselves, whether or not earlier ones are done.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.rate.is_some() || self.from_ns.is_some()
    }

    pub fn is_by_count(&self) -> bool {
        self.tickets.is_some() || self.each.is_some()
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
        let stop_ns = start_ns.saturating_add(self.length_ns);
        stop_ns
            .min(self.exhausted_ns.load(Ordering::Relaxed))
            .saturating_add(self.cap_ns)
    }

    /// When a thread that began at `start_ns` must look at the clock whatever happens.
    pub fn look_ns(&self, start_ns: u64, now_ns: u64) -> u64 {
        let deadline_ns = self.deadline_ns(start_ns);
        if self.tickets.is_some() || self.may_abort || now_ns >= deadline_ns {
            now_ns + LOOK_AGAIN_NS
        } else {
            deadline_ns
        }
    }
}
