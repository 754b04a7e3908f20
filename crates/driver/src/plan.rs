//! Defines the JSON that the driver reads: one plan, then commands.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::slice::replay::Replay;

/// The first line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening<A> {
    /// Read before everything else, by [`Spoken`].
    #[serde(default, rename = "protocol")]
    pub _protocol: ProtocolName,
    pub plan: Plan<A>,
}

/// As much of the first line as says how the rest of it is to be read.
#[derive(Debug, Default, Deserialize)]
pub struct Spoken {
    #[serde(default)]
    pub protocol: ProtocolName,
}

/// What the servers of a plan speak.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolName {
    #[default]
    Postgres,
    /// MariaDB's too.
    Mysql,
    SqlServer,
}

/// Everything that stays the same for all slices; `A`: an arm, as its protocol describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan<A> {
    pub threads: usize,
    /// Thread i is pinned to `processors[i % n]`; free without.
    #[serde(default)]
    pub processors: Option<Vec<usize>>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub mode: Mode,
    /// The number of the first client among those of all machines that put on the same load: keys,
    /// orders and `client_id` follow from it.
    #[serde(default)]
    pub first_client: usize,
    /// How long after the end of a slice its last client is waited for.
    #[serde(default = "default_drain_cap_ns")]
    pub drain_cap_ns: u64,
    #[serde(default)]
    pub io: Io,
    /// How often a transaction that failed to serialize or was in a deadlock is tried; 0: until
    /// the end of the slice.
    #[serde(default = "once")]
    pub max_tries: u32,
    /// Transactions that take longer are counted, and those that would begin later are skipped.
    #[serde(default)]
    pub latency_limit_ns: Option<u64>,
    /// Every transaction has a connection of its own.
    #[serde(default)]
    pub connect: bool,
    /// What ends a slice early.
    #[serde(default)]
    pub abort: AbortRule,
    /// Every command is timed too.
    #[serde(default)]
    pub timed: bool,
    /// Every transaction is written down, in pgbench's format.
    #[serde(default)]
    pub log: Option<LogPlan>,
    pub scripts: Vec<ScriptPlan>,
    /// Scripts by number in the order in which a client goes through them, over and over: client k
    /// takes list k mod n. None: each transaction draws its script by weight.
    #[serde(default)]
    pub orders: Vec<Vec<usize>>,
    /// Transactions that arrive when recorded ones did, in slices that say from where on.
    #[serde(default)]
    pub replay: Option<Replay>,
    #[serde(default)]
    pub variables: Map<String, Json>,
    /// Rows that scripts draw from, by name; a field is a text, or null.
    #[serde(default)]
    pub tables: BTreeMap<String, Vec<Vec<Option<String>>>>,
    /// Small files that are read before and after every slice.
    #[serde(default)]
    pub files: Vec<String>,
    pub arms: Vec<A>,
}

fn default_drain_cap_ns() -> u64 {
    5_000_000_000
}

/// How the bytes of connections come and go; `Auto`: by io_uring where the kernel permits it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    #[default]
    Auto,
    Epoll,
    #[serde(rename = "io_uring")]
    Ring,
}

/// What a client may not meet, else the slice ends for all of them.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum AbortRule {
    #[default]
    Never,
    /// The loss of its connection.
    Lost,
    /// That, or an error other than a serialization failure or a deadlock.
    Failed,
}

fn once() -> u32 {
    1
}

/// Where a log goes, and what it holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPlan {
    /// Files are `PATH` for the first thread, and `PATH.1`, `PATH.2` … for the others.
    pub path: String,
    /// Totals of so many seconds, instead of single transactions.
    #[serde(default)]
    pub aggregate_s: Option<u64>,
    /// The share of transactions that is written.
    #[serde(default)]
    pub sampling: Option<f64>,
    /// Failures are named by their kind.
    #[serde(default)]
    pub failures_detailed: bool,
    /// Totals count failures of other kinds too, in a column that pgbench has from 19 on.
    #[serde(default)]
    pub other_failures: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Simple,
    Extended,
    #[default]
    Prepared,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptPlan {
    pub name: String,
    pub text: String,
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// Rows that each transaction must return in all; not checked without.
    #[serde(default)]
    pub rows: Option<u64>,
}

fn default_weight() -> u32 {
    1
}

/// A known slowdown put on an arm.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weight {
    /// Probability that a transaction is executed twice and counted once.
    pub double_work: f64,
    /// Probability that a transaction sleeps in the server first.
    pub stall: f64,
    pub stall_ns: u64,
}

/// Every later line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    Slices(Vec<SlicePlan>),
    End(bool),
}

/// One arm under load, by time or by count.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlicePlan {
    pub arm: usize,
    /// When no more transactions start: at that time, or by count at the latest.
    #[serde(default)]
    pub length_ns: Option<u64>,
    /// Executions in all.
    #[serde(default)]
    pub count: Option<u64>,
    /// Executions of each client.
    #[serde(default)]
    pub each: Option<u64>,
    /// Transactions that arrive in a second, whether or not earlier ones are done; without, a
    /// client begins its next one when it is done.
    #[serde(default)]
    pub rate: Option<f64>,
    /// From where on recorded transactions arrive, in ns after the first of them.
    #[serde(default)]
    pub from_ns: Option<u64>,
    /// How often the counts so far are answered.
    #[serde(default)]
    pub progress_ns: Option<u64>,
    /// When its threads begin, on CLOCK_MONOTONIC of this machine; at once without.
    #[serde(default)]
    pub begin_ns: Option<u64>,
    /// Echoed.
    #[serde(default)]
    pub tag: Json,
}
