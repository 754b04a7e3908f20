//! Opens connections to MySQL and MariaDB, encrypted or not, and stops the statement of another.

use std::io;
use std::time::{Duration, Instant};

use steelyard_mysql_wire::{
    quit, simple_query, Channel, Greeting, Scanner, Session, Startup, WireError, GREETING_LIMIT,
};

use crate::connection::refusal::ConnectError as Refusal;
use crate::connection::socket::Socket;
use crate::connection::stream::Stream;
use crate::mysql::server::{Address, Server};
use crate::tls::SslMode;

/// The server's own time to stop a statement is not awaited: only that it knows.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// ER_SECURE_TRANSPORT_REQUIRED.
const ONLY_ENCRYPTED: u16 = 3159;

/// Why there is no connection to MySQL or MariaDB.
pub type ConnectError = Refusal<WireError>;

impl From<WireError> for ConnectError {
    fn from(error: WireError) -> ConnectError {
        Refusal::Wire(error)
    }
}

/// The server wants nothing but encrypted connections.
fn asks_for_encryption(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Wire(WireError::Refused(error)) if error.code == ONLY_ENCRYPTED)
}

/// Connects, authenticates and begins the session; the socket blocks.
pub fn connect(server: &Server) -> Result<(Stream, Session), ConnectError> {
    let deadline = Instant::now() + server.patience;
    connect_by(server, deadline).map_err(|error| error.timed(server.patience))
}

fn connect_by(server: &Server, deadline: Instant) -> Result<(Stream, Session), ConnectError> {
    let mode = server.encryption.as_ref().map(|encryption| encryption.mode);
    let first = connect_once(
        server,
        mode.filter(|mode| *mode != SslMode::Allow),
        deadline,
    );
    match (first, mode) {
        (Err(error), Some(SslMode::Allow)) if asks_for_encryption(&error) => {
            connect_once(server, Some(SslMode::Require), deadline)
        }
        // A server that encrypts in none of our ways: 5.7 as some build it knows TLS 1.1 alone.
        (Err(ConnectError::Tls(_)), Some(SslMode::Prefer)) => connect_once(server, None, deadline),
        (first, _) => first,
    }
}

/// `mode`: how it is encrypted; `None`: not at all.
fn connect_once(
    server: &Server,
    mode: Option<SslMode>,
    deadline: Instant,
) -> Result<(Stream, Session), ConnectError> {
    let (socket, local) = match &server.address {
        Address::Local(path) => (Socket::connect_local(path)?, true),
        Address::Remote { host, port } => (Socket::connect_remote(host, *port, deadline)?, false),
    };
    socket.set_deadline(deadline)?;
    let greeting = greeting(&socket)?;
    let encrypted = mode.is_some() && greeting.encrypts();
    if mode.is_some_and(|mode| mode >= SslMode::Require) && !encrypted {
        return Err(ConnectError::Unencrypted);
    }
    let mut stream = match server.encryption.as_ref().filter(|_| encrypted) {
        None => Stream::plain(socket),
        Some(encryption) => {
            socket.send_all(&greeting.request_encryption(&server.credentials))?;
            Stream::encrypted(socket, encryption).map_err(ConnectError::Tls)?
        }
    };
    let channel = match mode.filter(|_| encrypted) {
        Some(mode) if mode >= SslMode::VerifyCa => Channel::Verified,
        Some(_) => Channel::Encrypted,
        None if local => Channel::Local,
        None => Channel::Plain,
    };
    let startup = Startup::new(greeting, server.credentials.clone(), channel);
    let session = authenticate(&mut stream, startup, deadline)?;
    for statement in &server.session {
        execute(&mut stream, statement, deadline)?;
    }
    Ok((stream, session))
}

/// Reads the server's greeting. Nothing after it is taken: bytes that come before the encryption
/// could be injected.
fn greeting(socket: &Socket) -> Result<Greeting, ConnectError> {
    let mut held = Vec::new();
    let mut buffer = [0; GREETING_LIMIT];
    loop {
        let received = socket.receive(&mut buffer)?;
        if received == 0 {
            return Err(ConnectError::cut());
        }
        held.extend_from_slice(&buffer[..received]);
        if let Some(greeting) = Greeting::read(&held)? {
            return Ok(greeting);
        }
    }
}

fn authenticate(
    stream: &mut Stream,
    mut startup: Startup,
    deadline: Instant,
) -> Result<Session, ConnectError> {
    stream.send_all(&startup.begin()?)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let received = receive(stream, &mut buffer, deadline)?;
        let session = startup.feed(&buffer[..received], &mut answer)?;
        if !answer.is_empty() {
            stream.send_all(&answer)?;
            answer.clear();
        }
        if let Some(session) = session {
            return Ok(session);
        }
    }
}

fn receive(
    stream: &mut Stream,
    buffer: &mut [u8],
    deadline: Instant,
) -> Result<usize, ConnectError> {
    stream.set_deadline(deadline)?;
    match stream.receive(buffer) {
        Ok(0) => Err(ConnectError::cut()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(ConnectError::Tls(error)),
        received => Ok(received?),
    }
}

/// Executes a statement whose rows, if it has any, are of no use.
fn execute(stream: &mut Stream, sql: &str, deadline: Instant) -> Result<(), ConnectError> {
    stream.send_all(&simple_query(sql)?)?;
    let mut scanner = Scanner::new();
    scanner.expect_result(false);
    let mut buffer = [0; 4096];
    loop {
        let received = receive(stream, &mut buffer, deadline)?;
        if scanner.scan(&buffer[..received])? {
            break;
        }
    }
    match scanner.take_error() {
        None => Ok(()),
        Some(mut error) => {
            error.message = format!("{}: {sql}", error.message);
            Err(WireError::Refused(error).into())
        }
    }
}

/// Stops the statement of another connection; the server has taken the order when this returns.
pub fn kill_query(server: &Server, connection_id: u32) -> Result<(), ConnectError> {
    let deadline = Instant::now() + CANCEL_TIME;
    kill_query_by(server, connection_id, deadline).map_err(|error| error.timed(CANCEL_TIME))
}

fn kill_query_by(
    server: &Server,
    connection_id: u32,
    deadline: Instant,
) -> Result<(), ConnectError> {
    let (mut stream, _) = connect_by(server, deadline)?;
    let order = format!("KILL QUERY {connection_id}");
    execute(&mut stream, &order, deadline)?;
    stream.send_all(quit())?;
    Ok(())
}
