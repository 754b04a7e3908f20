//! Counts the transactions, latencies and errors of one slice on one thread.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::protocol::Fault;

/// The longest latency a histogram holds apart: one hour. Longer ones are counted there.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Nanoseconds, three significant digits.
pub fn new_histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds and digits are constants")
}

/// Transactions of one script.
pub struct ScriptTally {
    pub transactions: u64,
    pub latency: Histogram<u32>,
    /// Where commands are timed: one for each.
    pub commands: Vec<CommandTally>,
}

/// Executions of one command.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandTally {
    pub executions: u64,
    pub sum_ns: u64,
    /// Errors that ended a transaction.
    pub failures: u64,
    /// Errors after which a transaction was tried again.
    pub retries: u64,
}

impl Snapshot {
    pub fn add(&mut self, other: &Snapshot) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.retried += other.retried;
        self.retries += other.retries;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency_squares += other.latency_squares;
        self.lag_sum_ns += other.lag_sum_ns;
    }
}

impl CommandTally {
    fn add(&mut self, other: &CommandTally) {
        self.executions += other.executions;
        self.sum_ns += other.sum_ns;
        self.failures += other.failures;
        self.retries += other.retries;
    }
}

/// Counts of a slice under way.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Which progress report of the slice, from 0.
    pub tick: usize,
    pub transactions: u64,
    pub failed: u64,
    pub skipped: u64,
    pub retried: u64,
    pub retries: u64,
    pub latency_sum_ns: u64,
    #[serde(rename = "latency_squares_ns2")]
    pub latency_squares: f64,
    pub lag_sum_ns: u64,
}

/// Most lines of `debug()` that a slice brings along.
const MOST_DEBUG_LINES: usize = 1000;

/// Counts of one slice; used again for the next one.
pub struct Tally {
    /// When this thread began; the least of all threads in a merged tally.
    pub start_ns: u64,
    /// How much later that was than the slice should have begun; the greatest of all threads.
    pub late_ns: u64,
    /// When this thread starts no more transactions.
    pub stop_ns: u64,
    /// When its last client was back; the greatest of all threads in a merged tally.
    pub end_ns: u64,
    /// How long the threads were runnable without a processor, of how long they drove, summed over
    /// them; None where the kernel does not count it.
    pub queue_ns: Option<u64>,
    pub threads_ns: u64,
    pub transactions: u64,
    /// Sum over clients of the time from the start to the end of its last transaction.
    pub busy_ns: u64,
    pub latency_sum_ns: u64,
    /// Sum of squared latencies, in ns².
    pub latency_squares: f64,
    pub failed: u64,
    /// Transactions that were tried more than once, and how often they were tried again.
    pub retried: u64,
    pub retries: u64,
    /// Arrivals that found no idle client; by how much all arrivals waited.
    pub late_starts: u64,
    pub lag_sum_ns: u64,
    pub lag_max_ns: u64,
    /// Arrivals that were later than the latency limit, and never began.
    pub skipped: u64,
    /// Arrivals before the end of the slice that no client came to.
    pub unstarted: u64,
    /// Transactions longer than the latency limit.
    pub over_limit: u64,
    /// Connections made during the slice, and what they took.
    pub connections: u64,
    pub connect_ns: u64,
    /// The output of `debug()`.
    pub debug_lines: Vec<String>,
    /// Rows that the counted transactions returned, in all.
    pub rows: u64,
    pub wrong_rows: u64,
    /// Clients that were not back at the cap.
    pub capped: u64,
    /// Clients without a connection at the end of the slice.
    pub lost: u64,
    /// By code: how often, and the text of the first.
    pub errors: BTreeMap<String, (u64, String)>,
    /// New connections: client, and the server's number of the connection.
    pub reconnected: Vec<(usize, i64)>,
    pub scripts: Vec<ScriptTally>,
    /// A script that cannot go on: ends the driver.
    pub script_error: Option<String>,
    /// Why the slice ended early, where the plan has it end so.
    pub aborted: Option<String>,
}

impl Tally {
    /// For scripts whose timed commands are so many; none where nothing is timed.
    pub fn new(commands: &[usize]) -> Tally {
        let empty = |commands: &usize| ScriptTally {
            transactions: 0,
            latency: new_histogram(),
            commands: vec![CommandTally::default(); *commands],
        };
        Tally {
            start_ns: 0,
            late_ns: 0,
            stop_ns: 0,
            end_ns: 0,
            queue_ns: None,
            threads_ns: 0,
            transactions: 0,
            busy_ns: 0,
            latency_sum_ns: 0,
            latency_squares: 0.0,
            failed: 0,
            retried: 0,
            retries: 0,
            late_starts: 0,
            lag_sum_ns: 0,
            lag_max_ns: 0,
            skipped: 0,
            unstarted: 0,
            over_limit: 0,
            connections: 0,
            connect_ns: 0,
            debug_lines: Vec::new(),
            rows: 0,
            wrong_rows: 0,
            capped: 0,
            lost: 0,
            errors: BTreeMap::new(),
            reconnected: Vec::new(),
            scripts: commands.iter().map(empty).collect(),
            script_error: None,
            aborted: None,
        }
    }

    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        let mut scripts = std::mem::take(&mut self.scripts);
        for script in &mut scripts {
            if script.transactions > 0 {
                script.transactions = 0;
                script.latency.reset();
            }
            script.commands.fill(CommandTally::default());
        }
        *self = Tally {
            scripts,
            ..Tally::new(&[])
        };
    }

    /// One transaction that did its work.
    #[inline]
    pub fn count(&mut self, script: usize, latency_ns: u64) {
        self.transactions += 1;
        self.latency_sum_ns += latency_ns;
        self.latency_squares += latency_ns as f64 * latency_ns as f64;
        let script = &mut self.scripts[script];
        script.transactions += 1;
        script.latency.saturating_record(latency_ns.max(1));
    }

    /// One error, by its SQLSTATE.
    #[cold]
    pub fn count_error(&mut self, fault: &Fault) {
        let entry = self.errors.entry(fault.code.clone());
        entry.or_insert_with(|| (0, fault.message.clone())).0 += 1;
    }

    /// An error that ends the slice.
    #[cold]
    pub fn abort(&mut self, fault: &Fault) {
        let words = || format!("{} ({})", fault.message, fault.code);
        self.aborted.get_or_insert_with(words);
    }

    /// How late a transaction began.
    #[inline]
    pub fn count_lag(&mut self, lag_ns: u64) {
        self.lag_sum_ns += lag_ns;
        self.lag_max_ns = self.lag_max_ns.max(lag_ns);
    }

    /// A line of `debug()`.
    #[cold]
    pub fn add_debug_line(&mut self, line: String) {
        if self.debug_lines.len() < MOST_DEBUG_LINES {
            self.debug_lines.push(line);
        }
    }

    /// The counts so far.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            tick: 0,
            transactions: self.transactions,
            failed: self.failed,
            skipped: self.skipped,
            retried: self.retried,
            retries: self.retries,
            latency_sum_ns: self.latency_sum_ns,
            latency_squares: self.latency_squares,
            lag_sum_ns: self.lag_sum_ns,
        }
    }

    /// Adds what another thread counted in the same slice.
    pub fn merge(&mut self, other: &Tally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.late_ns = self.late_ns.max(other.late_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        let both = self.queue_ns.zip(other.queue_ns);
        self.queue_ns = both.map(|(one, another)| one + another);
        self.threads_ns += other.threads_ns;
        self.transactions += other.transactions;
        self.busy_ns += other.busy_ns;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency_squares += other.latency_squares;
        self.failed += other.failed;
        self.retried += other.retried;
        self.retries += other.retries;
        self.late_starts += other.late_starts;
        self.lag_sum_ns += other.lag_sum_ns;
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
        self.skipped += other.skipped;
        self.unstarted += other.unstarted;
        self.over_limit += other.over_limit;
        self.connections += other.connections;
        self.connect_ns += other.connect_ns;
        for words in &other.debug_lines {
            self.add_debug_line(words.clone());
        }
        self.rows += other.rows;
        self.wrong_rows += other.wrong_rows;
        self.capped += other.capped;
        self.lost += other.lost;
        for (code, (times, message)) in &other.errors {
            let entry = self.errors.entry(code.clone());
            entry.or_insert_with(|| (0, message.clone())).0 += times;
        }
        self.reconnected.extend_from_slice(&other.reconnected);
        for (ours, theirs) in self.scripts.iter_mut().zip(&other.scripts) {
            for (ours, theirs) in ours.commands.iter_mut().zip(&theirs.commands) {
                ours.add(theirs);
            }
            if theirs.transactions > 0 {
                ours.transactions += theirs.transactions;
                ours.latency
                    .add(&theirs.latency)
                    .expect("all histograms have one shape");
            }
        }
        if self.script_error.is_none() {
            self.script_error.clone_from(&other.script_error);
        }
        if self.aborted.is_none() {
            self.aborted.clone_from(&other.aborted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_takes_no_more_memory_than_is_said() {
        // As docs/reference/drive.md promises, for each script and thread.
        let mut histogram = new_histogram();
        let empty = histogram.distinct_values();
        for latency_ns in [1, 1_000_000, LONGEST_NS, u64::MAX] {
            histogram.saturating_record(latency_ns);
        }
        assert_eq!(histogram.distinct_values(), empty, "it never grows");
        assert!(empty * size_of::<u32>() <= 140 << 10, "{empty} counters");
    }
}
