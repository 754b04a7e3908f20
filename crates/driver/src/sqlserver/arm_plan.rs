//! Defines the JSON of an arm on SQL Server: how it is reached, and its load.

use serde::Deserialize;

use crate::plan::Weight;
use crate::protocol::ArmLoad;
use crate::tls::TlsPlan;

/// One arm of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmPlan {
    pub name: String,
    /// A host name or an address.
    pub host: String,
    #[serde(default = "default_port")]
    pub port: u16,
    pub user: String,
    /// Empty: the user's own.
    #[serde(default)]
    pub database: String,
    #[serde(default)]
    pub password: String,
    #[serde(default = "default_program")]
    pub program: String,
    /// Statements that every session begins with.
    #[serde(default)]
    pub session: Vec<String>,
    /// How connections are encrypted; in plain text without. `direct`: from the first byte, which
    /// is TDS 8.0.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    /// How long a connection may take until it is ready for a statement.
    #[serde(default)]
    pub connect_timeout_ns: Option<u64>,
    pub clients: usize,
    #[serde(default)]
    pub weight: Weight,
}

fn default_port() -> u16 {
    1433
}

fn default_program() -> String {
    "steelyard".to_owned()
}

impl ArmLoad for ArmPlan {
    fn name(&self) -> &str {
        &self.name
    }

    fn clients(&self) -> usize {
        self.clients
    }

    fn weight(&self) -> Weight {
        self.weight
    }
}
