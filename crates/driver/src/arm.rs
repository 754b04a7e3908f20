//! One arm as the driver sees it: where it listens, who connects, what weight it carries.

use std::sync::{Mutex, PoisonError};

use steelyard_wire::{simple_query, Session};

use crate::error::DriveError;
use crate::plan::{ArmPlan, Weight};
use crate::server::Server;

/// What all clients of an arm share.
pub struct Arm {
    pub name: String,
    pub server: Server,
    pub clients: usize,
    pub weight: Weight,
    /// Every transaction has a connection of its own.
    pub reconnects: bool,
    /// `SELECT pg_sleep(…)`, encoded; empty without a stall.
    pub stall: Vec<u8>,
    /// Process id and secret key of each client's backend: what a cancel request needs.
    sessions: Mutex<Vec<(i32, i32)>>,
    /// Protocol and cipher of the connection that was made last; none where it is not encrypted.
    encryption: Mutex<Option<String>>,
}

impl Arm {
    pub fn new(plan: &ArmPlan, reconnects: bool) -> Result<Arm, DriveError> {
        let name = &plan.name;
        if plan.clients == 0 {
            return Err(DriveError::new(format!("arm \"{name}\" has no clients")));
        }
        let share = 0.0..1.0;
        if !share.contains(&plan.weight.twice) || !share.contains(&plan.weight.stall) {
            return Err(
                DriveError::new(format!("weight of arm \"{name}\" is not a probability"))
                    .hint("A weight is at least 0 and less than 1."),
            );
        }
        let seconds = plan.weight.stall_ns as f64 / 1e9;
        let stall = simple_query(&format!("SELECT pg_catalog.pg_sleep({seconds})"))
            .map_err(|error| DriveError::new("cannot encode the stall").detail(error))?;
        Ok(Arm {
            name: plan.name.clone(),
            server: Server::new(plan)?,
            clients: plan.clients,
            weight: plan.weight,
            reconnects,
            stall,
            sessions: Mutex::new(vec![(0, 0); plan.clients]),
            encryption: Mutex::default(),
        })
    }

    /// Notes whose backend serves a client now, and what its bytes go through.
    pub fn note_session(&self, client: usize, session: &Session, encryption: Option<String>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions[client] = (session.process_id, session.secret_key);
        let mut noted = self
            .encryption
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *noted = encryption;
    }

    /// Protocol and cipher of its connections, where they are encrypted.
    pub fn encryption(&self) -> Option<String> {
        self.encryption
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The backends that serve its clients.
    pub fn sessions(&self) -> Vec<(i32, i32)> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions
            .iter()
            .copied()
            .filter(|&(pid, _)| pid != 0)
            .collect()
    }
}
