//! Prepares what opening a connection to SQL Server depends on.

use std::time::Duration;

use steelyard_tds_wire::{Credentials, Privacy};

use crate::error::DriveError;
use crate::sqlserver::ArmPlan;
use crate::tls::{Encryption, TlsPlan, TlsVersion};

/// From the first byte to the answer to the login, where the plan names no time.
const LOGIN_TIME: Duration = Duration::from_secs(20);
/// What is spoken inside of TLS that begins at once.
const APPLICATION_PROTOCOL: &[u8] = b"tds/8.0";

/// Everything that opening a connection depends on.
pub struct Server {
    pub host: String,
    pub port: u16,
    pub credentials: Credentials,
    /// Statements that every session begins with.
    pub session: Vec<String>,
    pub privacy: Privacy,
    /// There is one, unless everything goes in plain text.
    pub encryption: Option<Encryption>,
    /// How long a connection may take until it is ready.
    pub patience: Duration,
}

impl Server {
    pub fn new(plan: &ArmPlan) -> Result<Server, DriveError> {
        let privacy = match &plan.tls {
            None => Privacy::None,
            Some(tls) if tls.direct => Privacy::Strict,
            Some(_) => Privacy::Encrypted,
        };
        let protocol = (privacy == Privacy::Strict).then_some(APPLICATION_PROTOCOL);
        let tls = plan.tls.clone().map(in_packets);
        let encryption = tls.map(|tls| Encryption::new(&tls, protocol));
        Ok(Server {
            host: plan.host.clone(),
            port: plan.port,
            credentials: Credentials {
                user: plan.user.clone(),
                database: plan.database.clone(),
                password: plan.password.clone(),
                server: plan.host.clone(),
                program: plan.program.clone(),
            },
            session: plan.session.clone(),
            privacy,
            encryption: encryption.transpose()?,
            patience: plan
                .connect_timeout_ns
                .map_or(LOGIN_TIME, Duration::from_nanos),
        })
    }
}

/// TLS inside of packets ends with 1.2: 1.3 sends more after its handshake, of which the servers
/// do not say whether it goes in packets; with them, too, 1.3 begins with TDS 8.0.
fn in_packets(mut tls: TlsPlan) -> TlsPlan {
    if !tls.direct {
        tls.most_version = Some(TlsVersion::V1_2);
    }
    tls
}
