//! Defines the JSON of an arm on PostgreSQL: how it is reached, with libpq's options, and its load.

use serde::Deserialize;

use crate::plan::Weight;
use crate::protocol::ArmLoad;
use crate::tls::TlsPlan;

/// One arm of a plan.
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
    /// Settings of its sessions, as libpq's `options`.
    #[serde(default)]
    pub options: String,
    /// Settings by name that its sessions begin with.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    #[serde(default = "default_name")]
    pub application_name: String,
    /// How connections are encrypted; not at all without.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    #[serde(default)]
    pub channel_binding: ChannelBinding,
    /// The authentication methods that are accepted, as libpq's `require_auth`.
    #[serde(default)]
    pub require_auth: Option<String>,
    /// How long a connection may take until it is ready for a query.
    #[serde(default)]
    pub connect_timeout_ns: Option<u64>,
    pub clients: usize,
    #[serde(default)]
    pub weight: Weight,
}

fn default_name() -> String {
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

/// Whether authentication is bound to the encrypted connection, as libpq's `channel_binding`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ChannelBinding {
    Disable,
    #[default]
    Prefer,
    Require,
}
