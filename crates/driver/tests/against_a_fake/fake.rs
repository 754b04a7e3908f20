//! Runs a server that speaks just enough of the protocol, and misbehaves on request.

use std::collections::HashMap;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{json, Value as Json};

/// How the server answers one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Send these bytes.
    Bytes(Vec<u8>),
    /// Send these bytes one at a time.
    Dripping(Vec<u8>),
    /// Send these bytes, then close the connection.
    Last(Vec<u8>),
    /// Send nothing, ever.
    Silence,
    /// Send rows until the client has gone.
    Endless,
}

/// One request as the server sees it: what it holds, where it came from.
#[derive(Clone, Debug)]
pub struct Request {
    /// Text of a simple query, or of the statement that is executed.
    pub sql: String,
    /// A Parse message was part of it.
    pub parses: bool,
    /// One gave a name that a statement of the connection has.
    pub parses_again: bool,
    /// The first parameter, as text.
    pub parameter: Option<String>,
    /// How many requests the server has seen before, on all connections.
    pub number: usize,
    /// Which connection, from 0.
    pub connection: u32,
}

type Behaviour = dyn Fn(&Request) -> Reply + Send + Sync;

struct State {
    wait: fn(u32) -> Duration,
    behaviour: Box<Behaviour>,
    requests: Mutex<Vec<Request>>,
    cancels: Mutex<Vec<(i32, i32)>>,
    connections: AtomicU32,
    number: AtomicUsize,
}

/// A listening fake server; it refuses connections once it is dropped.
pub struct FakeServer {
    directory: PathBuf,
    state: Arc<State>,
}

static SERVERS: AtomicU32 = AtomicU32::new(0);

impl FakeServer {
    pub fn start(behaviour: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> FakeServer {
        FakeServer::start_slowly(|_| Duration::ZERO, behaviour)
    }

    /// A server that lets each connection, by its number, wait for so long.
    pub fn start_slowly(
        wait: fn(u32) -> Duration,
        behaviour: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> FakeServer {
        let server = SERVERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("steelyard-fake-{}-{server}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        // A process of this number may have left one when it was killed.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).unwrap();
        let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
        let state = Arc::new(State {
            wait,
            behaviour: Box::new(behaviour),
            requests: Mutex::default(),
            cancels: Mutex::default(),
            connections: AtomicU32::new(0),
            number: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        // The thread ends with the test process; a dropped server has no socket file any more.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client that has gone ends its connection.
                thread::spawn(move || serve(stream, &state));
            }
        });
        FakeServer { directory, state }
    }

    /// No new connection is taken from now on.
    pub fn refuse(&self) {
        let _ = std::fs::remove_file(self.directory.join(".s.PGSQL.5432"));
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap().clone()
    }

    pub fn cancels(&self) -> Vec<(i32, i32)> {
        self.state.cancels.lock().unwrap().clone()
    }

    /// A plan for one client of this server; `changes` replaces keys of the plan.
    pub fn plan(&self, script: &str, changes: Json) -> Json {
        let mut plan = json!({
            "io": crate::IO,
            "threads": 1, "seed": 7, "mode": "prepared", "drain_cap_ns": 200_000_000_u64,
            "scripts": [{"name": "script", "text": script, "weight": 1, "rows": 1}],
            "variables": {},
            "arms": [{"name": "arm", "host": self.directory, "port": 5432, "user": "u",
                      "database": "d", "password": null, "clients": 1}],
        });
        for (key, value) in changes.as_object().unwrap() {
            plan[key] = value.clone();
        }
        plan
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Runs the driver over a plan and batches of slices; every answer, in order.
pub fn drive(plan: &Json, batches: &[Json]) -> Vec<Json> {
    let mut input = json!({ "plan": plan }).to_string() + "\n";
    for batch in batches {
        input += &(json!({ "slices": batch }).to_string() + "\n");
    }
    input += "{\"end\": true}\n";
    let mut output = Vec::new();
    // The error, if any, is the last answer too.
    let _ = steelyard_driver::drive(&mut Cursor::new(input), &mut output);
    let text = String::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The slices among the answers.
pub fn slices(answers: &[Json]) -> Vec<Json> {
    answers
        .iter()
        .filter_map(|answer| answer.get("slice").cloned())
        .collect()
}

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

/// A whole reply with `rows` rows of one value.
pub fn rows(rows: usize, status: u8) -> Vec<u8> {
    let row = message(b'D', b"\0\x01\0\0\0\x017").repeat(rows);
    let around = [message(b'1', b""), message(b'2', b"")].concat();
    [around, row, message(b'C', b"SELECT 1\0"), ready(status)].concat()
}

pub fn error(severity: &str, sqlstate: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{sqlstate}\0Mthe words of {sqlstate}\0\0");
    message(b'E', fields.as_bytes())
}

fn serve(mut stream: UnixStream, state: &State) -> io::Result<()> {
    let startup = read_body(&mut stream)?;
    if startup[..4] == [4, 210, 22, 46] {
        let number = |at: usize| i32::from_be_bytes(startup[at..at + 4].try_into().unwrap());
        state.cancels.lock().unwrap().push((number(4), number(8)));
        return Ok(());
    }
    let connection = state.connections.fetch_add(1, Ordering::SeqCst);
    thread::sleep((state.wait)(connection));
    let process_id = (1000 + connection).to_be_bytes();
    let key = message(b'K', &[process_id, 99_u32.to_be_bytes()].concat());
    stream.write_all(&[message(b'R', &[0; 4]), key, ready(b'I')].concat())?;
    let mut statements = HashMap::new();
    loop {
        let Some(mut request) = read_request(&mut stream, &mut statements)? else {
            return Ok(());
        };
        request.number = state.number.fetch_add(1, Ordering::SeqCst);
        request.connection = connection;
        state.requests.lock().unwrap().push(request.clone());
        match (state.behaviour)(&request) {
            Reply::Bytes(bytes) => stream.write_all(&bytes)?,
            Reply::Dripping(bytes) => {
                for byte in bytes {
                    stream.write_all(&[byte])?;
                    thread::yield_now();
                }
            }
            Reply::Last(bytes) => return stream.write_all(&bytes),
            Reply::Silence => thread::sleep(Duration::from_secs(3600)),
            Reply::Endless => loop {
                stream.write_all(&message(b'D', b"\0\x01\0\0\0\x017").repeat(100))?;
            },
        }
    }
}

fn read_request(
    stream: &mut UnixStream,
    statements: &mut HashMap<Vec<u8>, String>,
) -> io::Result<Option<Request>> {
    let mut request = Request {
        sql: String::new(),
        parses: false,
        parses_again: false,
        parameter: None,
        number: 0,
        connection: 0,
    };
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        let body = read_body(stream)?;
        let mut words = body.split(|&byte| byte == 0);
        let mut word = || words.next().unwrap_or_default().to_vec();
        match kind[0] {
            b'X' => return Ok(None),
            b'Q' => {
                request.sql = text(&word());
                return Ok(Some(request));
            }
            b'P' => {
                request.parses = true;
                let name = word();
                let is_named = !name.is_empty();
                let earlier = statements.insert(name, text(&word()));
                request.parses_again |= is_named && earlier.is_some();
            }
            b'C' => {
                statements.remove(&body[1..body.len() - 1]);
            }
            b'B' => {
                let (_portal, name) = (word(), word());
                request.sql = statements.get(&name).cloned().unwrap_or_default();
                request.parameter = first_parameter(&body[name.len() + 2..]);
            }
            b'S' => return Ok(Some(request)),
            _ => {}
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches(';')
        .to_owned()
}

/// The first parameter of a Bind: after its formats and their number.
fn first_parameter(rest: &[u8]) -> Option<String> {
    if rest[2..4] == [0, 0] {
        return None;
    }
    let length = i32::from_be_bytes(rest[4..8].try_into().unwrap());
    let length = usize::try_from(length).ok()?;
    Some(String::from_utf8(rest[8..8 + length].to_vec()).unwrap())
}

fn read_body(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body)?;
    Ok(body)
}
