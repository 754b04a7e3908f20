//! Opens connections to PostgreSQL, encrypted or not, and sends cancel requests.

use std::io;
use std::time::{Duration, Instant};

use steelyard_wire::{cancel, Channel, Session, Startup, WireError};

use crate::connection::refusal::ConnectError as Refusal;
use crate::connection::socket::Socket;
use crate::connection::stream::Stream;
use crate::postgres::server::{Address, EncryptionAttempt, Server, TLS_PROTOCOL};

/// The request to encrypt, which stands before everything else (PostgreSQL, "SSLRequest").
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// For a cancel request: the server answers by closing the connection.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// Why there is no connection to PostgreSQL.
pub type ConnectError = Refusal<WireError>;

impl From<WireError> for ConnectError {
    fn from(error: WireError) -> ConnectError {
        Refusal::Wire(error)
    }
}

/// Whether a connection with encryption instead of without, or without instead of with, may
/// succeed.
fn may_depend_on_encryption(error: &ConnectError) -> bool {
    matches!(
        error,
        ConnectError::Tls(_) | ConnectError::Wire(WireError::Refused(_))
    )
}

/// Connects and authenticates; the socket blocks.
pub fn connect(server: &Server) -> Result<(Stream, Session), ConnectError> {
    let deadline = Instant::now() + server.patience;
    let mut before: Option<ConnectError> = None;
    for &attempt in server.attempts() {
        let error = match connect_once(server, attempt, deadline) {
            Ok(connected) => return Ok(connected),
            Err(error) => error.timed(server.patience),
        };
        let again = may_depend_on_encryption(&error);
        let reason = match before.take() {
            None => error,
            Some(first) => ConnectError::Both(Box::new(first), Box::new(error)),
        };
        if !again {
            return Err(reason);
        }
        before = Some(reason);
    }
    Err(before.unwrap_or(ConnectError::Unencrypted))
}

fn connect_once(
    server: &Server,
    attempt: EncryptionAttempt,
    deadline: Instant,
) -> Result<(Stream, Session), ConnectError> {
    let mut stream = open(server, attempt, deadline)?;
    let tls = stream.tls.as_deref();
    let channel = Channel {
        encrypted: tls.is_some(),
        end_point: tls.and_then(|tls| tls.end_point()),
        binding: server.binding,
    };
    let mut startup =
        Startup::through(server.credentials.clone(), channel).accepting(server.methods.clone());
    stream.send_all(&startup.begin()?)?;
    let mut buffer = [0; 4096];
    let mut answer = Vec::new();
    loop {
        stream.set_deadline(deadline)?;
        let received = match stream.receive(&mut buffer) {
            // An encrypted server refuses certificates only here, in TLS 1.3.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(ConnectError::Tls(error))
            }
            received => received?,
        };
        if received == 0 {
            return Err(ConnectError::cut());
        }
        let session = startup.feed(&buffer[..received], &mut answer)?;
        if !answer.is_empty() {
            stream.send_all(&answer)?;
            answer.clear();
        }
        if let Some(session) = session {
            return Ok((stream, session));
        }
    }
}

/// Connects to the server's address and encrypts the connection; no message of PostgreSQL's own
/// protocol is sent yet.
pub(super) fn open(
    server: &Server,
    attempt: EncryptionAttempt,
    deadline: Instant,
) -> Result<Stream, ConnectError> {
    let socket = match &server.address {
        Address::Local { directory, port } => {
            Socket::connect_local(&Address::socket_path(directory, *port))?
        }
        Address::Remote { host, port } => Socket::connect_remote(host, *port, deadline)?,
    };
    socket.set_deadline(deadline)?;
    let encryption = server.encryption.as_ref();
    let Some(encryption) = encryption.filter(|_| attempt != EncryptionAttempt::Plain) else {
        return Ok(Stream::plain(socket));
    };
    if !encryption.direct && !request_encryption(&socket)? {
        return match attempt {
            EncryptionAttempt::Preferred => Ok(Stream::plain(socket)),
            _ => Err(ConnectError::Unencrypted),
        };
    }
    let stream = Stream::encrypted(socket, encryption).map_err(ConnectError::Tls)?;
    let protocol = stream.tls.as_deref().and_then(|tls| tls.protocol());
    if encryption.direct && protocol != Some(TLS_PROTOCOL) {
        let why = "the server does not know PostgreSQL's protocol by its name in TLS";
        let error = io::Error::new(io::ErrorKind::InvalidData, why);
        return Err(ConnectError::Tls(error));
    }
    Ok(stream)
}

/// Whether the server is ready for a TLS handshake.
fn request_encryption(socket: &Socket) -> Result<bool, ConnectError> {
    socket.send_all(&SSL_REQUEST)?;
    // One byte is taken and no more: what comes after it in plain text could be injected
    // (CVE-2021-23222).
    let mut answer = [0];
    if socket.receive(&mut answer)? == 0 {
        return Err(ConnectError::Tls(io::ErrorKind::UnexpectedEof.into()));
    }
    match answer[0] {
        b'S' => Ok(true),
        b'N' => Ok(false),
        other => {
            let other = other.escape_ascii();
            let why = format!("the server answered '{other}' to a request to encrypt");
            Err(ConnectError::Tls(io::Error::other(why)))
        }
    }
}

/// Sends a cancel request and waits until the server has taken it.
pub fn send_cancel(server: &Server, process_id: i32, secret_key: i32) -> io::Result<()> {
    let deadline = Instant::now() + CANCEL_TIME;
    let mut stream = open_for_cancel(server, deadline)?;
    stream.set_deadline(deadline)?;
    stream.send_all(&cancel(process_id, secret_key))?;
    stream.receive(&mut [0; 16])?;
    Ok(())
}

/// The key in a cancel request is a secret: it is encrypted where the connection may have been.
fn open_for_cancel(server: &Server, deadline: Instant) -> io::Result<Stream> {
    let mut attempts = server.attempts().to_vec();
    attempts.sort_by_key(|attempt| *attempt == EncryptionAttempt::Plain);
    let mut last = io::Error::other("the server does not support encryption");
    for attempt in attempts {
        match open(server, attempt, deadline) {
            Ok(stream) => return Ok(stream),
            Err(ConnectError::Socket(error) | ConnectError::Tls(error)) => last = error,
            Err(_) => {}
        }
    }
    Err(last)
}
