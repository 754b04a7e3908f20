//! Tests what ends a slice early, for all clients of all threads: what the plan names, and a script
//! that cannot go on.

use serde_json::{json, Value as Json};

use crate::fake::{drive, error, ready, rows, slices, FakeServer, Reply};

const CENTURY_NS: u64 = 1 << 61;

/// A server whose third request fails in this way; later ones work.
fn failing(third: fn() -> Reply) -> FakeServer {
    FakeServer::start(move |request| match request.number {
        2 => third(),
        _ => Reply::Bytes(rows(1, b'I')),
    })
}

fn error_report(sqlstate: &str) -> Vec<u8> {
    [error("ERROR", sqlstate), ready(b'I')].concat()
}

/// The slice that two clients on two threads drive until it is ended, or each has done 40.
fn slice(server: &FakeServer, abort: &str, each: bool) -> Json {
    let mut plan = server.plan("SELECT 1;", json!({"threads": 2, "abort": abort}));
    plan["arms"][0]["clients"] = json!(2);
    let limit = match each {
        true => json!({"arm": 0, "each": 40}),
        false => json!({"arm": 0, "length_ns": CENTURY_NS}),
    };
    slices(&drive(&plan, &[json!([limit])])).remove(0)
}

#[test]
fn an_error_ends_the_slice_of_every_thread_where_the_plan_has_it_so() {
    let server = failing(|| Reply::Bytes(error_report("42P01")));
    let slice = slice(&server, "failed", false);
    assert_eq!(slice["errors"], json!({"42P01": 1}));
    assert!(
        slice["aborted"].as_str().unwrap().contains("42P01"),
        "{slice}"
    );
    assert_eq!(slice["lost"], 0);
}

#[test]
fn a_lost_connection_ends_it_by_either_rule() {
    for rule in ["failed", "lost"] {
        let server = failing(|| Reply::Last(Vec::new()));
        let slice = slice(&server, rule, false);
        assert!(
            slice["aborted"].as_str().unwrap().contains("08006"),
            "{slice}"
        );
    }
}

#[test]
fn serialization_failures_and_deadlocks_never_end_it() {
    for third in [
        || Reply::Bytes(error_report("40001")),
        || Reply::Bytes(error_report("40P01")),
    ] {
        let slice = slice(&failing(third), "failed", true);
        assert_eq!((&slice["failed"], slice.get("aborted")), (&json!(1), None));
        assert_eq!(slice["transactions"], 79);
    }
}

#[test]
fn without_a_rule_the_clients_go_on() {
    for rule in ["never", "lost"] {
        let server = failing(|| Reply::Bytes(error_report("42P01")));
        let slice = slice(&server, rule, true);
        assert_eq!((&slice["failed"], slice.get("aborted")), (&json!(1), None));
        assert_eq!(slice["transactions"], 79);
    }
}

#[test]
fn a_script_that_cannot_go_on_ends_the_slice_of_every_thread() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let script = "SELECT 1;\n\\if :client_id = 1\n\\set a 1 / 0\n\\endif\n";
    let mut plan = server.plan(script, json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(2);
    let answers = drive(&plan, &[json!([{"arm": 0, "length_ns": CENTURY_NS}])]);
    let detail = answers[1]["error"]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("script:3:1: division by zero"),
        "{detail}"
    );
}
