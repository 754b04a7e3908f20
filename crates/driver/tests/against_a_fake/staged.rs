//! Runs a server that does everything right up to one state of the protocol, and there one thing
//! wrong.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{json, Value as Json};

use crate::fake::{error, message, ready, rows};

/// Where a connection stands when it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The client has asked whether TLS can be had.
    Encryption,
    /// It has sent the startup message.
    Startup,
    /// It has sent a password.
    Password,
    /// It has begun SCRAM.
    ScramFirst,
    /// It has proved that it knows the password.
    ScramProof,
    /// It is let in, and waits for the first ReadyForQuery.
    Parameters,
    /// It has sent a request.
    Request,
    /// It has received half a reply.
    Rows,
    /// Its second statement of a transaction, the first having opened a block.
    Block,
    /// It rolls back.
    Rollback,
    /// It has sent a pipeline.
    Pipeline,
    /// It has received half of a pipeline's replies.
    HalfPipeline,
    /// It sleeps in the middle of its script.
    Asleep,
    /// It has been served and asks for nothing.
    Idle,
}

/// What goes wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Garbage,
    /// A message in order that belongs elsewhere.
    WrongMessage,
    /// Half a message, then the end.
    Truncated,
    /// A message of two gigabytes, says its length.
    Oversized,
    /// FATAL, then the end.
    Error,
    End,
    Silence,
}

pub const FAULTS: [Fault; 7] = [
    Fault::Garbage,
    Fault::WrongMessage,
    Fault::Truncated,
    Fault::Oversized,
    Fault::Error,
    Fault::End,
    Fault::Silence,
];

/// A listening server whose first connection goes wrong.
pub struct StagedServer {
    port: u16,
    state: State,
    fault: Fault,
}

impl StagedServer {
    pub fn start(state: State, fault: Fault) -> StagedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicU32::new(0));
        // The thread ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connections = Arc::clone(&connections);
                thread::spawn(move || serve(stream, &connections, state, fault));
            }
        });
        StagedServer { port, state, fault }
    }

    /// A plan for one client, which waits for silence only, and not long.
    pub fn plan(&self, script: &str) -> Json {
        let patience_ms = if self.fault == Fault::Silence {
            150
        } else {
            60_000
        };
        let mut arm = json!({
            "name": "arm", "host": "127.0.0.1", "port": self.port, "user": "u", "database": "d",
            "password": "secret", "clients": 1, "connect_timeout_ns": patience_ms * 1_000_000_u64,
        });
        if self.state == State::Encryption {
            arm["tls"] = json!({
                "mode": "require", "server_name": "localhost", "tells_name": true, "direct": false,
                "roots": "/nowhere/root.crt", "system_roots": false, "revoked": "/nowhere/root.crl",
                "certificate": null, "key": "/nowhere/key", "least_version": "TLSv1.2",
            });
        }
        json!({
            "io": crate::IO, "threads": 1, "seed": 7, "drain_cap_ns": 100_000_000_u64,
            "mode": "prepared", "arms": [arm],
            "scripts": [{"name": "script", "text": script, "weight": 1}],
        })
    }
}

/// One connection; `connections` counts those that asked for a session.
fn serve(
    mut stream: TcpStream,
    connections: &AtomicU32,
    state: State,
    fault: Fault,
) -> io::Result<()> {
    let mut startup = read_body(&mut stream)?;
    let cancel = startup[..4] == [4, 210, 22, 46];
    let first = !cancel && connections.fetch_add(1, Ordering::SeqCst) == 0;
    let state = Some(state).filter(|_| first);
    if startup[..4] == [4, 210, 22, 47] {
        if state == Some(State::Encryption) {
            return fail_to_encrypt(&mut stream, fault);
        }
        stream.write_all(b"N")?;
        startup = read_body(&mut stream)?;
    }
    if cancel || startup.len() < 4 {
        return Ok(());
    }
    if let Some(asked) = state {
        if shake(&mut stream, asked)? {
            return fail(&mut stream, asked, fault);
        }
    }
    let key = message(b'K', &[0, 0, 4, 0, 0, 0, 0, 99]);
    stream.write_all(&[message(b'R', &[0; 4]), key, ready(b'I')].concat())?;
    answer(&mut stream, state, fault)
}

/// The handshake up to a state; whether that lies in it.
fn shake(stream: &mut TcpStream, state: State) -> io::Result<bool> {
    match state {
        State::Startup => {}
        State::Password => {
            stream.write_all(&message(b'R', &[0, 0, 0, 3]))?;
            read_message(stream)?;
        }
        State::ScramFirst | State::ScramProof => {
            stream.write_all(&message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"))?;
            let said = String::from_utf8_lossy(&read_message(stream)?.1).into_owned();
            if state == State::ScramProof {
                let nonce = said.split("r=").nth(1).unwrap_or("");
                let challenge = format!("\0\0\0\x0br={nonce}x,s=c2FsdA==,i=4096");
                stream.write_all(&message(b'R', challenge.as_bytes()))?;
                read_message(stream)?;
            }
        }
        State::Parameters => stream.write_all(&message(b'R', &[0; 4]))?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Requests, each answered by a row, until one goes wrong.
fn answer(stream: &mut TcpStream, state: Option<State>, fault: Fault) -> io::Result<()> {
    for number in 0.. {
        let sql = read_request(stream)?;
        match state {
            Some(asked @ (State::Request | State::Pipeline)) => return fail(stream, asked, fault),
            Some(asked @ (State::Rows | State::HalfPipeline)) => {
                let whole = rows(3, b'I');
                stream.write_all(&whole[..whole.len() - 20])?;
                return fail(stream, asked, fault);
            }
            Some(asked @ State::Block) if number == 1 => return fail(stream, asked, fault),
            Some(asked @ State::Rollback) if sql == "ROLLBACK" => {
                return fail(stream, asked, fault)
            }
            Some(State::Rollback) => {
                stream.write_all(&[error("ERROR", "40001"), ready(b'E')].concat())?;
            }
            Some(asked @ (State::Asleep | State::Idle)) => {
                stream.write_all(&rows(1, b'I'))?;
                if asked == State::Asleep || number == 4 {
                    thread::sleep(Duration::from_millis(10));
                    return fail(stream, asked, fault);
                }
            }
            _ => stream.write_all(&rows(1, b'I'))?,
        }
    }
    Ok(())
}

fn fail(stream: &mut TcpStream, state: State, fault: Fault) -> io::Result<()> {
    let in_handshake = matches!(
        state,
        State::Startup
            | State::Password
            | State::ScramFirst
            | State::ScramProof
            | State::Parameters
    );
    match fault {
        Fault::Garbage => stream.write_all(b"\xff\xfe\0garbage, and more of it")?,
        Fault::WrongMessage if in_handshake => stream.write_all(&message(b'D', b"\0\0"))?,
        Fault::WrongMessage => stream.write_all(&message(b'R', &[0; 4]))?,
        Fault::Truncated => return stream.write_all(&error("FATAL", "57P01")[..20]),
        Fault::Oversized => stream.write_all(b"E\x7f\xff\xff\xff and so on")?,
        Fault::Error => return stream.write_all(&error("FATAL", "57P01")),
        Fault::End => return Ok(()),
        Fault::Silence => {}
    }
    until_the_client_has_gone(stream)
}

fn fail_to_encrypt(stream: &mut TcpStream, fault: Fault) -> io::Result<()> {
    match fault {
        Fault::Garbage => stream.write_all(b"\xff\xfe\0garbage")?,
        Fault::WrongMessage => stream.write_all(b"SHTTP/1.1 400 Bad Request\r\n\r\n")?,
        Fault::Truncated => return stream.write_all(b"S\x16\x03\x03\x00\x40\x02\x00"),
        Fault::Oversized => {
            stream.write_all(&[b"S\x16\x03\x03\xff\xff".as_slice(), &[2; 99]].concat())?
        }
        Fault::Error => return stream.write_all(&error("FATAL", "57P01")),
        Fault::End => return Ok(()),
        Fault::Silence => {}
    }
    until_the_client_has_gone(stream)
}

fn until_the_client_has_gone(stream: &mut TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

/// A whole request: the text of a simple query, or nothing.
fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    loop {
        match read_message(stream)? {
            (b'Q', body) => return Ok(String::from_utf8_lossy(&body[..body.len() - 1]).into()),
            (b'S', _) => return Ok(String::new()),
            (b'X', _) => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
    }
}

fn read_message(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    Ok((kind[0], read_body(stream)?))
}

fn read_body(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body)?;
    Ok(body)
}
