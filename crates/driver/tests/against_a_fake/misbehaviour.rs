//! Tests servers that fail, send garbage, fall silent or die: errors are counted, and nothing
//! hangs.

use crate::fake::{drive, error, message, ready, rows, slices, FakeServer, Reply};
use serde_json::json;

const SELECT: &str = "SELECT 1;";

#[test]
fn a_reply_in_single_bytes_is_followed() {
    let server = FakeServer::start(|_| Reply::Dripping(rows(1, b'I')));
    let answers = drive(
        &server.plan(SELECT, json!({})),
        &[json!([{"arm": 0, "count": 10}])],
    );
    let slice = &slices(&answers)[0];
    assert_eq!(
        (&slice["transactions"], &slice["failed"]),
        (&json!(10), &json!(0))
    );
}

#[test]
fn an_error_is_counted_by_its_sqlstate_and_its_time_is_busy() {
    let server = FakeServer::start(|request| {
        Reply::Bytes(if request.number % 2 == 0 {
            [error("ERROR", "40001"), ready(b'I')].concat()
        } else {
            rows(1, b'I')
        })
    });
    let answers = drive(
        &server.plan(SELECT, json!({})),
        &[json!([{"arm": 0, "count": 10}])],
    );
    let slice = &slices(&answers)[0];
    assert_eq!(
        (&slice["transactions"], &slice["failed"]),
        (&json!(5), &json!(5))
    );
    assert_eq!(slice["errors"], json!({"40001": 5}));
    assert_eq!(
        slice["error_messages"],
        json!({"40001": "the words of 40001"})
    );
    assert!(slice["busy_ns"].as_u64() > slice["latency_sum_ns"].as_u64());
}

#[test]
fn a_failed_transaction_block_is_rolled_back_before_the_next_begins() {
    let server = FakeServer::start(|request| {
        Reply::Bytes(match request.sql.as_str() {
            "BEGIN" => rows(0, b'T'),
            "UPDATE t SET a = 1" => [error("ERROR", "40P01"), ready(b'E')].concat(),
            _ => rows(0, b'I'),
        })
    });
    let script = "BEGIN;\nUPDATE t SET a = 1;\nEND;\n";
    let answers = drive(
        &server.plan(script, json!({})),
        &[json!([{"arm": 0, "count": 2}])],
    );
    let slice = &slices(&answers)[0];
    assert_eq!(
        (&slice["transactions"], &slice["failed"]),
        (&json!(0), &json!(2))
    );
    let sent: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.sql)
        .collect();
    let one = ["BEGIN", "UPDATE t SET a = 1", "ROLLBACK"];
    assert_eq!(sent, [one, one].concat());
}

#[test]
fn a_script_that_leaves_its_block_open_fails() {
    let server = FakeServer::start(|request| {
        Reply::Bytes(rows(
            1,
            if request.sql == "ROLLBACK" {
                b'I'
            } else {
                b'T'
            },
        ))
    });
    let answers = drive(
        &server.plan("BEGIN;", json!({})),
        &[json!([{"arm": 0, "count": 1}])],
    );
    assert_eq!(slices(&answers)[0]["errors"], json!({"25000": 1}));
}

#[test]
fn a_statement_that_failed_to_parse_is_parsed_again() {
    let server = FakeServer::start(|request| {
        Reply::Bytes(if request.number == 0 {
            [error("ERROR", "42P01"), ready(b'I')].concat()
        } else {
            rows(1, b'I')
        })
    });
    drive(
        &server.plan(SELECT, json!({})),
        &[json!([{"arm": 0, "count": 3}])],
    );
    let parses: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.parses)
        .collect();
    assert_eq!(parses, [true, true, false]);
}

#[test]
fn work_that_was_not_done_is_seen() {
    let server = FakeServer::start(|request| Reply::Bytes(rows(request.number % 2, b'I')));
    let answers = drive(
        &server.plan(SELECT, json!({})),
        &[json!([{"arm": 0, "count": 10}])],
    );
    let slice = &slices(&answers)[0];
    assert_eq!(
        (&slice["transactions"], &slice["wrong_rows"]),
        (&json!(10), &json!(5))
    );
    assert_eq!(slice["rows"], 5);
}

#[test]
fn malformed_bytes_lose_the_connection_and_nothing_else() {
    for garbage in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        message(b'D', b"\0\0").repeat(2)[..9]
            .iter()
            .map(|byte| byte ^ 0x80)
            .collect(),
        message(b'Z', b"?"),
        message(b'G', b"\0\0\0"),
        message(b'E', b"no end"),
        [rows(1, b'I'), rows(1, b'I')].concat(),
    ] {
        let reply = garbage.clone();
        let server = FakeServer::start(move |request| {
            Reply::Bytes(if request.connection == 0 {
                reply.clone()
            } else {
                rows(1, b'I')
            })
        });
        let plan = server.plan(SELECT, json!({}));
        let one = json!({"arm": 0, "count": 5});
        let answers = drive(&plan, &[json!([one, one])]);
        let slices = slices(&answers);
        assert_eq!(slices[0]["errors"], json!({"08P01": 1}), "{garbage:?}");
        assert_eq!(
            (&slices[0]["lost"], &slices[0]["failed"]),
            (&json!(1), &json!(1))
        );
        // The connection is taken back before the next slice, with a new backend.
        assert_eq!(slices[1]["reconnected"], json!([[0, 1001]]));
        assert_eq!(
            (&slices[1]["transactions"], &slices[1]["lost"]),
            (&json!(5), &json!(0))
        );
    }
}

#[test]
fn a_server_that_goes_keeps_its_last_words() {
    for (last, sqlstate) in [
        (error("FATAL", "57P01"), "57P01"),
        (b"D\0\0".to_vec(), "08006"),
    ] {
        let server = FakeServer::start(move |request| {
            if request.number < 3 {
                Reply::Bytes(rows(1, b'I'))
            } else {
                Reply::Last(last.clone())
            }
        });
        let answers = drive(
            &server.plan(SELECT, json!({})),
            &[json!([{"arm": 0, "count": 9}])],
        );
        let slice = &slices(&answers)[0];
        assert_eq!(slice["transactions"], 3);
        assert_eq!(slice["errors"], json!({sqlstate: 1}));
        assert_eq!(slice["lost"], 1);
    }
}

#[test]
fn an_arm_whose_server_is_gone_answers_later_slices_at_once() {
    let server = std::sync::Arc::new(std::sync::OnceLock::<FakeServer>::new());
    let itself = std::sync::Arc::clone(&server);
    server
        .set(FakeServer::start(move |_| {
            itself.get().unwrap().refuse();
            Reply::Last(Vec::new())
        }))
        .unwrap_or_else(|_| unreachable!());
    let mut plan = server.get().unwrap().plan(SELECT, json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(4);
    let minute = json!({"arm": 0, "length_ns": 60_000_000_000_u64});
    let answers = drive(&plan, &[json!([minute, minute, minute])]);
    let slices = slices(&answers);
    assert_eq!(slices.len(), 3);
    for slice in &slices {
        assert_eq!(
            (&slice["transactions"], &slice["lost"]),
            (&json!(0), &json!(4))
        );
        // Clients without a server are charged the whole slice.
        assert!(slice["busy_ns"].as_u64().unwrap() >= 4 * 60_000_000_000);
    }
    assert!(slices[2]["errors"].as_object().unwrap().is_empty());
}

#[test]
fn a_silent_server_is_given_up_at_the_cap_and_cancelled() {
    let server = FakeServer::start(|request| {
        if request.connection == 0 {
            Reply::Silence
        } else {
            Reply::Bytes(rows(1, b'I'))
        }
    });
    let plan = server.plan(SELECT, json!({}));
    let one = json!({"arm": 0, "length_ns": 1_000_000});
    let answers = drive(&plan, &[json!([one, one])]);
    let slices = slices(&answers);
    assert_eq!(
        (&slices[0]["capped"], &slices[0]["transactions"]),
        (&json!(1), &json!(0))
    );
    assert!(slices[0]["busy_ns"].as_u64().unwrap() >= 201_000_000);
    assert_eq!(server.cancels(), [(1000, 99)]);
    assert_eq!(slices[1]["reconnected"], json!([[0, 1001]]));
    assert!(slices[1]["transactions"].as_u64().unwrap() > 0);
}

#[test]
fn a_silent_client_of_a_slice_by_count_is_given_up_too() {
    let server = FakeServer::start(|request| match request.connection {
        0 => Reply::Silence,
        _ => {
            // The other thread has time to begin before all executions are taken.
            std::thread::sleep(std::time::Duration::from_millis(10));
            Reply::Bytes(rows(1, b'I'))
        }
    });
    let mut plan = server.plan(SELECT, json!({"threads": 2}));
    plan["arms"][0]["clients"] = json!(2);
    let answers = drive(&plan, &[json!([{"arm": 0, "count": 20}])]);
    let slice = &slices(&answers)[0];
    assert_eq!(
        (&slice["capped"], &slice["transactions"]),
        (&json!(1), &json!(19))
    );
}

#[test]
fn an_endless_reply_is_given_up_at_the_cap() {
    let server = FakeServer::start(|_| Reply::Endless);
    let plan = server.plan(SELECT, json!({}));
    let answers = drive(&plan, &[json!([{"arm": 0, "length_ns": 1_000_000}])]);
    assert_eq!(slices(&answers)[0]["capped"], 1);
}

#[test]
fn a_request_larger_than_the_socket_is_sent_in_parts() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let script = format!("SELECT '{}';", "x".repeat(3_000_000));
    for mode in ["simple", "prepared"] {
        let plan = server.plan(
            &script,
            json!({"mode": mode, "drain_cap_ns": 60_000_000_000_u64}),
        );
        let answers = drive(&plan, &[json!([{"arm": 0, "count": 2}])]);
        assert_eq!(slices(&answers)[0]["transactions"], 2);
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error_with_its_place() {
    let server = FakeServer::start(|_| Reply::Silence);
    server.refuse();
    let answers = drive(&server.plan(SELECT, json!({})), &[]);
    let error = &answers[0]["error"];
    assert!(error["primary"]
        .as_str()
        .unwrap()
        .starts_with("could not connect client 0 of arm"));
    assert!(error["detail"].as_str().unwrap().contains(".s.PGSQL.5432"));
}
