//! Opens a connection, and asks a server to cancel what another one does.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use steelyard_wire::{cancel, Credentials, Session, Startup, WireError};

use crate::socket::{Socket, Target};

/// From the first byte to the first ReadyForQuery.
const HANDSHAKE_TIME: Duration = Duration::from_secs(20);
/// For a cancel request: the server answers by closing the connection.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// Why no connection could be made.
#[derive(Debug)]
pub enum ConnectError {
    Socket(io::Error),
    Wire(WireError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Socket(error) if error.kind() == io::ErrorKind::WouldBlock => {
                write!(out, "no answer within {} s", HANDSHAKE_TIME.as_secs())
            }
            ConnectError::Socket(error) => error.fmt(out),
            ConnectError::Wire(error) => error.fmt(out),
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

/// Connects and authenticates; the socket blocks until told otherwise.
pub fn connect(
    target: &Target,
    credentials: &Credentials,
) -> Result<(Socket, Session), ConnectError> {
    let deadline = Instant::now() + HANDSHAKE_TIME;
    let socket = Socket::connect(target, deadline)?;
    let mut startup = Startup::new(credentials.clone());
    socket.set_deadline(deadline)?;
    socket.send_all(&startup.begin()?)?;
    let mut buffer = [0; 4096];
    let mut answer = Vec::new();
    loop {
        socket.set_deadline(deadline)?;
        let received = socket.receive(&mut buffer)?;
        if received == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let session = startup.feed(&buffer[..received], &mut answer)?;
        if !answer.is_empty() {
            socket.send_all(&answer)?;
            answer.clear();
        }
        if let Some(session) = session {
            return Ok((socket, session));
        }
    }
}

/// Sends a cancel request and waits until the server has taken it.
pub fn send_cancel(target: &Target, process_id: i32, secret_key: i32) -> io::Result<()> {
    let deadline = Instant::now() + CANCEL_TIME;
    let socket = Socket::connect(target, deadline)?;
    socket.set_deadline(deadline)?;
    socket.send_all(&cancel(process_id, secret_key))?;
    socket.receive(&mut [0; 16])?;
    Ok(())
}
