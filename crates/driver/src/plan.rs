//! What the driver is asked, as it stands in JSON: one plan, then commands.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// The first line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    pub plan: Plan,
}

/// Everything that stays the same for all slices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub threads: usize,
    /// Thread i is pinned to `processors[i % n]`; free without.
    #[serde(default)]
    pub processors: Option<Vec<usize>>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub mode: Mode,
    /// How long after the bell the last client is waited for.
    #[serde(default = "default_drain_cap_ns")]
    pub drain_cap_ns: u64,
    #[serde(default)]
    pub io: Io,
    pub scripts: Vec<ScriptPlan>,
    #[serde(default)]
    pub variables: Map<String, Json>,
    pub arms: Vec<ArmPlan>,
}

fn default_drain_cap_ns() -> u64 {
    5_000_000_000
}

/// How the bytes of connections come and go; `Auto`: by io_uring where the kernel lets.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Io {
    #[default]
    Auto,
    Epoll,
    #[serde(rename = "io_uring")]
    Ring,
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmPlan {
    pub name: String,
    /// A socket directory (begins with `/`) or a host name.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    #[serde(default)]
    pub password: Option<String>,
    pub clients: usize,
    #[serde(default)]
    pub weight: Weight,
}

/// A known slowdown put on an arm.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Weight {
    /// Probability that a transaction is executed twice and counted once.
    pub twice: f64,
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
    /// By time: the bell. By count: the bell rings then at the latest.
    #[serde(default)]
    pub length_ns: Option<u64>,
    /// Executions in all.
    #[serde(default)]
    pub count: Option<u64>,
    /// Echoed.
    #[serde(default)]
    pub tag: Json,
}
