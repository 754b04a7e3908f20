//! Draws when transactions arrive in an open loop: a Poisson process, before the slice starts.
//!
//! The times do not depend on how the server does: a client that is late begins late, and its
//! latency counts from the time drawn here. In a closed loop a stall delays the very requests that
//! would have shown it (G. Tene, "How NOT to Measure Latency": coordinated omission).

use steelyard_script::Random;

/// Most arrivals that are drawn at once; more are drawn when these are used up.
const MOST_DRAWN: usize = 1 << 20;

/// The arrivals at one thread.
pub struct Arrivals {
    random: Random,
    times: Vec<u64>,
    next: usize,
    mean_gap_ns: f64,
    last_ns: f64,
    until_ns: u64,
}

impl Arrivals {
    /// A stream of its own for each thread of an arm.
    pub fn new(seed: u64, stream: usize) -> Arrivals {
        let number = (stream as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        Arrivals {
            random: Random::new(!seed ^ number),
            times: Vec::new(),
            next: 0,
            mean_gap_ns: f64::INFINITY,
            last_ns: 0.0,
            until_ns: 0,
        }
    }

    /// Draws the arrivals from `start_ns` to `until_ns`, `rate` a second.
    pub fn draw(&mut self, start_ns: u64, until_ns: u64, rate: f64) {
        self.mean_gap_ns = 1e9 / rate;
        self.last_ns = start_ns as f64;
        self.until_ns = until_ns;
        self.draw_on();
    }

    /// When the next transaction arrives; `None`: not before the end.
    #[inline]
    pub fn peek(&mut self) -> Option<u64> {
        if self.next == self.times.len() && self.last_ns < self.until_ns as f64 {
            self.draw_on();
        }
        self.times.get(self.next).copied()
    }

    /// Passes the arrival that [`Arrivals::peek`] showed.
    #[inline]
    pub fn pass(&mut self) {
        self.next += 1;
    }

    /// Arrivals that were drawn and not passed.
    pub fn remaining(&self) -> u64 {
        (self.times.len() - self.next) as u64
    }

    #[cold]
    fn draw_on(&mut self) {
        self.times.clear();
        self.next = 0;
        while self.times.len() < MOST_DRAWN {
            // 1 − u lies in (0, 1], so that the logarithm is finite.
            let gap_ns = -(1.0 - self.random.uniform_f64()).ln() * self.mean_gap_ns;
            self.last_ns += gap_ns;
            if self.last_ns >= self.until_ns as f64 {
                return;
            }
            self.times.push(self.last_ns as u64);
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
            arrivals.draw(start_ns, start_ns + 1_000_000_000, 500.0);
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

    #[test]
    fn more_arrivals_than_are_drawn_at_once_come_in_order() {
        let mut arrivals = Arrivals::new(1, 1);
        arrivals.draw(0, 1_200_000, 1e9);
        let mut last_ns = 0;
        let mut count = 0_u64;
        while let Some(at_ns) = arrivals.peek() {
            arrivals.pass();
            assert!(at_ns >= last_ns);
            last_ns = at_ns;
            count += 1;
        }
        assert!(count > MOST_DRAWN as u64, "{count}");
    }
}
