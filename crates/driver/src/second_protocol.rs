//! Tests that the driver drives any protocol behind the wire trait: one of plain lines, here.
//!
//! A request is the text of a statement and a line feed; the reply is `rows N` or `error CODE
//! text`.

use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;
use serde_json::{json, Value as Json};
use steelyard_script::{Dialect, Piece, Scope, Sql};

use crate::connection::socket::Socket;
use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::plan::{Mode, Weight};
use crate::protocol::{ArmLoad, CapturedResult, ErrorClass, ErrorCodes, Fault, Protocol, Wire};
use crate::threads::coordinator::drive;

struct Lines;

#[derive(Deserialize)]
struct LineArm {
    path: PathBuf,
    clients: usize,
}

impl ArmLoad for LineArm {
    fn name(&self) -> &str {
        "lines"
    }

    fn clients(&self) -> usize {
        self.clients
    }

    fn weight(&self) -> Weight {
        Weight::default()
    }
}

impl Protocol for Lines {
    type ArmPlan = LineArm;
    type Server = PathBuf;
    type Session = ();
    type Statement = Vec<Piece>;
    type Wire = LineWire;

    const CODES: ErrorCodes = ErrorCodes {
        cannot_connect: "no connection",
        connection_lost: "lost",
        protocol_violation: "garbage",
        open_transaction: "open",
        no_row: "none",
        many_rows: "many",
    };
    const DIALECT: Dialect = Dialect::Postgres;

    fn server(plan: &LineArm) -> Result<PathBuf, DriveError> {
        Ok(plan.path.clone())
    }

    fn location(server: &PathBuf) -> String {
        server.display().to_string()
    }

    fn connect(server: &PathBuf) -> io::Result<(Stream, ())> {
        Ok((Stream::plain(Socket::connect_local(server)?), ()))
    }

    fn session_id(_: &()) -> i64 {
        7
    }

    fn cancel(_: &PathBuf, _: &()) -> io::Result<()> {
        Ok(())
    }

    fn compile(sql: Sql, _: Mode, _: usize) -> io::Result<Vec<Piece>> {
        Ok(sql.pieces)
    }

    fn refuse_pipeline(_: Mode) -> Option<&'static str> {
        Some("lines have no pipelines")
    }

    fn stall(seconds: f64) -> Vec<Piece> {
        vec![Piece::Literal(format!("sleep {seconds}"))]
    }

    fn rollback() -> Vec<Piece> {
        vec![Piece::Literal("rollback".to_owned())]
    }

    fn classify(code: &str) -> ErrorClass {
        match code {
            "again" => ErrorClass::Serialization,
            _ => ErrorClass::Other,
        }
    }

    fn row_values(_: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault> {
        Ok(Vec::new())
    }
}

#[derive(Default)]
struct LineWire {
    line: Vec<u8>,
    complete: bool,
    rows: u64,
    error: Option<Fault>,
}

impl Wire<Lines> for LineWire {
    fn new(_: usize) -> LineWire {
        LineWire::default()
    }

    fn reset(&mut self) {
        *self = LineWire::default();
    }

    fn execute(&mut self, statement: &Vec<Piece>, scope: &Scope, out: &mut Vec<u8>) {
        self.reset();
        for piece in statement {
            match piece {
                Piece::Literal(text) | Piece::Perhaps(_, text) => out.extend(text.bytes()),
                Piece::Variable(slot) => scope.values[*slot].write_text(out),
            }
        }
        out.push(b'\n');
    }

    fn forget_prepared(&mut self) {}

    fn terminate(out: &mut Vec<u8>) {
        out.extend(b"bye\n");
    }

    fn scan(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        self.line.extend(bytes);
        let text = String::from_utf8_lossy(&self.line);
        let Some(line) = text.strip_suffix('\n') else {
            return Ok(false);
        };
        self.complete = true;
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["rows", rows] => self.rows = rows.parse().unwrap(),
            ["error", code, message] => self.error = Some(Fault::new(code, message)),
            _ => return Err(Fault::new(Lines::CODES.protocol_violation, line)),
        }
        Ok(true)
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn has_error(&self) -> bool {
        self.error.is_some()
    }

    fn take_error(&mut self) -> Option<Fault> {
        self.error.take()
    }

    fn take_fatal_error(&mut self) -> Option<Fault> {
        None
    }

    fn in_transaction(&self) -> bool {
        false
    }

    fn has_captured(&self) -> bool {
        false
    }

    fn take_captured(&mut self) -> Vec<CapturedResult> {
        Vec::new()
    }
}

/// Answers each line by `reply`, on every connection, until the clients have gone.
fn serve(path: &Path, reply: fn(&str) -> Option<&'static str>) {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, reply));
        }
    });
}

fn answer(mut stream: UnixStream, reply: fn(&str) -> Option<&'static str>) -> io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        match reply(&line?) {
            Some(reply) => stream.write_all(reply.as_bytes())?,
            None => return Ok(()),
        }
    }
    Ok(())
}

fn slice(script: &str, slice: Json, reply: fn(&str) -> Option<&'static str>) -> Json {
    let name = format!("steelyard-lines-{}-{}", std::process::id(), script.len());
    let path = std::env::temp_dir().join(name);
    serve(&path, reply);
    let plan = json!({
        "threads": 2, "max_tries": 2, "scripts": [{"name": "s", "text": script, "rows": 3}],
        "arms": [{"path": path, "clients": 3}],
    });
    let lines = [json!({"plan": plan}), json!({"slices": [slice]})];
    let input = lines.map(|line| line.to_string()).join("\n");
    let mut output = Vec::new();
    let outcome = drive::<Lines>(&mut Cursor::new(input), &mut output);
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8(output).unwrap();
    assert!(outcome.is_ok(), "{text}");
    let answers: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers[0]["connected"], json!({"lines": [7, 7, 7]}));
    answers[1]["slice"].clone()
}

#[test]
fn a_second_protocol_is_driven_with_its_own_statements_and_rows() {
    let slice = slice(
        "\\set a 40 + 2\nfind :a;",
        json!({"arm": 0, "count": 30}),
        |line| {
            Some(match line {
                "find 42;" => "rows 3\n",
                _ => "error wrong line\n",
            })
        },
    );
    assert_eq!(slice["errors"], json!({}));
    assert_eq!(
        (&slice["transactions"], &slice["rows"]),
        (&json!(30), &json!(90))
    );
}

#[test]
fn a_second_protocol_has_its_own_error_codes_and_classes() {
    let retried = slice("again;", json!({"arm": 0, "count": 4}), |_| {
        Some("error again later\n")
    });
    assert_eq!(
        (&retried["errors"], &retried["retries"]),
        (&json!({"again": 4}), &json!(4))
    );
    let lost = slice("go away;", json!({"arm": 0, "each": 1}), |_| None);
    assert_eq!(lost["errors"], json!({"lost": 3}));
}
