//! Tests that several drivers do together what one does alone, and that slices begin by the clock.

use crate::fake::{drive, rows, slices, FakeServer, Reply};
use serde_json::{json, Value as Json};

const SCRIPT: &str = "\\set a random(1, 1000000000)\nSELECT :a + :client_id;\n";

fn answering() -> FakeServer {
    FakeServer::start(|_| Reply::Bytes(rows(1, b'I')))
}

/// The parameters of all requests after a slice of 20 transactions of each client, sorted.
fn keys(shares: &[(usize, usize)], script: &str, changes: &Json) -> Vec<String> {
    let server = answering();
    for (first, clients) in shares {
        let mut plan = server.plan(script, json!({"threads": 2, "first_client": first}));
        for (key, value) in changes.as_object().unwrap() {
            plan[key] = value.clone();
        }
        plan["arms"][0]["clients"] = json!(clients);
        let answers = drive(&plan, &[json!([{"arm": 0, "each": 20}])]);
        let slice = &slices(&answers)[0];
        assert_eq!(slice["transactions"], 20 * clients);
        assert!(
            slice.get("late_ns").is_none(),
            "it was not to begin by clock"
        );
    }
    let of = |request: &crate::fake::Request| format!("{} {:?}", request.sql, request.parameter);
    let mut keys: Vec<String> = server.requests().iter().map(of).collect();
    keys.sort();
    keys
}

#[test]
fn clients_dealt_over_drivers_use_the_keys_and_numbers_of_one_driver() {
    for script in [SCRIPT, "SELECT :client_id;\n"] {
        let alone = keys(&[(0, 5)], script, &json!({}));
        assert_eq!(alone.len(), 100);
        assert_eq!(keys(&[(3, 2), (0, 2), (2, 1)], script, &json!({})), alone);
    }
    let unnumbered = keys(&[(0, 2), (0, 2), (0, 1)], SCRIPT, &json!({}));
    assert_ne!(unnumbered, keys(&[(0, 5)], SCRIPT, &json!({})));
}

#[test]
fn clients_dealt_over_drivers_take_scripts_in_the_order_of_their_number() {
    let two = json!({"orders": [[0], [1]], "scripts": [
        {"name": "even", "text": "SELECT 0;\n", "weight": 1},
        {"name": "odd", "text": "SELECT 1;\n", "weight": 1},
    ]});
    let alone = keys(&[(0, 3)], SCRIPT, &two);
    assert_eq!(keys(&[(1, 2), (0, 1)], SCRIPT, &two), alone);
}

fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
fn a_slice_begins_at_its_time_and_says_how_late_it_was() {
    let server = answering();
    let plan = server.plan("SELECT 1;", json!({"threads": 2}));
    let (past_ns, ahead_ns) = (now_ns() - 1_000_000, now_ns() + 300_000_000);
    let slice = |begin_ns| json!({"arm": 0, "length_ns": 5_000_000, "begin_ns": begin_ns});
    let answers = drive(&plan, &[json!([slice(past_ns), slice(ahead_ns)])]);
    let [late, timely] = &slices(&answers)[..] else {
        panic!("{answers:?}");
    };
    let number = |slice: &Json, key: &str| slice[key].as_u64().unwrap();
    assert!(number(late, "late_ns") >= 1_000_000, "{late}");
    assert!(number(timely, "start_ns") >= ahead_ns, "{timely}");
    // All of its length comes after its begin.
    assert!(number(timely, "end_ns") >= ahead_ns + 5_000_000);
    let behind = number(timely, "start_ns") - ahead_ns;
    assert!(number(timely, "late_ns") >= behind, "{timely}");
}

#[test]
fn a_begin_that_only_a_mistaken_clock_can_mean_is_refused() {
    let server = answering();
    let plan = server.plan("SELECT 1;", json!({}));
    let begin_ns = now_ns() + 3_600_000_000_000;
    let slice = json!({"arm": 0, "length_ns": 5_000_000, "begin_ns": begin_ns});
    let answers = drive(&plan, &[json!([slice])]);
    let error = &answers.last().unwrap()["error"]["primary"];
    assert_eq!(error, "cannot begin a slice minutes from now");
}
