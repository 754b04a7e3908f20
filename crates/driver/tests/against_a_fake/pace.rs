//! Tests when transactions start: at a rate, a number for each client, on connections of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use crate::fake::{drive, rows, slices, FakeServer, Reply};
use serde_json::{json, Value as Json};

fn number(slice: &Json, key: &str) -> u64 {
    slice[key].as_u64().unwrap()
}

#[test]
fn arrivals_come_at_their_rate_whatever_the_server_does() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let mut plan = server.plan("SELECT 1;", json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(4);
    let slice = json!({"arm": 0, "length_ns": 500_000_000, "rate": 400.0});
    let answers = drive(&plan, &[json!([slice, slice])]);
    for slice in slices(&answers) {
        let arrived = number(&slice, "transactions") + number(&slice, "unstarted");
        // 200 expected, standard deviation 14.
        assert!((130..280).contains(&arrived), "{arrived}");
        assert_eq!(slice["failed"], 0);
        assert!(number(&slice, "busy_ns") >= 4 * 500_000_000);
    }
}

#[test]
fn latency_counts_from_the_intended_start() {
    // The server stalls once for 100 ms; a closed loop would see one slow transaction.
    let stalled = Arc::new(AtomicBool::new(false));
    let server = FakeServer::start(move |_| {
        if !stalled.swap(true, Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(100));
        }
        Reply::Bytes(rows(1, b'I'))
    });
    let plan = server.plan("SELECT 1;", json!({}));
    let slice = json!({"arm": 0, "length_ns": 300_000_000, "rate": 1000.0});
    let answers = drive(&plan, &[json!([slice])]);
    let slice = &slices(&answers)[0];
    // About 100 arrivals waited 50 ms on average.
    assert!(number(slice, "late_starts") > 30, "{slice}");
    assert!(number(slice, "lag_sum_ns") > 1_000_000_000, "{slice}");
    assert!(number(slice, "lag_max_ns") > 50_000_000);
    assert!(number(slice, "latency_sum_ns") > number(slice, "lag_sum_ns"));
}

#[test]
fn what_would_begin_too_late_is_skipped_and_counted() {
    let server = FakeServer::start(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Reply::Bytes(rows(1, b'I'))
    });
    let plan = server.plan("SELECT 1;", json!({"latency_limit_ns": 20_000_000}));
    let slice = json!({"arm": 0, "length_ns": 400_000_000, "rate": 500.0});
    let answers = drive(&plan, &[json!([slice])]);
    let slice = &slices(&answers)[0];
    // A client that needs 10 ms serves at most 40 of about 200.
    assert!(number(slice, "transactions") <= 41);
    assert!(number(slice, "skipped") > 80, "{slice}");
    assert!(number(slice, "lag_max_ns") <= 20_000_000);
    assert!(number(slice, "over_limit") > 0);
}

#[test]
fn over_the_limit_is_what_took_longer_than_it() {
    let over = |limit_ns: u64| {
        let server = FakeServer::start(|_| {
            std::thread::sleep(Duration::from_millis(2));
            Reply::Bytes(rows(1, b'I'))
        });
        let plan = server.plan("SELECT 1;", json!({ "latency_limit_ns": limit_ns }));
        let slice = json!({"arm": 0, "count": 5});
        let slice = slices(&drive(&plan, &[json!([slice])])).remove(0);
        (number(&slice, "transactions"), number(&slice, "over_limit"))
    };
    assert_eq!(over(1_000_000), (5, 5));
    assert_eq!(over(60_000_000_000), (5, 0));
}

#[test]
fn equal_seeds_give_equal_arrivals() {
    let lags = |seed: u64| {
        let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
        let plan = server.plan("SELECT 1;", json!({ "seed": seed }));
        let slice = json!({"arm": 0, "length_ns": 100_000_000, "rate": 300.0});
        let slice = slices(&drive(&plan, &[json!([slice])])).remove(0);
        number(&slice, "transactions") + number(&slice, "unstarted")
    };
    assert_eq!(lags(5), lags(5));
}

#[test]
fn each_client_executes_exactly_so_often() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let mut plan = server.plan("SELECT :client_id;", json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(3);
    let answers = drive(&plan, &[json!([{"arm": 0, "each": 7}])]);
    assert_eq!(slices(&answers)[0]["transactions"], 21);
    for client in ["0", "1", "2"] {
        let requests = server.requests();
        let own = requests
            .iter()
            .filter(|one| one.parameter.as_deref() == Some(client));
        assert_eq!(own.count(), 7);
    }
}

#[test]
fn a_transaction_may_have_a_connection_of_its_own() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let plan = server.plan("SELECT 1;", json!({"connect": true}));
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 6}])]);
    let slice = &slices(&answers)[0];
    assert_eq!(
        (number(slice, "transactions"), number(slice, "lost")),
        (6, 0)
    );
    let mut connections: Vec<_> = server.requests().iter().map(|one| one.connection).collect();
    connections.dedup();
    assert_eq!(connections.len(), 6);
    assert_eq!(number(slice, "connections"), 5);
    assert!(number(slice, "connect_ns") > 0);
}

#[test]
fn commands_are_timed_when_that_is_asked() {
    let server = FakeServer::start(|request| {
        if request.sql == "SELECT 2" {
            std::thread::sleep(Duration::from_millis(3));
        }
        Reply::Bytes(rows(1, b'I'))
    });
    let mut plan = server.plan(
        "\\set a 1\nSELECT :a;\n  SELECT 2;\n",
        json!({"timed": true}),
    );
    plan["scripts"][0]["rows"] = Json::Null;
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 5}])]);
    let commands = slices(&answers)[0]["scripts"][0]["commands"].clone();
    let texts: Vec<_> = commands
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["text"])
        .collect();
    assert_eq!(texts, ["\\set a 1", "SELECT :a;", "SELECT 2;"]);
    assert!(commands
        .as_array()
        .unwrap()
        .iter()
        .all(|one| one["executions"] == 5));
    assert!(number(&commands[2], "sum_ns") >= 15_000_000);
}

#[test]
fn progress_is_answered_while_a_slice_goes_on() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let mut plan = server.plan("SELECT 1;", json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(2);
    let slice = json!({"arm": 0, "length_ns": 120_000_000, "progress_ns": 25_000_000});
    let answers = drive(&plan, &[json!([slice])]);
    let seen: Vec<u64> = answers
        .iter()
        .filter_map(|one| one["progress"]["transactions"].as_u64())
        .collect();
    // On a busy machine a slice ends late, and is longer by an interval.
    let slice = &slices(&answers)[0];
    let ticks = (number(slice, "end_ns") - number(slice, "start_ns")) / 25_000_000;
    assert!(
        (3..=ticks.max(4)).contains(&(seen.len() as u64)),
        "{answers:?}"
    );
    assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]));
    let whole = number(slice, "transactions");
    assert!(*seen.last().unwrap() <= whole);
}

#[test]
fn who_is_connected_is_served_while_others_connect() {
    // Connecting takes 50 ms for every second connection: the other client never waits for it.
    let server = FakeServer::start_slowly(
        |connection| Duration::from_millis(if connection % 2 == 1 { 50 } else { 0 }),
        |_| Reply::Bytes(rows(1, b'I')),
    );
    let mut plan = server.plan("SELECT 1;", json!({}));
    plan["arms"][0]["clients"] = json!(4);
    plan["connect"] = json!(true);
    let answers = drive(&plan, &[json!([{"arm": 0, "length_ns": 400_000_000}])]);
    let slice = &slices(&answers)[0];
    assert_eq!((number(slice, "failed"), number(slice, "lost")), (0, 0));
    // One after the other they would come to 8 slow connections, and 8 quick ones beside them.
    let done = number(slice, "transactions");
    assert!(done > 24, "{done} transactions");
}

#[test]
fn a_connection_that_comes_too_late_is_nobodys() {
    let server = FakeServer::start_slowly(
        |connection| Duration::from_millis(if connection == 0 { 0 } else { 600 }),
        |_| Reply::Bytes(rows(1, b'I')),
    );
    let plan = server.plan(
        "SELECT 1;",
        json!({"connect": true, "drain_cap_ns": 50_000_000}),
    );
    let slice = json!({"arm": 0, "length_ns": 50_000_000});
    let answers = drive(&plan, &[json!([slice, slice])]);
    let slices = slices(&answers);
    assert_eq!(number(&slices[0], "transactions"), 1);
    assert_eq!(number(&slices[0], "capped"), 1);
    // Connected anew before the next slice, where the first transaction needs no other one.
    assert_eq!(number(&slices[1], "transactions"), 1);
}

#[test]
fn arrivals_wait_for_their_connections() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let mut plan = server.plan("SELECT 1;", json!({"connect": true}));
    plan["arms"][0]["clients"] = json!(2);
    let answers = drive(
        &plan,
        &[json!([{"arm": 0, "length_ns": 200_000_000, "rate": 200}])],
    );
    let slice = &slices(&answers)[0];
    let done = number(slice, "transactions");
    assert!(done > 10, "{slice}");
    assert_eq!(number(slice, "connections"), done);
    assert!(number(slice, "lag_sum_ns") > 0);
}
