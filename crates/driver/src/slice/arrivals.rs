//! Draws when transactions arrive in an open loop: a Poisson process, a small block at a time.
//!
//! The times do not depend on how the server does: a client that is late begins late, and its
//! latency counts from the time drawn here. In a closed loop a stall delays the very requests that
//! would have shown it (G. Tene, "How NOT to Measure Latency": coordinated omission). The first
//! block is drawn before the clock starts, and each later one takes about a microsecond: drawing
//! all of a load at once would itself be such a stall.

use steelyard_script::Random;

use crate::slice::replay::OwnArrivals;

/// Arrivals that are drawn together.
const BLOCK: usize = 64;

/// The arrivals at one thread.
pub struct Arrivals {
    seed: u64,
    /// Slices so far: each has a stream of its own, so that its arrivals do not depend on how many
    /// of the slice before were needed.
    slices: u64,
    random: Random,
    /// One block, from the start of the slice.
    block: Vec<u64>,
    next: usize,
    mean_gap_ns: f64,
    last_ns: f64,
    start_ns: u64,
    length_ns: u64,
    /// Recorded ones, in place of those that are drawn.
    recorded: Option<OwnArrivals>,
}

impl Arrivals {
    /// A stream of its own for each thread of an arm.
    pub fn new(seed: u64, stream: usize) -> Arrivals {
        let number = (stream as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let seed = !seed ^ number;
        Arrivals {
            seed,
            slices: 0,
            random: Random::new(seed),
            block: Vec::with_capacity(BLOCK),
            next: 0,
            mean_gap_ns: f64::INFINITY,
            last_ns: 0.0,
            start_ns: 0,
            length_ns: 0,
            recorded: None,
        }
    }

    /// Draws the first block of a slice of `length_ns`, `rate` arrivals a second.
    pub fn prepare(&mut self, length_ns: u64, rate: f64) {
        let own = self.slices.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.slices += 1;
        self.random = Random::new(self.seed.wrapping_add(own));
        self.mean_gap_ns = 1e9 / rate;
        self.last_ns = 0.0;
        self.length_ns = length_ns;
        self.recorded = None;
        self.draw_block();
    }

    /// Recorded arrivals take the place of drawn ones in a slice of `length_ns`; `None`: none come.
    pub fn follow(&mut self, length_ns: u64, recorded: Option<OwnArrivals>) {
        self.block.clear();
        self.next = 0;
        self.length_ns = length_ns;
        self.last_ns = f64::INFINITY; // nothing is drawn
        self.recorded = recorded;
    }

    /// The script of the arrival that [`Arrivals::peek`] showed, where it has one.
    #[inline]
    pub fn script(&self) -> Option<usize> {
        self.recorded.as_ref().map(|recorded| recorded.peek().1)
    }

    /// The slice begins; nothing is drawn.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// When the next transaction arrives; `None`: not before the end.
    #[inline]
    pub fn peek(&mut self) -> Option<u64> {
        if let Some(recorded) = &self.recorded {
            let after_ns = recorded.peek().0;
            let is_within = after_ns < self.length_ns;
            return is_within.then(|| self.start_ns.saturating_add(after_ns));
        }
        if self.next == self.block.len() && self.last_ns < self.length_ns as f64 {
            self.draw_block();
        }
        let after_ns = self.block.get(self.next)?;
        Some(self.start_ns.saturating_add(*after_ns))
    }

    /// Passes the arrival that [`Arrivals::peek`] showed.
    #[inline]
    pub fn pass(&mut self) {
        match &mut self.recorded {
            Some(recorded) => recorded.pass(),
            None => self.next += 1,
        }
    }

    /// Passes all arrivals until `now_ns`; how many they were.
    pub fn pass_due(&mut self, now_ns: u64) -> u64 {
        let mut due = 0;
        while self.peek().is_some_and(|at_ns| at_ns <= now_ns) {
            self.pass();
            due += 1;
        }
        due
    }

    #[cold]
    fn draw_block(&mut self) {
        self.block.clear();
        self.next = 0;
        while self.block.len() < BLOCK {
            // 1 − u lies in (0, 1], so that the logarithm is finite.
            self.last_ns -= (1.0 - self.random.uniform_f64()).ln() * self.mean_gap_ns;
            let before_end = self.last_ns < self.length_ns as f64;
            // Without a client on this thread the rate is 0 and the time no number.
            if !before_end {
                return;
            }
            self.block.push(self.last_ns as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exponential_and_their_number_is_poisson() {
        let mut arrivals = Arrivals::new(7, 0);
        let (mut gaps, mut counts) = (Vec::new(), Vec::new());
        for slice in 0..200_u64 {
            let start_ns = slice * 1_000_000_000;
            arrivals.prepare(1_000_000_000, 500.0);
            arrivals.begin(start_ns);
            let mut last_ns = start_ns;
            let mut count = 0;
            while let Some(at_ns) = arrivals.peek() {
                arrivals.pass();
                gaps.push((at_ns - last_ns) as f64);
                last_ns = at_ns;
                count += 1;
            }
            counts.push(f64::from(count));
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let count = mean(&counts);
        // 500 ± 4 standard errors of √(500/200).
        assert!((count - 500.0).abs() < 6.4, "{count}");
        let spread = mean(
            &counts
                .iter()
                .map(|one| (one - count).powi(2))
                .collect::<Vec<_>>(),
        );
        assert!((350.0..700.0).contains(&spread), "variance {spread}");
        // Kolmogorov–Smirnov against the exponential law, at the 0.1 % level.
        gaps.sort_by(f64::total_cmp);
        let rate = 500.0 / 1e9;
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(at, gap)| (1.0 - (-rate * gap).exp() - (at as f64 + 0.5) / n).abs())
            .fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
    }

    /// The textbook's way: the arrivals of one slice, drawn one after the other without blocks.
    fn drawn_at_once(seed: u64, stream: usize, length_ns: u64, rate: f64) -> Vec<u64> {
        let number = (stream as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        let mut random = Random::new(!seed ^ number);
        let mut at_ns = 0.0;
        let gaps = std::iter::from_fn(|| {
            at_ns -= (1.0 - random.uniform_f64()).ln() * 1e9 / rate;
            (at_ns < length_ns as f64).then_some(at_ns)
        });
        gaps.map(|at_ns| at_ns as u64).collect()
    }

    #[test]
    fn blocks_hold_the_arrivals_that_the_seed_gives_at_once() {
        for (seed, stream, length_ns, rate) in [
            (1, 1, 1_200_000, 1e9),
            (7, 0, 1_000_000_000, 100.0),
            (8, 3, 60_000_000_000, 1000.0),
            (u64::MAX, 9, 1_000_000_000, 0.001),
            (2, 0, 1_000, 64e6),
        ] {
            let mut arrivals = Arrivals::new(seed, stream);
            arrivals.prepare(length_ns, rate);
            arrivals.begin(5_000);
            let mut times = Vec::new();
            while let Some(at_ns) = arrivals.peek() {
                arrivals.pass();
                times.push(at_ns - 5_000);
            }
            let whole = drawn_at_once(seed, stream, length_ns, rate);
            assert_eq!(times.len(), whole.len());
            // Both sums round in their own order.
            assert!(times.iter().zip(&whole).all(|(a, b)| a.abs_diff(*b) <= 1));
            assert!(times.is_sorted());
        }
    }

    #[test]
    fn the_first_block_is_there_before_the_slice_begins_and_no_draw_is_longer() {
        // By count the end is a century away, and all arrivals until then are never drawn.
        let mut arrivals = Arrivals::new(3, 0);
        arrivals.prepare(1 << 61, 100.0);
        assert_eq!(arrivals.block.len(), BLOCK);
        let before = arrivals.last_ns;
        arrivals.begin(1_000);
        assert_eq!(arrivals.last_ns, before);
        let room = arrivals.block.capacity();
        for passed in 1..10 * BLOCK {
            assert!(arrivals.peek().is_some());
            arrivals.pass();
            assert!(arrivals.block.len() - arrivals.next < BLOCK, "{passed}");
        }
        assert_eq!(arrivals.block.capacity(), room);
    }

    #[test]
    fn a_slice_does_not_depend_on_how_many_arrivals_the_last_one_needed() {
        let second = |needed: usize| {
            let mut arrivals = Arrivals::new(4, 2);
            arrivals.prepare(1 << 40, 1000.0);
            for _ in 0..needed {
                arrivals.peek();
                arrivals.pass();
            }
            arrivals.prepare(1 << 40, 1000.0);
            arrivals.begin(0);
            arrivals.peek()
        };
        assert_eq!(second(0), second(1000));
    }

    #[test]
    fn what_was_due_when_a_slice_ended_is_counted_and_nothing_later() {
        let mut arrivals = Arrivals::new(5, 0);
        arrivals.prepare(1_000_000_000, 1000.0);
        arrivals.begin(100);
        let whole = drawn_at_once(5, 0, 1_000_000_000, 1000.0);
        let half = whole.iter().filter(|&&at_ns| at_ns <= 500_000_000).count() as u64;
        assert_eq!(arrivals.pass_due(500_000_100), half);
        assert_eq!(arrivals.pass_due(u64::MAX), whole.len() as u64 - half);
    }

    #[test]
    fn a_thread_without_clients_has_no_arrivals() {
        let mut arrivals = Arrivals::new(6, 0);
        for _ in 0..1000 {
            arrivals.prepare(1 << 61, 0.0);
            assert_eq!(arrivals.peek(), None);
        }
    }
}
