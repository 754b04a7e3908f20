//! Adds up the transactions of one interval of an aggregated log.

use std::fmt::Write as _;

/// Sum, sum of squares, least and greatest, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: u64,
    sum: f64,
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.least = if self.count == 0 {
            value
        } else {
            self.least.min(value)
        };
        self.greatest = if self.count == 0 {
            value
        } else {
            self.greatest.max(value)
        };
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    fn write(&self, text: &mut String) {
        let (sum, squares) = (self.sum, self.squares);
        // Writing into a String cannot fail.
        let _ = write!(
            text,
            " {sum:.0} {squares:.0} {:.0} {:.0}",
            self.least, self.greatest
        );
    }
}

/// The counts of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    latency: Spread,
    lag: Spread,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
    other: u64,
}

/// The interval that is being filled.
pub struct Interval {
    length_us: u64,
    start_us: u64,
    counts: Counts,
    /// Whether lines have the column of other failures, pgbench's from 19 on.
    other_failures: bool,
}

impl Interval {
    pub fn new(seconds: u64, other_failures: bool) -> Interval {
        Interval {
            length_us: seconds.max(1) * 1_000_000,
            start_us: 0,
            counts: Counts::default(),
            other_failures,
        }
    }

    /// The first interval of a slice.
    pub fn begin(&mut self, start_us: u64) {
        self.start_us = start_us;
        self.counts = Counts::default();
    }

    /// Writes every interval that is complete now, those without transactions too. As in pgbench,
    /// a number that this load cannot have is 0.
    pub fn advance(
        &mut self,
        now_us: u64,
        lags: bool,
        retries: bool,
        detailed: bool,
        text: &mut String,
    ) {
        while self.start_us + self.length_us <= now_us {
            let counts = std::mem::take(&mut self.counts);
            let seconds = self.start_us / 1_000_000;
            let _ = write!(text, "{seconds} {}", counts.latency.count);
            counts.latency.write(text);
            let lag = if lags { counts.lag } else { Spread::default() };
            lag.write(text);
            let _ = write!(text, " {}", counts.skipped);
            let when = |shown: bool, value: u64| if shown { value } else { 0 };
            let columns = [
                when(retries, counts.retried),
                when(retries, counts.retries),
                when(detailed, counts.serialization),
                when(detailed, counts.deadlock),
                when(detailed, counts.other),
            ];
            let columns = match self.other_failures {
                true => &columns[..],
                false => &columns[..columns.len() - 1],
            };
            for column in columns {
                let _ = write!(text, " {column}");
            }
            text.push('\n');
            self.start_us += self.length_us;
        }
    }

    /// A transaction: latency and lag, or none when it failed in the way that is named.
    pub fn add(&mut self, worked_us: Option<(f64, f64)>, failure: &str, retries: u32) {
        let counts = &mut self.counts;
        match (worked_us, failure) {
            (Some((latency_us, lag_us)), _) => {
                counts.latency.add(latency_us);
                counts.lag.add(lag_us);
            }
            (None, "serialization") => counts.serialization += 1,
            (None, "deadlock") => counts.deadlock += 1,
            (None, _) => counts.other += 1,
        }
        counts.retries += u64::from(retries);
        counts.retried += u64::from(retries > 0);
    }

    pub fn skip(&mut self) {
        self.counts.skipped += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_pgbench_18s_columns_and_one_more_with_other_failures() {
        for (other_failures, columns) in [(false, 15), (true, 16)] {
            let mut interval = Interval::new(1, other_failures);
            interval.begin(7_000_000);
            interval.add(Some((250.0, 0.0)), "", 2);
            interval.add(None, "serialization", 0);
            interval.add(None, "deadlock", 0);
            interval.add(None, "other", 0);
            let mut text = String::new();
            interval.advance(8_000_000, false, true, true, &mut text);
            let words: Vec<_> = text.trim_end().split(' ').collect();
            assert_eq!(words.len(), columns, "{text}");
            let whole = "7 1 250 62500 250 250 0 0 0 0 0 1 2 1 1 1";
            assert!(whole.starts_with(text.trim_end()), "{text}");
        }
    }
}
