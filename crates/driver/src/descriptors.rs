//! File descriptors: as many as a plan needs, before the first connection is made.

use std::io;

use crate::error::DriveError;
use crate::plan::Plan;

/// Of each thread and arm: a ring or an epoll instance, an alarm, a bell, a log.
const OF_A_CREW: usize = 5;
/// Standard streams, listening for the end, connections for cancelling, what the program brought.
const OF_THE_PROCESS: usize = 64;

/// How many files a plan holds open at once.
fn needed(plan: &Plan) -> usize {
    let clients: usize = plan.arms.iter().map(|arm| arm.clients).sum();
    clients + plan.threads * plan.arms.len() * OF_A_CREW + OF_THE_PROCESS
}

/// Raises the limit of this process where it is too low. The hard limit stops who has no right to
/// raise it, and that is said before some of many connections are made.
pub fn provide(plan: &Plan) -> Result<(), DriveError> {
    let needed = needed(plan) as libc::rlim_t;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Ok(());
    }
    if limit.rlim_cur >= needed {
        return Ok(());
    }
    let (had, most) = (limit.rlim_cur, limit.rlim_max);
    limit.rlim_cur = needed;
    limit.rlim_max = most.max(needed);
    // SAFETY: as above.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0 {
        return Ok(());
    }
    let why = io::Error::last_os_error();
    let clients: usize = plan.arms.iter().map(|arm| arm.clients).sum();
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

    #[test]
    fn connections_of_all_arms_are_counted() {
        let arm = |clients: usize| {
            json!({"name": "a", "host": "/tmp", "port": 1, "user": "u", "database": "d",
                   "clients": clients})
        };
        let plan: Plan = serde_json::from_value(json!({
            "threads": 2, "scripts": [], "arms": [arm(10_000), arm(5)],
        }))
        .unwrap();
        assert_eq!(needed(&plan), 10_005 + 2 * 2 * OF_A_CREW + OF_THE_PROCESS);
    }

    #[test]
    fn more_than_the_system_has_is_refused_before_anything_is_opened() {
        let plan: Plan = serde_json::from_value(json!({
            "threads": 1, "scripts": [],
            "arms": [{"name": "a", "host": "/tmp", "port": 1, "user": "u", "database": "d",
                      "clients": 1_u64 << 40}],
        }))
        .unwrap();
        let refused = provide(&plan).unwrap_err();
        assert!(refused
            .primary
            .starts_with("could not provide for 1099511627776 connections"));
        assert!(refused.hint.is_some());
    }
}
