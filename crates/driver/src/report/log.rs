//! Logs transactions in pgbench's two formats, so that its tools can read them.
//!
//! pgbench's documentation, "Per-Transaction Logging" and "Aggregated Logging": one file a thread;
//! times are microseconds.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use steelyard_script::Random;

use crate::client::Client;
use crate::clock::now_ns;
use crate::plan::{LogPlan, Plan};
use crate::protocol::Protocol;
use crate::report::interval::Interval;

/// Text that is kept before it is written.
const BUFFER: usize = 64 << 10;

/// The log of one thread.
pub struct Log {
    file: File,
    text: String,
    /// The first error of writing; nothing is written after it.
    failed: Option<io::Error>,
    /// Realtime minus monotonic clock.
    epoch_shift_ns: u64,
    /// Transactions of each client so far.
    counts: Vec<u64>,
    sampling: Option<(f64, Random)>,
    detailed: bool,
    retries: bool,
    /// Whether transactions arrive, and so may lag behind.
    lags: bool,
    interval: Option<Interval>,
}

impl Log {
    /// Creates the file of a thread with so many clients.
    pub fn create<A>(
        log: &LogPlan,
        plan: &Plan<A>,
        thread: usize,
        clients: usize,
    ) -> io::Result<Log> {
        let path = match thread {
            0 => log.path.clone(),
            _ => format!("{}.{thread}", log.path),
        };
        let real = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(io::Error::other)?;
        let epoch_shift_ns = (real.as_nanos() as u64).saturating_sub(now_ns());
        let stream = Random::new(plan.seed ^ (thread as u64).rotate_right(8) ^ 0x6c6f67);
        Ok(Log {
            file: File::create(path)?,
            text: String::with_capacity(BUFFER + 1024),
            failed: None,
            epoch_shift_ns,
            counts: vec![0; clients],
            sampling: log.sampling.map(|share| (share, stream)),
            detailed: log.failures_detailed,
            retries: plan.max_tries != 1,
            lags: false,
            interval: log
                .aggregate_s
                .map(|seconds| Interval::new(seconds, log.other_failures)),
        })
    }

    /// A slice begins; `lags`: its transactions arrive at a rate.
    pub fn begin(&mut self, start_ns: u64, lags: bool) {
        self.lags = lags;
        let start_us = (start_ns + self.epoch_shift_ns) / 1000;
        if let Some(interval) = &mut self.interval {
            interval.begin(start_us);
        }
    }

    /// A transaction that ended now; without a latency, it failed.
    #[cold]
    pub fn transaction<P: Protocol>(
        &mut self,
        client: &Client<P>,
        now_ns: u64,
        latency_ns: Option<u64>,
    ) {
        let failure = client.failure.name();
        let outcome = match latency_ns {
            Some(_) => Outcome::Worked,
            None if self.detailed => Outcome::Failed(failure),
            None => Outcome::Failed("failed"),
        };
        let latency_us = latency_ns.unwrap_or(0) as f64 / 1e3;
        if let Some(interval) = self.current_interval(now_ns) {
            let lag_us = client.lag_ns as f64 / 1e3;
            interval.add(
                latency_ns.map(|_| (latency_us, lag_us)),
                failure,
                client.tries - 1,
            );
            return self.flush_when_full();
        }
        self.line(client, now_ns, outcome, latency_us);
    }

    /// An arrival that was too late, and never began.
    #[cold]
    pub fn skipped<P: Protocol>(&mut self, client: &Client<P>, now_ns: u64) {
        if let Some(interval) = self.current_interval(now_ns) {
            interval.skip();
            return self.flush_when_full();
        }
        self.line(client, now_ns, Outcome::Failed("skipped"), 0.0);
    }

    /// The interval that a moment is in, once all before it are written; None: no aggregates.
    fn current_interval(&mut self, now_ns: u64) -> Option<&mut Interval> {
        let interval = self.interval.as_mut()?;
        interval.advance(
            (now_ns + self.epoch_shift_ns) / 1000,
            self.lags,
            self.retries,
            self.detailed,
            &mut self.text,
        );
        Some(interval)
    }

    fn line<P: Protocol>(
        &mut self,
        client: &Client<P>,
        now_ns: u64,
        outcome: Outcome,
        latency_us: f64,
    ) {
        let count = &mut self.counts[client.index];
        *count += 1;
        if let Some((share, random)) = &mut self.sampling {
            if random.uniform_f64() > *share {
                return;
            }
        }
        let now_us = (now_ns + self.epoch_shift_ns) / 1000;
        let (seconds, microseconds) = (now_us / 1_000_000, now_us % 1_000_000);
        let text = &mut self.text;
        // Writing into a String cannot fail.
        let _ = write!(text, "{} {count} ", client.number);
        let _ = match outcome {
            Outcome::Worked => write!(text, "{latency_us:.0}"),
            Outcome::Failed(how) => write!(text, "{how}"),
        };
        let _ = write!(text, " {} {seconds} {microseconds}", client.script);
        if self.lags {
            let _ = write!(text, " {:.0}", client.lag_ns as f64 / 1e3);
        }
        if self.retries {
            let _ = write!(text, " {}", client.tries - 1);
        }
        text.push('\n');
        self.flush_when_full();
    }

    fn flush_when_full(&mut self) {
        if self.text.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(self.text.as_bytes()).err();
        }
        self.text.clear();
    }

    /// A slice has ended: what is complete is written. Err: the first thing that could not be.
    pub fn end(&mut self, now_ns: u64) -> io::Result<()> {
        self.current_interval(now_ns);
        self.flush();
        self.failed.take().map_or(Ok(()), Err)
    }
}

enum Outcome {
    Worked,
    Failed(&'static str),
}
