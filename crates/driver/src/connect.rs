//! Opens a connection, and asks a server to cancel what another one does.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use steelyard_wire::{cancel, Channel, Session, Startup, WireError};

use crate::server::{Cover, Server};
use crate::stream::{OpenError, Stream};

/// For a cancel request: the server answers by closing the connection.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// Why no connection could be made.
#[derive(Debug)]
pub enum ConnectError {
    Socket(io::Error),
    /// The two sides could not agree on an encrypted connection.
    Tls(io::Error),
    /// The server does not encrypt.
    Unencrypted,
    Wire(WireError),
    /// No answer within this time.
    Late(Duration),
    /// By two ways, each with its own reason.
    Both(Box<ConnectError>, Box<ConnectError>),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Socket(error) => error.fmt(out),
            ConnectError::Tls(error) => write!(out, "could not encrypt: {error}"),
            ConnectError::Unencrypted => {
                out.write_str("the server does not support encryption, which sslmode requires")
            }
            ConnectError::Wire(error) => error.fmt(out),
            ConnectError::Late(patience) => {
                write!(out, "no answer within {} s", patience.as_secs_f64())
            }
            ConnectError::Both(first, second) => write!(out, "{second}; before: {first}"),
        }
    }
}

impl ConnectError {
    /// Whether the server may think otherwise of a connection with, or without, encryption.
    fn may_be_covers_fault(&self) -> bool {
        matches!(
            self,
            ConnectError::Tls(_) | ConnectError::Wire(WireError::Refused(_))
        )
    }

    fn timed(self, patience: Duration) -> ConnectError {
        match self {
            ConnectError::Socket(error) | ConnectError::Tls(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                ConnectError::Late(patience)
            }
            error => error,
        }
    }
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> ConnectError {
        ConnectError::Socket(error)
    }
}

impl From<WireError> for ConnectError {
    fn from(error: WireError) -> ConnectError {
        ConnectError::Wire(error)
    }
}

impl From<OpenError> for ConnectError {
    fn from(error: OpenError) -> ConnectError {
        match error {
            OpenError::Socket(error) => ConnectError::Socket(error),
            OpenError::Tls(error) => ConnectError::Tls(error),
            OpenError::Unencrypted => ConnectError::Unencrypted,
        }
    }
}

/// Connects and authenticates; the socket blocks until told otherwise.
pub fn connect(server: &Server) -> Result<(Stream, Session), ConnectError> {
    let deadline = Instant::now() + server.patience;
    let mut before: Option<ConnectError> = None;
    for &cover in server.covers() {
        let error = match connect_once(server, cover, deadline) {
            Ok(connected) => return Ok(connected),
            Err(error) => error.timed(server.patience),
        };
        let again = error.may_be_covers_fault();
        let told = match before.take() {
            None => error,
            Some(first) => ConnectError::Both(Box::new(first), Box::new(error)),
        };
        if !again {
            return Err(told);
        }
        before = Some(told);
    }
    Err(before.unwrap_or(ConnectError::Unencrypted))
}

fn connect_once(
    server: &Server,
    cover: Cover,
    deadline: Instant,
) -> Result<(Stream, Session), ConnectError> {
    let mut stream = Stream::open(server, cover, deadline)?;
    let sealed = stream.sealed.as_deref();
    let channel = Channel {
        encrypted: sealed.is_some(),
        end_point: sealed.and_then(|sealed| sealed.end_point()),
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
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
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
    let mut covers = server.covers().to_vec();
    covers.sort_by_key(|cover| *cover == Cover::Plain);
    let mut last = io::Error::other("the server does not support encryption");
    for cover in covers {
        match Stream::open(server, cover, deadline) {
            Ok(stream) => return Ok(stream),
            Err(OpenError::Socket(error) | OpenError::Tls(error)) => last = error,
            Err(OpenError::Unencrypted) => {}
        }
    }
    Err(last)
}
