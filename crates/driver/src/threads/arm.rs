//! Holds what the clients of an arm share: the server, its weight, the open connections.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::cancellation::Cancellable;
use crate::error::DriveError;
use crate::plan::Weight;
use crate::protocol::{ArmLoad, Protocol};

/// What all clients of an arm share.
pub struct Arm<P: Protocol> {
    pub name: String,
    pub server: P::Server,
    pub clients: usize,
    pub weight: Weight,
    /// Every transaction has a connection of its own.
    pub reconnects: bool,
    /// The statement of a stalled transaction, which sleeps in the server.
    pub stall: P::Statement,
    /// The connection of each client, for cancelling.
    sessions: Mutex<Vec<Option<P::Session>>>,
    /// Protocol and cipher of the connection that was made last; none where it is not encrypted.
    encryption: Mutex<Option<String>>,
}

impl<P: Protocol> Arm<P> {
    pub fn new(plan: &P::ArmPlan, reconnects: bool) -> Result<Arm<P>, DriveError> {
        let (name, clients, weight) = (plan.name(), plan.clients(), plan.weight());
        if clients == 0 {
            return Err(DriveError::new(format!("arm \"{name}\" has no clients")));
        }
        let share = 0.0..1.0;
        if !share.contains(&weight.double_work) || !share.contains(&weight.stall) {
            return Err(
                DriveError::new(format!("weight of arm \"{name}\" is not a probability"))
                    .hint("A weight is at least 0 and less than 1."),
            );
        }
        Ok(Arm {
            name: name.to_owned(),
            server: P::server(plan)?,
            clients,
            weight,
            reconnects,
            stall: P::stall(weight.stall_ns as f64 / 1e9),
            sessions: Mutex::new(vec![None; clients]),
            encryption: Mutex::default(),
        })
    }

    /// Notes a client's new connection, and how it is encrypted.
    pub fn note_session(&self, client: usize, session: P::Session, encryption: Option<String>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions[client] = Some(session);
        let mut noted = self
            .encryption
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *noted = encryption;
    }

    /// The connection that a client had last.
    pub fn session(&self, client: usize) -> Option<P::Session> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)[client]
    }

    /// Protocol and cipher of its connections, where they are encrypted.
    pub fn encryption(&self) -> Option<String> {
        self.encryption
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl<P: Protocol> Cancellable for Arm<P> {
    fn cancel_all(&self, deadline: Instant) {
        let sessions = self
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for session in sessions.iter().flatten() {
            // A server that is gone does nothing any more.
            if Instant::now() >= deadline || P::cancel(&self.server, session).is_err() {
                return;
            }
        }
    }
}
