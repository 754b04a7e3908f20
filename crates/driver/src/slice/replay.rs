//! Lets transactions arrive when a recorded load's did, over and over.

use std::sync::Arc;

use serde::Deserialize;

/// When transactions arrive, and which script each is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// In ns from the first one on, in order, each with the number of its script.
    pub arrivals: Vec<(u64, usize)>,
    /// After how long they begin again: more than the last one's time.
    pub round_ns: u64,
}

impl Replay {
    /// Whether times are in order, and every script is there.
    pub fn is_valid(&self, scripts: usize) -> bool {
        let last = self.arrivals.last().map(|(at_ns, _)| *at_ns);
        last.is_some_and(|last| last < self.round_ns)
            && self.arrivals.windows(2).all(|pair| pair[0].0 <= pair[1].0)
            && self.arrivals.iter().all(|(_, script)| *script < scripts)
    }
}

/// The arrivals of one thread in a slice. Arrival n is for client n mod clients, wherever it lives:
/// each thread has its part of them, and another client of it may take one.
pub struct OwnArrivals {
    replay: Arc<Replay>,
    clients: usize,
    threads: usize,
    thread: usize,
    /// Counted over all rounds.
    next: u64,
    from_ns: u64,
}

impl OwnArrivals {
    /// From so long after the first arrival on.
    pub fn new(
        replay: &Arc<Replay>,
        from_ns: u64,
        clients: usize,
        threads: usize,
        thread: usize,
    ) -> OwnArrivals {
        let (round, rest_ns) = (from_ns / replay.round_ns, from_ns % replay.round_ns);
        let passed = replay
            .arrivals
            .partition_point(|(at_ns, _)| *at_ns < rest_ns);
        let mut own = OwnArrivals {
            replay: Arc::clone(replay),
            clients,
            threads,
            thread,
            next: round * replay.arrivals.len() as u64 + passed as u64,
            from_ns,
        };
        own.find();
        own
    }

    /// When the next one arrives, from the begin of the slice, and its script.
    #[inline]
    pub fn peek(&self) -> (u64, usize) {
        let length = self.replay.arrivals.len() as u64;
        let (at_ns, script) = self.replay.arrivals[(self.next % length) as usize];
        let whole_ns = (self.next / length).saturating_mul(self.replay.round_ns);
        (
            whole_ns.saturating_add(at_ns).saturating_sub(self.from_ns),
            script,
        )
    }

    #[inline]
    pub fn pass(&mut self) {
        self.next += 1;
        self.find();
    }

    fn find(&mut self) {
        while (self.next % self.clients as u64) as usize % self.threads != self.thread {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay() -> Arc<Replay> {
        Arc::new(Replay {
            arrivals: vec![(0, 0), (10, 1), (10, 0), (25, 2), (40, 1)],
            round_ns: 50,
        })
    }

    fn taken(from_ns: u64, clients: usize, threads: usize, until_ns: u64) -> Vec<(u64, usize)> {
        let mut all = Vec::new();
        for thread in 0..threads.min(clients) {
            let mut own = OwnArrivals::new(&replay(), from_ns, clients, threads, thread);
            while own.peek().0 < until_ns {
                all.push(own.peek());
                own.pass();
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn threads_share_the_arrivals_and_each_is_taken_once() {
        let alone = taken(0, 1, 1, 130);
        assert_eq!(
            alone,
            [
                (0, 0),
                (10, 0),
                (10, 1),
                (25, 2),
                (40, 1),
                (50, 0),
                (60, 0),
                (60, 1),
                (75, 2),
                (90, 1),
                (100, 0),
                (110, 0),
                (110, 1),
                (125, 2)
            ]
        );
        for (clients, threads) in [(1, 2), (3, 2), (8, 3), (5, 5)] {
            assert_eq!(
                taken(0, clients, threads, 130),
                alone,
                "{clients} {threads}"
            );
        }
    }

    #[test]
    fn slices_that_follow_each_other_take_what_one_long_one_does() {
        for length_ns in [1, 7, 10, 33, 50] {
            let mut all = Vec::new();
            for from_ns in (0..400).step_by(length_ns) {
                let part = taken(from_ns, 3, 2, length_ns as u64);
                all.extend(part.iter().map(|(at, script)| (at + from_ns, *script)));
            }
            all.retain(|(at, _)| *at < 400);
            all.sort_unstable();
            assert_eq!(all, taken(0, 1, 1, 400), "slices of {length_ns}");
        }
    }

    #[test]
    fn arrivals_out_of_order_or_of_no_script_are_refused() {
        assert!(replay().is_valid(3));
        assert!(!replay().is_valid(2));
        let of = |arrivals, round_ns| Replay { arrivals, round_ns };
        assert!(!of(vec![], 5).is_valid(1));
        assert!(!of(vec![(3, 0), (2, 0)], 5).is_valid(1));
        assert!(!of(vec![(0, 0), (5, 0)], 5).is_valid(1));
    }
}
