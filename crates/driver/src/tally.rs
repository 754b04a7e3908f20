//! What one thread counts during one slice.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

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
}

/// Counts of one slice; used again for the next one.
pub struct Tally {
    /// When this thread began; the least of all threads in a merged tally.
    pub start_ns: u64,
    /// When its last client was back; the greatest of all threads in a merged tally.
    pub end_ns: u64,
    pub transactions: u64,
    /// Sum over clients of the time from the start to the end of its last transaction.
    pub busy_ns: u64,
    pub latency_sum_ns: u64,
    pub failed: u64,
    /// Rows that the counted transactions returned, in all.
    pub rows: u64,
    pub wrong_rows: u64,
    /// Clients that were not back at the cap.
    pub capped: u64,
    /// Clients without a connection at the end of the slice.
    pub lost: u64,
    /// By SQLSTATE: how often, and the words of the first.
    pub errors: BTreeMap<String, (u64, String)>,
    /// New connections: client and backend process id.
    pub reconnected: Vec<(usize, i32)>,
    pub scripts: Vec<ScriptTally>,
    /// A script that cannot go on: ends the driver.
    pub broken: Option<String>,
}

impl Tally {
    pub fn new(scripts: usize) -> Tally {
        let empty = || ScriptTally {
            transactions: 0,
            latency: new_histogram(),
        };
        Tally {
            start_ns: 0,
            end_ns: 0,
            transactions: 0,
            busy_ns: 0,
            latency_sum_ns: 0,
            failed: 0,
            rows: 0,
            wrong_rows: 0,
            capped: 0,
            lost: 0,
            errors: BTreeMap::new(),
            reconnected: Vec::new(),
            scripts: (0..scripts).map(|_| empty()).collect(),
            broken: None,
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
        }
        *self = Tally {
            scripts,
            ..Tally::new(0)
        };
    }

    /// One transaction that did its work.
    #[inline]
    pub fn count(&mut self, script: usize, latency_ns: u64) {
        self.transactions += 1;
        self.latency_sum_ns += latency_ns;
        let script = &mut self.scripts[script];
        script.transactions += 1;
        script.latency.saturating_record(latency_ns.max(1));
    }

    /// One error, by its SQLSTATE.
    #[cold]
    pub fn count_error(&mut self, sqlstate: &str, message: &str) {
        let entry = self.errors.entry(sqlstate.to_owned());
        entry.or_insert_with(|| (0, message.to_owned())).0 += 1;
    }

    /// Adds what another thread counted in the same slice.
    pub fn merge(&mut self, other: &Tally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.transactions += other.transactions;
        self.busy_ns += other.busy_ns;
        self.latency_sum_ns += other.latency_sum_ns;
        self.failed += other.failed;
        self.rows += other.rows;
        self.wrong_rows += other.wrong_rows;
        self.capped += other.capped;
        self.lost += other.lost;
        for (sqlstate, (times, message)) in &other.errors {
            let entry = self.errors.entry(sqlstate.clone());
            entry.or_insert_with(|| (0, message.clone())).0 += times;
        }
        self.reconnected.extend_from_slice(&other.reconnected);
        for (ours, theirs) in self.scripts.iter_mut().zip(&other.scripts) {
            if theirs.transactions > 0 {
                ours.transactions += theirs.transactions;
                ours.latency
                    .add(&theirs.latency)
                    .expect("all histograms have one shape");
            }
        }
        if self.broken.is_none() {
            self.broken.clone_from(&other.broken);
        }
    }
}
