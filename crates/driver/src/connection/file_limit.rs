//! Raises this process's limit of open files to what a plan needs, before the first connection.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::error::DriveError;
use crate::plan::Plan;
use crate::protocol::ArmLoad;

/// Of each thread and arm: a ring or an epoll instance, a timer, an event, a log.
const OF_A_CLIENT_GROUP: usize = 5;
/// Standard streams, a watch on the parent, connections for cancelling, what the program brought.
const OF_THE_PROCESS: usize = 64;

fn clients<A: ArmLoad>(plan: &Plan<A>) -> usize {
    plan.arms.iter().map(ArmLoad::clients).sum()
}

/// How many files a plan holds open at once.
fn needed<A: ArmLoad>(plan: &Plan<A>) -> usize {
    clients(plan) + plan.threads * plan.arms.len() * OF_A_CLIENT_GROUP + OF_THE_PROCESS
}

/// Raises the limit where it is too low. An ordinary user cannot go beyond the hard limit: that is
/// an error here, before some of many connections are made.
pub fn raise_file_limit<A: ArmLoad>(plan: &Plan<A>) -> Result<(), DriveError> {
    let needed = needed(plan) as u64;
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let had = limit.current.unwrap_or(u64::MAX);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if had >= needed {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum.map(|most| most.max(needed)),
    };
    let Err(why) = setrlimit(Resource::Nofile, raised) else {
        return Ok(());
    };
    let why = std::io::Error::from(why);
    let clients = clients(plan);
    Err(DriveError::new(format!(
        "could not provide for {clients} connections: this process may open {had} files, and at \
         most {most}"
    ))
    .detail(format!("{needed} are needed: {why}."))
    .hint(format!(
        "Use fewer clients, or raise the hard limit: `ulimit -Hn {needed}` as root, \
         LimitNOFILE={needed} of a service, `--ulimit nofile={needed}` of a container."
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::postgres::ArmPlan;

    #[test]
    fn connections_of_all_arms_are_counted() {
        let arm = |clients: usize| {
            json!({"name": "a", "host": "/tmp", "port": 1, "user": "u", "database": "d",
                   "clients": clients})
        };
        let plan: Plan<ArmPlan> = serde_json::from_value(json!({
            "threads": 2, "scripts": [], "arms": [arm(10_000), arm(5)],
        }))
        .unwrap();
        assert_eq!(
            needed(&plan),
            10_005 + 2 * 2 * OF_A_CLIENT_GROUP + OF_THE_PROCESS
        );
    }

    #[test]
    fn more_than_the_system_has_is_refused_before_anything_is_opened() {
        let plan: Plan<ArmPlan> = serde_json::from_value(json!({
            "threads": 1, "scripts": [],
            "arms": [{"name": "a", "host": "/tmp", "port": 1, "user": "u", "database": "d",
                      "clients": 1_u64 << 40}],
        }))
        .unwrap();
        let refused = raise_file_limit(&plan).unwrap_err();
        assert!(refused
            .primary
            .starts_with("could not provide for 1099511627776 connections"));
        assert!(refused.hint.is_some());
    }
}
