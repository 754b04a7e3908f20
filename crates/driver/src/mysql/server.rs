//! Prepares what opening a connection to a MySQL or MariaDB server depends on.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use steelyard_mysql_wire::Credentials;

use crate::error::DriveError;
use crate::mysql::ArmPlan;
use crate::tls::Encryption;

/// From the first byte to the first acknowledgement, where the plan names no time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);

/// Where a server listens.
#[derive(Clone, Debug)]
pub enum Address {
    /// A Unix socket.
    Local(PathBuf),
    Remote {
        host: String,
        port: u16,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Local(path) => write!(out, "socket \"{}\"", path.display()),
            Address::Remote { host, port } => write!(out, "\"{host}\", port {port}"),
        }
    }
}

/// Everything that opening a connection depends on.
pub struct Server {
    pub address: Address,
    pub credentials: Credentials,
    /// Statements that every session begins with.
    pub session: Vec<String>,
    pub encryption: Option<Encryption>,
    /// How long a connection may take until it is ready.
    pub patience: Duration,
}

impl Server {
    pub fn new(plan: &ArmPlan) -> Result<Server, DriveError> {
        let address = match plan.host.starts_with('/') {
            true => Address::Local(PathBuf::from(&plan.host)),
            false => Address::Remote {
                host: plan.host.clone(),
                port: plan.port,
            },
        };
        // What goes through a Unix socket cannot be intercepted, so it is not encrypted.
        let is_remote = matches!(address, Address::Remote { .. });
        let tls = plan.tls.as_ref().filter(|_| is_remote);
        Ok(Server {
            encryption: tls.map(|tls| Encryption::new(tls, None)).transpose()?,
            address,
            credentials: Credentials {
                user: plan.user.clone(),
                database: plan.database.clone(),
                password: plan.password.clone(),
                program: plan.program.clone(),
            },
            session: plan.session.clone(),
            patience: plan
                .connect_timeout_ns
                .map_or(HANDSHAKE_TIME, Duration::from_nanos),
        })
    }
}
