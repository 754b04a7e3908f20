//! Tests many connections: a thousand on one thread, ten thousand in one process, and their memory.

mod counted;
mod crowd;

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use serde_json::{json, Value as Json};

use crate::counted::Counted;
use crate::crowd::Crowd;

#[global_allocator]
static MEMORY: Counted = Counted;

/// One after the other: they count memory of the whole process, and open most of its files.
static ALONE: Mutex<()> = Mutex::new(());

/// What a connection may take beside its socket: docs/reference/drive.md says so.
const BYTES_A_CONNECTION: usize = 1024;
/// With io_uring: the buffers that are lent to the kernel, two a client.
const BYTES_LENT: usize = 2 * 4096;

/// Drives `clients` on `threads`, each ten times; the slice, and the live bytes in its middle.
fn driven(io: &str, clients: usize, threads: usize) -> (Json, usize) {
    let crowd = Crowd::gather(clients);
    let plan = json!({
        "io": io, "threads": threads, "seed": 1, "mode": "prepared",
        "scripts": [{"name": "s", "text": "SELECT 1;", "rows": 1}],
        "arms": [{"name": "arm", "host": crowd.directory, "port": 5432, "user": "u",
                  "database": "d", "clients": clients}],
    });
    let input = format!(
        "{}\n{}\n{{\"end\": true}}\n",
        json!({ "plan": plan }),
        json!({"slices": [{"arm": 0, "each": 10}]})
    );
    let before = counted::live();
    let mut output = Vec::with_capacity(1 << 20);
    let outcome = steelyard_driver::drive(&mut Cursor::new(input), &mut output);
    let text = String::from_utf8(output).unwrap();
    assert!(outcome.is_ok(), "{text}");
    let slice = text
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<Json>(line)
                .unwrap()
                .get("slice")
                .cloned()
        })
        .next()
        .unwrap();
    (slice, crowd.end().saturating_sub(before))
}

fn all_are_served(io: &str, clients: usize, threads: usize) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !counted::may_open(2 * clients + 500) {
        return;
    }
    let (slice, _) = driven(io, clients, threads);
    assert_eq!(slice["transactions"], 10 * clients);
    assert_eq!((&slice["failed"], &slice["lost"]), (&json!(0), &json!(0)));
}

#[test]
fn a_thousand_connections_on_one_thread_by_epoll() {
    all_are_served("epoll", 1000, 1);
}

#[test]
fn a_thousand_connections_on_one_thread_by_a_ring_where_there_is_one() {
    all_are_served("auto", 1000, 1);
}

#[test]
fn ten_thousand_connections_in_one_process_by_epoll() {
    all_are_served("epoll", 10_000, 2);
}

#[test]
fn ten_thousand_connections_in_one_process_by_a_ring_where_there_is_one() {
    all_are_served("auto", 10_000, 2);
}

#[test]
fn a_connection_takes_no_more_memory_than_is_said() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !counted::may_open(4500) {
        return;
    }
    for (io, most) in [
        ("epoll", BYTES_A_CONNECTION),
        ("auto", BYTES_A_CONNECTION + BYTES_LENT),
    ] {
        let (_, few) = driven(io, 500, 1);
        let (_, many) = driven(io, 2000, 1);
        let each = many.saturating_sub(few) / 1500;
        assert!(
            (200..=most).contains(&each),
            "{io}: {each} bytes a connection"
        );
    }
}
