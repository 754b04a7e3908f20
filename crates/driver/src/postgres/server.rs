//! Prepares what opening a connection to a PostgreSQL server depends on, by libpq's rules.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use steelyard_wire::{Binding, Credentials, Methods};

use crate::error::DriveError;
use crate::postgres::arm_plan::{ArmPlan, ChannelBinding};
use crate::tls::{Encryption, SslMode};

/// PostgreSQL's name in the TLS handshake (since 17).
pub const TLS_PROTOCOL: &[u8] = b"postgresql";
/// From the first byte to the first ReadyForQuery, where the plan names no time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);

/// Where a server listens.
#[derive(Clone, Debug)]
pub enum Address {
    /// A Unix socket in this directory.
    Local {
        directory: String,
        port: u16,
    },
    Remote {
        host: String,
        port: u16,
    },
}

impl Address {
    /// `host`: a socket directory (begins with `/`) or a host name.
    fn new(host: &str, port: u16) -> Address {
        let host = host.to_owned();
        match host.starts_with('/') {
            true => Address::Local {
                directory: host,
                port,
            },
            false => Address::Remote { host, port },
        }
    }

    pub fn socket_path(directory: &str, port: u16) -> PathBuf {
        PathBuf::from(format!("{directory}/.s.PGSQL.{port}"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Local { directory, port } => {
                let path = Address::socket_path(directory, *port);
                write!(out, "socket \"{}\"", path.display())
            }
            Address::Remote { host, port } => write!(out, "\"{host}\", port {port}"),
        }
    }
}

/// Everything that opening a connection depends on.
pub struct Server {
    pub address: Address,
    pub credentials: Credentials,
    pub binding: Binding,
    pub methods: Methods,
    pub encryption: Option<Encryption>,
    /// How long a connection may take until it is ready.
    pub patience: Duration,
}

/// Whether a connection is tried with encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionAttempt {
    Plain,
    /// In plain text where the server cannot encrypt.
    Preferred,
    Required,
}

impl Server {
    pub fn new(plan: &ArmPlan) -> Result<Server, DriveError> {
        let address = Address::new(&plan.host, plan.port);
        // PostgreSQL does not encrypt what goes through a Unix socket.
        let is_remote = matches!(address, Address::Remote { .. });
        let tls = plan.tls.as_ref().filter(|_| is_remote);
        let encryption = tls.map(|tls| Encryption::new(tls, Some(TLS_PROTOCOL)));
        Ok(Server {
            encryption: encryption.transpose()?,
            address,
            credentials: Credentials {
                user: plan.user.clone(),
                database: plan.database.clone(),
                password: plan.password.clone(),
                application_name: plan.application_name.clone(),
                options: plan.options.clone(),
                settings: plan.settings.clone(),
            },
            binding: match plan.channel_binding {
                ChannelBinding::Disable => Binding::Disable,
                ChannelBinding::Prefer => Binding::Prefer,
                ChannelBinding::Require => Binding::Require,
            },
            methods: match &plan.require_auth {
                Some(named) => Methods::parse(named)
                    .map_err(|error| DriveError::new("cannot connect").detail(error))?,
                None => Methods::default(),
            },
            patience: plan
                .connect_timeout_ns
                .map_or(HANDSHAKE_TIME, Duration::from_nanos),
        })
    }

    /// How connecting is tried, and how again where the server refuses the first.
    pub fn attempts(&self) -> &'static [EncryptionAttempt] {
        use EncryptionAttempt::{Plain, Preferred, Required};
        match self.encryption.as_ref().map(|encryption| encryption.mode) {
            None => &[Plain],
            Some(SslMode::Allow) => &[Plain, Required],
            Some(SslMode::Prefer) => &[Preferred, Plain],
            Some(_) => &[Required],
        }
    }
}
