//! Drives a double of MySQL: what is sent in each mode, and what becomes of its answers.

use std::io::{Cursor, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value as Json};

const GREETING: &[u8] = b"\x0a5.7.29\0\x2a\0\0\0abcdefgh\0\xff\xf7\x21\x02\0\xff\x80\x15\0\0\0\0\
\0\0\0\0\0\0abcdefghijkl\0mysql_native_password\0";

/// What a connection has asked for, in order: `query ...`, `prepare ...`, `execute ...` in
/// hexadecimal digits.
type Asked = Arc<Mutex<Vec<String>>>;

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(number);
    out.extend_from_slice(payload);
    out
}

fn ok(status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    packet(1, &[0, 0, 0, low, high, 0, 0])
}

fn error(code: u16) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    packet(1, &[&[0xff, low, high][..], b"#HY000told so"].concat())
}

/// A row of one number.
fn row(binary: bool) -> Vec<u8> {
    let numbers: [&[u8]; 2] = [b"\x017", &[0, 0, 7, 0, 0, 0, 0, 0, 0, 0]];
    row_of(numbers[usize::from(binary)])
}

fn row_of(values: &[u8]) -> Vec<u8> {
    let mut column = Vec::new();
    for text in [&b"def"[..], b"", b"", b"", b"n", b"n"] {
        column.push(text.len() as u8);
        column.extend_from_slice(text);
    }
    column.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, 8, 0, 0, 0, 0, 0]);
    let row = packet(4, values);
    let end = packet(3, &[0xfe, 0, 0, 2, 0]);
    [packet(1, &[1]), packet(2, &column), end.clone(), row, end].concat()
}

fn read_packet(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

/// `silent`: the number of a connection that is taken and gets no greeting.
fn serve(path: &Path, asked: Asked, silent: Option<usize>) {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let asked = Arc::clone(&asked);
            thread::spawn(move || match silent == Some(number) {
                true => end_never(),
                false => answer(stream, &asked),
            });
        }
    });
}

fn end_never() -> ! {
    loop {
        thread::park();
    }
}

fn answer(mut stream: UnixStream, asked: &Asked) -> Option<()> {
    stream.write_all(&packet(0, GREETING)).ok()?;
    read_packet(&mut stream)?;
    stream.write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0])).ok()?;
    let mut prepared = 0_u8;
    while let Some(request) = read_packet(&mut stream) {
        let text = String::from_utf8_lossy(&request[1..]).into_owned();
        let (told, reply) = match request[0] {
            0x03 => (format!("query {text}"), of_text(&text)),
            0x16 if text.starts_with("BEGIN") => (format!("prepare {text}"), error(1295)),
            0x16 => {
                prepared += 1;
                let told = [0, prepared, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                (format!("prepare {text}"), packet(1, &told))
            }
            0x17 => {
                let bytes: String = request[10..].iter().map(|b| format!("{b:02x}")).collect();
                (format!("execute {} {bytes}", request[1]), row(true))
            }
            _ => return None,
        };
        asked.lock().unwrap().push(told);
        stream.write_all(&reply).ok()?;
    }
    None
}

fn of_text(text: &str) -> Vec<u8> {
    match text {
        _ if text.starts_with("SELECT bytes") => row_of(b"\x02\xc3\x28"),
        _ if text.starts_with("SELECT sign") => row_of("\x04\u{fffd}7".as_bytes()),
        _ if text.starts_with("SELECT") => row(false),
        _ if text.starts_with("deadlock") => error(1213),
        _ if text.starts_with("stuck") => end_never(),
        _ if text.starts_with("CALL") => error(1062),
        _ if text.starts_with("BEGIN") => ok(3),
        _ => ok(2),
    }
}

fn drive(name: &str, mode: &str, script: &str, slice: &Json) -> (Vec<Json>, Vec<String>) {
    drive_on(name, mode, script, slice, None)
}

fn drive_on(
    name: &str,
    mode: &str,
    script: &str,
    slice: &Json,
    silent: Option<usize>,
) -> (Vec<Json>, Vec<String>) {
    let path = std::env::temp_dir().join(format!("steelyard-{name}-{}", std::process::id()));
    let asked = Asked::default();
    serve(&path, Arc::clone(&asked), silent);
    let plan = json!({
        "threads": 1, "mode": mode, "max_tries": 2, "scripts": [{"name": "s", "text": script}],
        "variables": {"name": "it's"},
        "drain_cap_ns": silent.map_or(5_000_000_000_u64, |_| 50_000_000),
        "arms": [{"name": "a", "host": path, "user": "u", "clients": 1,
                  "session": ["SET sql_mode = 'ANSI'"],
                  "connect_timeout_ns": 3_600_000_000_000_u64}],
    });
    let lines = [
        json!({"protocol": "mysql", "plan": plan}),
        json!({"slices": [slice]}),
    ];
    let input = lines.map(|line| line.to_string()).join("\n");
    let mut output = Vec::new();
    let outcome = steelyard_driver::drive(&mut Cursor::new(input), &mut output);
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8(output).unwrap();
    let answers = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(outcome.is_ok() || text.contains("error"), "{text}");
    let asked = asked.lock().unwrap().clone();
    (answers, asked)
}

#[test]
fn a_text_goes_out_with_its_values_and_its_rows_are_counted() {
    let script = "\\set a 40 + 2\nSELECT :a;\nUPDATE t SET x = :a;";
    let (answers, asked) = drive("simple", "simple", script, &json!({"arm": 0, "count": 2}));
    assert_eq!(answers[0]["connected"], json!({"a": [42]}));
    let slice = &answers[1]["slice"];
    assert_eq!(
        (&slice["transactions"], &slice["errors"]),
        (&json!(2), &json!({}))
    );
    assert_eq!(slice["rows"], json!(2));
    let once = ["query SELECT 42;", "query UPDATE t SET x = 42;"];
    let session = ["query SET sql_mode = 'ANSI'"];
    assert_eq!(asked, [&session[..], &once, &once].concat());
}

#[test]
fn a_statement_is_prepared_with_its_first_execution_and_executed_by_its_number_after_that() {
    let script = "\\set a 5\nSELECT :a;";
    let (answers, asked) = drive(
        "prepared",
        "prepared",
        script,
        &json!({"arm": 0, "count": 3}),
    );
    assert_eq!(answers[1]["slice"]["rows"], json!(3));
    // One parameter: no NULL, types follow, an integer, its value.
    let execution = "execute 1 000108000500000000000000";
    let wanted = [
        "query SET sql_mode = 'ANSI'",
        "prepare SELECT ?;",
        "query SELECT 5;",
        execution,
        execution,
    ];
    assert_eq!(asked, wanted);
}

#[test]
fn what_the_server_cannot_prepare_is_sent_as_a_text() {
    let script = "BEGIN;\nSELECT 1;\nCOMMIT;";
    let (answers, asked) = drive("begin", "prepared", script, &json!({"arm": 0, "count": 2}));
    assert_eq!(answers[1]["slice"]["errors"], json!({}));
    let asked: Vec<&str> = asked.iter().map(String::as_str).skip(1).collect();
    let first = [
        "prepare BEGIN;",
        "query BEGIN;",
        "prepare SELECT 1;",
        "query SELECT 1;",
    ];
    assert_eq!(asked[..4], first);
    assert_eq!(asked[6..], ["query BEGIN;", "execute 1 ", "execute 2 "]);
}

#[test]
fn a_text_that_would_be_a_parameter_is_a_literal_also_where_nothing_is_prepared() {
    let script = "BEGIN /* :name */ :name;";
    for (mode, sent) in [("prepared", "'it''s'"), ("simple", "it's")] {
        let name = format!("literal-{mode}");
        let (_, asked) = drive(&name, mode, script, &json!({"arm": 0, "count": 3}));
        let texts: Vec<&String> = asked
            .iter()
            .filter(|a| a.starts_with("query BEGIN"))
            .collect();
        assert_eq!(texts.len(), 3);
        for text in texts {
            assert!(text.ends_with(&format!(" {sent};")), "{text}");
        }
    }
}

#[test]
fn what_a_failed_call_may_have_left_open_is_rolled_back() {
    // The error says nothing of the transaction that the procedure has begun.
    for mode in ["simple", "prepared"] {
        let name = format!("rollback-{mode}");
        let (answers, asked) = drive(&name, mode, "CALL p;", &json!({"arm": 0, "count": 1}));
        assert_eq!(answers[1]["slice"]["errors"], json!({"1062": 1}));
        assert_eq!(
            asked[asked.len() - 2..],
            ["query CALL p;", "query ROLLBACK"]
        );
    }
}

#[test]
fn a_row_becomes_variables_in_both_modes() {
    let script = "SELECT 7 AS n \\gset\nUPDATE t SET x = :n;";
    for (mode, last) in [
        ("simple", "query UPDATE t SET x = 7;"),
        ("prepared", "execute 2 "),
    ] {
        let name = format!("captured-{mode}");
        let (answers, asked) = drive(&name, mode, script, &json!({"arm": 0, "count": 2}));
        assert_eq!(answers[1]["slice"]["errors"], json!({}), "{answers:?}");
        assert!(asked.last().unwrap().starts_with(last), "{asked:?}");
    }
}

#[test]
fn bytes_that_are_no_text_become_no_variable_that_a_script_reads() {
    let slice = json!({"arm": 0, "count": 1});
    for (name, taken) in [
        ("unread", "SELECT bytes AS n \\gset\nSELECT 1;"),
        ("sign", "SELECT sign AS n \\gset\nSELECT ':n';"),
    ] {
        let (answers, _) = drive(name, "simple", taken, &slice);
        assert_eq!(answers[1]["slice"]["errors"], json!({}), "{answers:?}");
    }
    let read = "SELECT bytes AS n \\gset\nUPDATE t SET x = :n;";
    let (answers, asked) = drive("bytes", "simple", read, &slice);
    let said = answers.last().unwrap().to_string();
    assert!(said.contains("is no text in UTF-8"), "{said}");
    assert!(
        !asked.iter().any(|text| text.contains("UPDATE")),
        "{asked:?}"
    );
}

#[test]
fn a_deadlock_is_tried_again_and_counted_by_its_number() {
    let slice = json!({"arm": 0, "count": 1});
    let (answers, asked) = drive("deadlock", "simple", "deadlock;", &slice);
    let slice = &answers[1]["slice"];
    assert_eq!(slice["errors"], json!({"1213": 1}));
    assert_eq!(slice["retries"], json!(1));
    assert_eq!(asked[1..], ["query deadlock;", "query deadlock;"]);
}

#[test]
fn an_order_to_stop_a_statement_has_two_seconds_however_long_a_connection_may_take() {
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        let slice = json!({"arm": 0, "length_ns": 50_000_000});
        sender.send(drive_on("stuck", "simple", "stuck;", &slice, Some(1)))
    });
    let (answers, _) = ended.recv_timeout(Duration::from_secs(120)).unwrap();
    let slice = &answers[1]["slice"];
    assert_eq!(slice["capped"], json!(1));
    assert_eq!(slice["errors"], json!({"2003": 1}));
    let said = slice.to_string();
    assert!(
        said.contains("could not cancel: no answer within 2 s"),
        "{said}"
    );
}

#[test]
fn a_mode_that_there_is_not_and_a_protocol_that_there_is_not_are_refused() {
    let slice = json!({"arm": 0, "count": 1});
    let (answers, _) = drive("extended", "extended", "SELECT 1;", &slice);
    let said = answers.last().unwrap().to_string();
    assert!(said.contains("no unnamed statements"), "{said}");
    let mut output = Vec::new();
    let line = json!({"protocol": "oracle", "plan": {}}).to_string();
    let refused = steelyard_driver::drive(&mut Cursor::new(line), &mut output).unwrap_err();
    assert!(format!("{refused:?}").contains("oracle"), "{refused:?}");
}
