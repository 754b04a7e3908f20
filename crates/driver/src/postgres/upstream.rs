//! Opens connections to a server over which another one speaks: no message of PostgreSQL's own
//! protocol is sent on them.

use std::fmt;
use std::time::Instant;

use crate::connection::socket::Socket;
use crate::error::DriveError;
use crate::postgres::arm_plan::ArmPlan;
use crate::postgres::connect::{open, ConnectError};
use crate::postgres::server::Server;
use crate::tls::TlsSession;

/// Why a server cannot be reached.
pub type UpstreamError = ConnectError;

/// A server, and how connections to it are encrypted.
pub struct Upstream(Server);

impl Upstream {
    /// `arm`: JSON as in a plan, of which address, encryption and patience count.
    pub fn new(arm: &str) -> Result<Upstream, DriveError> {
        let plan: ArmPlan = serde_json::from_str(arm)
            .map_err(|error| DriveError::new("invalid arm").detail(error))?;
        Ok(Upstream(Server::new(&plan)?))
    }

    /// A connection that blocks, as `sslmode` says: `allow` is plain, and `prefer` is encrypted
    /// where the server does that.
    pub fn open(&self) -> Result<(Socket, Option<Box<TlsSession>>), UpstreamError> {
        let deadline = Instant::now() + self.0.patience;
        let mut last = ConnectError::Unencrypted;
        for &attempt in self.0.attempts() {
            match open(&self.0, attempt, deadline) {
                Ok(stream) => return Ok((stream.socket, stream.tls)),
                Err(error) => last = error.timed(self.0.patience),
            }
            if !matches!(last, ConnectError::Tls(_)) {
                break;
            }
        }
        Err(last)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.address.fmt(out)
    }
}
