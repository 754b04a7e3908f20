//! Tests what a slice counts on a server that behaves.

use crate::fake::{drive, rows, slices, FakeServer, Reply};
use serde_json::json;
use steelyard_driver::Latencies;

const SELECT: &str = "\\set a random(1, 1000)\nSELECT b FROM t WHERE a = :a;\n";

fn answering() -> FakeServer {
    FakeServer::start(|_| Reply::Bytes(rows(1, b'I')))
}

#[test]
fn a_slice_by_count_executes_exactly_so_often() {
    let server = answering();
    let mut plan = server.plan(SELECT, json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(5);
    let answers = drive(
        &plan,
        &[json!([{"arm": 0, "count": 137, "tag": {"block": 3}}])],
    );
    let slice = &slices(&answers)[0];
    assert_eq!(answers[0]["connected"]["arm"].as_array().unwrap().len(), 5);
    assert_eq!(answers[2], json!({"done": 1}));
    assert_eq!(slice["transactions"], 137);
    assert_eq!(slice["tag"], json!({"block": 3}));
    assert_eq!(slice["scripts"][0]["transactions"], 137);
    assert_eq!(server.requests().len(), 137);
}

#[test]
fn scripts_are_taken_in_the_order_that_each_client_was_given() {
    let server = answering();
    let mut plan = server.plan("SELECT 0;\n", json!({"orders": [[2, 0], [1]]}));
    for (number, name) in ["one", "two"].iter().enumerate() {
        let text = format!("SELECT {};\n", number + 1);
        let script = json!({"name": name, "text": text, "weight": 1});
        plan["scripts"].as_array_mut().unwrap().push(script);
    }
    plan["arms"][0]["clients"] = json!(2);
    let answers = drive(&plan, &[json!([{"arm": 0, "each": 3}])]);
    let counted: Vec<u64> = slices(&answers)[0]["scripts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|script| script["transactions"].as_u64().unwrap())
        .collect();
    assert_eq!(counted, [1, 3, 2], "client 0: 2, 0, 2; client 1: 1, 1, 1");
}

#[test]
fn every_nanosecond_of_a_busy_client_belongs_to_a_transaction() {
    let server = answering();
    let plan = server.plan(SELECT, json!({}));
    let answers = drive(&plan, &[json!([{"arm": 0, "length_ns": 20_000_000}])]);
    let slice = &slices(&answers)[0];
    assert!(slice["transactions"].as_u64().unwrap() > 0);
    // One client: each end is the next begin, so latencies add up to the busy time exactly.
    assert_eq!(slice["busy_ns"], slice["latency_sum_ns"]);
    let span = slice["end_ns"].as_u64().unwrap() - slice["start_ns"].as_u64().unwrap();
    assert_eq!(slice["busy_ns"].as_u64().unwrap(), span);
    assert!(span >= 20_000_000);
}

#[test]
fn the_histogram_holds_every_counted_transaction() {
    let server = answering();
    let plan = server.plan(SELECT, json!({}));
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 500}])]);
    let slice = &slices(&answers)[0];
    let text = slice["scripts"][0]["latency"].as_str().unwrap();
    let latencies = Latencies::merge(&[text]).unwrap();
    let summary = latencies.summary(&[0.0, 1.0]);
    assert_eq!(summary.count, 500);
    let mean = slice["latency_sum_ns"].as_f64().unwrap() / 500.0;
    assert!((summary.mean_ns / mean - 1.0).abs() < 0.001);
    assert_eq!(latencies.counts(&[0, u64::MAX]), vec![500]);
}

#[test]
fn a_statement_is_prepared_once_a_connection() {
    let server = answering();
    let mut plan = server.plan(SELECT, json!({}));
    plan["arms"][0]["clients"] = json!(3);
    drive(
        &plan,
        &[
            json!([{"arm": 0, "count": 50}]),
            json!([{"arm": 0, "count": 50}]),
        ],
    );
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| request.parses).count(), 3);
    assert!(requests
        .iter()
        .all(|request| request.sql == "SELECT b FROM t WHERE a = $1"));
}

#[test]
fn the_simple_mode_sends_text_and_the_extended_mode_always_parses() {
    let server = answering();
    drive(
        &server.plan(SELECT, json!({"mode": "simple"})),
        &[json!([{"arm": 0, "count": 3}])],
    );
    drive(
        &server.plan(SELECT, json!({"mode": "extended"})),
        &[json!([{"arm": 0, "count": 3}])],
    );
    let requests = server.requests();
    assert!(requests[..3]
        .iter()
        .all(|request| request.sql.starts_with("SELECT b FROM t WHERE a ")));
    assert!(!requests[0].sql.contains('$'));
    assert!(requests[3..].iter().all(|request| request.parses));
}

#[test]
fn arms_see_the_same_sequence_of_keys_whatever_their_weight() {
    let (plain, weighted) = (answering(), answering());
    let keys = |server: &FakeServer, weight| {
        let mut plan = server.plan(SELECT, json!({}));
        plan["arms"][0]["weight"] = weight;
        drive(&plan, &[json!([{"arm": 0, "count": 40}])]);
        let requests = server.requests();
        requests
            .into_iter()
            .filter_map(|request| request.parameter)
            .collect::<Vec<_>>()
    };
    let without = keys(&plain, json!({}));
    let with = keys(
        &weighted,
        json!({"double_work": 0.5, "stall": 0.2, "stall_ns": 1000}),
    );
    assert_eq!(without.len(), 40);
    assert!(
        with.len() > 45 && with.len() < 75,
        "{} executions",
        with.len()
    );
    // The keys of the weighted arm are the plain ones, with those of the repeats between them.
    let mut rest = with.iter();
    assert!(without.iter().all(|key| rest.any(|other| other == key)));
}

#[test]
fn a_stall_sleeps_in_the_server_within_the_transaction() {
    let server = answering();
    let mut plan = server.plan(SELECT, json!({}));
    plan["arms"][0]["weight"] = json!({"stall": 0.5, "stall_ns": 200_000_000});
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 40}])]);
    let sleeps = server
        .requests()
        .into_iter()
        .filter(|request| request.sql.contains("pg_sleep(0.2)"));
    assert!((8..32).contains(&sleeps.count()));
    assert_eq!(slices(&answers)[0]["transactions"], 40);
    assert_eq!(slices(&answers)[0]["wrong_rows"], 0);
}

#[test]
fn scripts_are_chosen_by_their_weights() {
    let server = answering();
    let scripts = json!([
        {"name": "one", "text": "SELECT 1;", "weight": 3},
        {"name": "never", "text": "SELECT 2;", "weight": 0},
        {"name": "three", "text": "SELECT 3;", "weight": 1},
    ]);
    let answers = drive(
        &server.plan("", json!({"scripts": scripts})),
        &[json!([{"arm": 0, "count": 400}])],
    );
    let slice = &slices(&answers)[0];
    let counted = |number: usize| slice["scripts"][number]["transactions"].as_u64().unwrap();
    assert_eq!((counted(0) + counted(2), counted(1)), (400, 0));
    assert!((250..350).contains(&counted(0)));
}

#[test]
fn a_plan_that_cannot_be_driven_is_refused_with_its_reason() {
    let server = answering();
    for (changes, reason) in [
        (
            json!({"scripts": [{"name": "x", "text": "-- nothing\n"}]}),
            "cannot read script",
        ),
        (
            json!({"scripts": [{"name": "x", "text": "SELECT :nope;"}]}),
            "cannot read script",
        ),
        (
            json!({"mode": "simple",
                   "scripts": [{"name": "x", "text": "\\startpipeline\n\\endpipeline\n"}]}),
            "cannot read script",
        ),
        (
            json!({"scripts": [{"name": "x", "text": "SELECT 1\\; SELECT 2;"}]}),
            "cannot read script",
        ),
        (json!({"threads": 0}), "0 threads"),
        (json!({"arms": []}), "no arm"),
        (json!({"unheard": 1}), "invalid plan"),
    ] {
        let answers = drive(&server.plan("SELECT 1;", changes), &[]);
        let primary = answers[0]["error"]["primary"].as_str().unwrap();
        assert!(primary.contains(reason), "{primary}");
    }
}

#[test]
fn a_script_without_a_result_ends_the_driver() {
    let server = answering();
    let plan = server.plan("\\set a 1 / 0\nSELECT :a;\n", json!({}));
    let answers = drive(&plan, &[json!([{"arm": 0, "length_ns": 1_000_000}])]);
    let detail = answers[1]["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("division by zero"), "{detail}");
}

#[test]
fn long_replies_to_many_clients_are_followed_to_their_ends() {
    // Far more at once than a ring lends buffers for.
    let server = FakeServer::start(|_| Reply::Bytes(rows(30_000, b'I')));
    let mut plan = server.plan(SELECT, json!({"drain_cap_ns": 60_000_000_000_u64}));
    plan["scripts"][0]["rows"] = json!(30_000);
    plan["arms"][0]["clients"] = json!(20);
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 60}])]);
    let slice = &slices(&answers)[0];
    assert_eq!(slice["transactions"], 60);
    assert_eq!(slice["wrong_rows"], 0);
    assert_eq!(slice["failed"], 0);
}
