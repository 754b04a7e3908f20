//! One arm as the driver sees it: where it listens, who connects, what weight it carries.

use steelyard_wire::{simple_query, Credentials};

use crate::error::DriveError;
use crate::plan::{ArmPlan, Weight};
use crate::socket::Target;

/// What all clients of an arm share.
pub struct Arm {
    pub name: String,
    pub target: Target,
    pub credentials: Credentials,
    pub clients: usize,
    pub weight: Weight,
    /// `SELECT pg_sleep(…)`, encoded; empty without a stall.
    pub stall: Vec<u8>,
}

impl Arm {
    pub fn new(plan: &ArmPlan) -> Result<Arm, DriveError> {
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
            target: Target {
                host: plan.host.clone(),
                port: plan.port,
            },
            credentials: Credentials {
                user: plan.user.clone(),
                database: plan.database.clone(),
                password: plan.password.clone(),
                application_name: "steelyard".to_owned(),
            },
            clients: plan.clients,
            weight: plan.weight,
            stall,
        })
    }
}
