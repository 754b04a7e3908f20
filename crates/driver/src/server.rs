//! A server as the driver reaches it: where it listens, who connects, how, and for how long it is
//! waited for.

use std::time::Duration;

use steelyard_wire::{Binding, Credentials, Methods};

use crate::error::DriveError;
use crate::plan::{ArmPlan, ChannelBinding};
use crate::socket::Target;
use crate::tls::{Encryption, SslMode};

/// From the first byte to the first ReadyForQuery, where nothing else is said.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);

/// Everything that opening a connection depends on.
pub struct Server {
    pub target: Target,
    pub credentials: Credentials,
    pub binding: Binding,
    pub methods: Methods,
    pub encryption: Option<Encryption>,
    /// How long a connection may take until it is ready.
    pub patience: Duration,
}

/// Whether a connection is tried with encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    Plain,
    /// In plain text where the server cannot encrypt.
    Offered,
    Demanded,
}

impl Server {
    pub fn new(plan: &ArmPlan) -> Result<Server, DriveError> {
        let target = Target {
            host: plan.host.clone(),
            port: plan.port,
        };
        // What goes through a Unix socket is seen by nobody: PostgreSQL does not encrypt it.
        let asked = plan.tls.as_ref().filter(|_| !target.is_local());
        Ok(Server {
            encryption: asked.map(Encryption::new).transpose()?,
            target,
            credentials: Credentials {
                user: plan.user.clone(),
                database: plan.database.clone(),
                password: plan.password.clone(),
                application_name: plan.application_name.clone(),
                options: plan.options.clone(),
            },
            binding: match plan.channel_binding {
                ChannelBinding::Disable => Binding::Disable,
                ChannelBinding::Prefer => Binding::Prefer,
                ChannelBinding::Require => Binding::Require,
            },
            methods: match &plan.require_auth {
                Some(said) => Methods::parse(said)
                    .map_err(|error| DriveError::new("cannot connect").detail(error))?,
                None => Methods::default(),
            },
            patience: plan
                .connect_timeout_ns
                .map_or(HANDSHAKE_TIME, Duration::from_nanos),
        })
    }

    /// How connecting is tried, and how again where the server refuses the first.
    pub fn covers(&self) -> &'static [Cover] {
        match self.encryption.as_ref().map(|encryption| encryption.mode) {
            None => &[Cover::Plain],
            Some(SslMode::Allow) => &[Cover::Plain, Cover::Demanded],
            Some(SslMode::Prefer) => &[Cover::Offered, Cover::Plain],
            Some(_) => &[Cover::Demanded],
        }
    }
}
