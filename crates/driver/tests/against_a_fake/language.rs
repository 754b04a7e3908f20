//! Tests commands of the script language that need a server: \gset, pipelines, sleeps, retries.

use std::time::{Duration, Instant};

use crate::fake::{drive, error, message, ready, rows, slices, FakeServer, Reply};
use serde_json::{json, Value as Json};

fn described(names: &[&str], values: &[Option<&str>]) -> Vec<u8> {
    let mut head = (names.len() as u16).to_be_bytes().to_vec();
    for name in names {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(&[0; 19]);
    }
    let mut row = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        match value {
            None => row.extend_from_slice(&(-1_i32).to_be_bytes()),
            Some(value) => {
                row.extend_from_slice(&(value.len() as u32).to_be_bytes());
                row.extend_from_slice(value.as_bytes());
            }
        }
    }
    let around = [message(b'1', b""), message(b'2', b"")].concat();
    let end = [message(b'C', b"SELECT 1\0"), ready(b'I')].concat();
    [around, message(b'T', &head), message(b'D', &row), end].concat()
}

fn one(server: &FakeServer, script: &str, changes: Json, slice: Json) -> Json {
    let mut plan = server.plan(script, changes);
    plan["scripts"][0]["rows"] = Json::Null;
    let answers = drive(&plan, &[json!([slice])]);
    let found = slices(&answers);
    assert_eq!(found.len(), 1, "{answers:?}");
    found[0].clone()
}

#[test]
fn a_kept_answer_is_read_by_the_next_statement() {
    for dripping in [false, true] {
        let server = FakeServer::start(move |request| {
            let bytes = described(&["a", "b"], &[Some("007"), None]);
            match (request.sql.as_str(), dripping) {
                ("SELECT first", true) => Reply::Dripping(bytes),
                ("SELECT first", false) => Reply::Bytes(bytes),
                _ => Reply::Bytes(rows(1, b'I')),
            }
        });
        let script = "SELECT first \\gset p_\n\\set c :p_a + 1\nSELECT :p_a;\nSELECT :c, ':p_b';\n";
        let slice = one(
            &server,
            script,
            json!({"mode": "simple"}),
            json!({"arm": 0, "count": 2}),
        );
        assert_eq!(slice["errors"], json!({}));
        let sent: Vec<_> = server.requests().into_iter().map(|one| one.sql).collect();
        let once = ["SELECT first", "SELECT 007", "SELECT 8, ''"];
        assert_eq!(sent, [once, once].concat());
    }
}

#[test]
fn an_answer_that_is_not_one_row_fails_its_transaction() {
    for (returned, state) in [(0, "P0002"), (2, "P0003")] {
        let server = FakeServer::start(move |_| {
            let head = message(b'T', &[b"\0\x01a".as_slice(), &[0; 19]].concat());
            Reply::Bytes([head, rows(returned, b'I')].concat())
        });
        let slice = one(
            &server,
            "SELECT 1 \\gset\n",
            json!({}),
            json!({"arm": 0, "count": 3}),
        );
        assert_eq!(slice["errors"], json!({state: 3}));
        assert_eq!(slice["failed"], 3);
    }
}

#[test]
fn a_pipeline_is_one_request_and_its_statements_are_prepared_before_it() {
    let server = FakeServer::start(|request| {
        // The fake answers at each Sync.
        Reply::Bytes(if request.number == 0 {
            ready(b'I')
        } else {
            rows(1, b'I')
        })
    });
    let script = "\\startpipeline\nSELECT :client_id;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\n";
    let slice = one(&server, script, json!({}), json!({"arm": 0, "count": 1}));
    assert_eq!(
        (&slice["transactions"], &slice["errors"]),
        (&json!(1), &json!({}))
    );
    assert!(server.requests()[0].parses);
    assert!(!server.requests()[1].parses);
}

#[test]
fn a_pipeline_of_which_a_statement_was_refused_is_prepared_again_as_a_whole() {
    let server = FakeServer::start(|request| {
        let parsed = message(b'1', b"");
        Reply::Bytes(match request.number {
            // The first of two statements is there now.
            0 => [parsed, error("ERROR", "55P03"), ready(b'I')].concat(),
            _ if request.parses_again => [error("ERROR", "42P05"), ready(b'I')].concat(),
            1 => [message(b'3', b"").repeat(2), parsed.repeat(2), ready(b'I')].concat(),
            _ => rows(1, b'I'),
        })
    });
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    let slice = one(&server, script, json!({}), json!({"arm": 0, "count": 4}));
    assert_eq!(
        (&slice["transactions"], &slice["errors"]),
        (&json!(3), &json!({"55P03": 1}))
    );
    let parses: Vec<_> = server
        .requests()
        .into_iter()
        .map(|one| one.parses)
        .collect();
    assert_eq!(parses, [true, true, false, false, false]);
}

#[test]
fn a_retry_draws_the_same_numbers_and_counts_in_the_latency() {
    let server = FakeServer::start(|request| {
        if request.sql == "ROLLBACK" || request.number % 3 == 2 {
            return Reply::Bytes(rows(1, b'I'));
        }
        std::thread::sleep(Duration::from_millis(2));
        Reply::Bytes([error("ERROR", "40001"), ready(b'E')].concat())
    });
    // Error, rollback, success.
    let script = "\\set a random(1, 1000000)\nSELECT :a;\n";
    let slice = one(
        &server,
        script,
        json!({"max_tries": 2}),
        json!({"arm": 0, "count": 4}),
    );
    assert_eq!(slice["errors"], json!({}));
    assert_eq!(
        (&slice["transactions"], &slice["retried"], &slice["retries"]),
        (&json!(4), &json!(4), &json!(4))
    );
    assert!(slice["latency_sum_ns"].as_u64().unwrap() >= 4 * 2_000_000);
    let sent: Vec<_> = server
        .requests()
        .into_iter()
        .filter_map(|one| one.parameter)
        .collect();
    assert_eq!(sent.len(), 8);
    assert!(sent.chunks(2).all(|pair| pair[0] == pair[1]));
    assert!(sent[0] != sent[2]);
}

#[test]
fn tries_come_to_an_end() {
    let server =
        FakeServer::start(|_| Reply::Bytes([error("ERROR", "40P01"), ready(b'I')].concat()));
    let slice = one(
        &server,
        "SELECT 1;",
        json!({"max_tries": 3}),
        json!({"arm": 0, "count": 5}),
    );
    assert_eq!(
        (&slice["failed"], &slice["retries"]),
        (&json!(5), &json!(10))
    );
    assert_eq!(slice["errors"], json!({"40P01": 5}));
    assert_eq!(server.requests().len(), 15);
}

#[test]
fn what_takes_longer_than_the_limit_is_not_tried_again() {
    let tries = |limit_ns: u64| {
        let server = FakeServer::start(|_| {
            std::thread::sleep(Duration::from_millis(2));
            Reply::Bytes([error("ERROR", "40P01"), ready(b'I')].concat())
        });
        let slice = one(
            &server,
            "SELECT 1;",
            json!({"max_tries": 3, "latency_limit_ns": limit_ns}),
            json!({"arm": 0, "count": 2}),
        );
        (slice["failed"].clone(), slice["retries"].clone())
    };
    assert_eq!(tries(1_000_000), (json!(2), json!(0)));
    assert_eq!(tries(60_000_000_000), (json!(2), json!(4)));
}

#[test]
fn other_errors_are_not_tried_again() {
    let server =
        FakeServer::start(|_| Reply::Bytes([error("ERROR", "57014"), ready(b'I')].concat()));
    let slice = one(
        &server,
        "SELECT 1;",
        json!({"max_tries": 3}),
        json!({"arm": 0, "count": 5}),
    );
    assert_eq!(
        (&slice["failed"], &slice["retries"]),
        (&json!(5), &json!(0))
    );
    assert_eq!(slice["errors"], json!({"57014": 5}));
}

#[test]
fn clients_sleep_side_by_side_and_their_sleep_is_latency() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let mut plan = server.plan("SELECT 1;\n\\sleep 30 ms\n", json!({}));
    plan["arms"][0]["clients"] = json!(20);
    let started = Instant::now();
    let answers = drive(&plan, &[json!([{"arm": 0, "each": 2}])]);
    let slice = &slices(&answers)[0];
    assert_eq!(slice["transactions"], 40);
    assert!(slice["latency_sum_ns"].as_u64().unwrap() >= 40 * 30_000_000);
    // One after the other they would have slept 1.2 s.
    let span = slice["end_ns"].as_u64().unwrap() - slice["start_ns"].as_u64().unwrap();
    assert!(
        span < 1_000_000_000,
        "{span} ns, {:?} in all",
        started.elapsed()
    );
}

#[test]
fn a_script_that_sends_nothing_is_counted_and_ends_at_the_bell() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let slice = one(
        &server,
        "\\set a 1\n",
        json!({}),
        json!({"arm": 0, "length_ns": 5_000_000}),
    );
    assert!(slice["transactions"].as_u64().unwrap() > 0);
    assert_eq!(slice["capped"], 0);
    assert!(server.requests().is_empty());
}

#[test]
fn debug_says_what_pgbench_says() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let script = "\\set a debug(1.5) + 1\n\\if debug(:a > 2)\nSELECT :a;\n\\endif\n";
    let slice = one(&server, script, json!({}), json!({"arm": 0, "count": 1}));
    let expected = [
        "debug(script=0,command=1): double 1.5",
        "debug(script=0,command=2): boolean true",
    ];
    assert_eq!(slice["debug"], json!(expected));
}

#[test]
fn a_variable_that_no_branch_has_set_ends_the_driver_with_its_place() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let script = "\\if :client_id > 5\n\\set a 1\n\\endif\nSELECT :a;\n";
    let answers = drive(
        &server.plan(script, json!({})),
        &[json!([{"arm": 0, "count": 1}])],
    );
    let detail = answers[1]["error"]["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("script:4:1: undefined variable \"a\""),
        "{detail}"
    );
}
