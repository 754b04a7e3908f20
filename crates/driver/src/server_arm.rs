//! Defines the JSON of an arm that an address, a user and a password reach, and its load.

use serde::Deserialize;

use crate::plan::Weight;
use crate::protocol::ArmLoad;
use crate::tls::TlsPlan;

/// One arm of a plan, on a server whose port is `PORT` where the plan names none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerArm<const PORT: u16> {
    pub name: String,
    /// A host name, an address, or, of MySQL, the path of a socket (begins with `/`).
    pub host: String,
    #[serde(default = "default_port::<PORT>")]
    pub port: u16,
    pub user: String,
    /// Empty: the user's own, or none.
    #[serde(default)]
    pub database: String,
    #[serde(default)]
    pub password: String,
    #[serde(default = "default_program")]
    pub program: String,
    /// Statements that every session begins with.
    #[serde(default)]
    pub session: Vec<String>,
    /// How connections are encrypted; not at all without. `direct`, of SQL Server: from the first
    /// byte, which is TDS 8.0.
    #[serde(default)]
    pub tls: Option<TlsPlan>,
    /// How long a connection may take until it is ready for a statement.
    #[serde(default)]
    pub connect_timeout_ns: Option<u64>,
    pub clients: usize,
    #[serde(default)]
    pub weight: Weight,
}

fn default_port<const PORT: u16>() -> u16 {
    PORT
}

fn default_program() -> String {
    "steelyard".to_owned()
}

impl<const PORT: u16> ArmLoad for ServerArm<PORT> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_that_is_not_named_is_its_products() {
        let plan = json!({"name": "a", "host": "h", "user": "u", "clients": 1});
        let arm: ServerArm<3306> = serde_json::from_value(plan.clone()).unwrap();
        assert_eq!((arm.port, arm.program.as_str()), (3306, "steelyard"));
        let arm: ServerArm<1433> = serde_json::from_value(plan).unwrap();
        assert_eq!(arm.port, 1433);
    }
}
