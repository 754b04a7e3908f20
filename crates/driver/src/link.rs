//! A client's connection while it is driven: one request out, one reply in, without blocking.

use std::collections::BTreeMap;
use std::io;

use steelyard_wire::{Kept, Reply, Scanner, ServerError, Session, WireError};

use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::Sealed;

/// Most receives for one event, so that one endless reply cannot starve the others.
const RECEIVES_PER_EVENT: usize = 64;
/// Not a SQLSTATE of the server: the connection ended (connection_failure).
const CONNECTION_FAILURE: &str = "08006";
/// Bytes that are no TLS, or not those that were sent (protocol_violation).
const PROTOCOL_VIOLATION: &str = "08P01";

/// How a connection or a script came to its end.
#[derive(Debug)]
pub enum Loss {
    /// The connection is of no use any more.
    Connection { sqlstate: String, message: String },
    /// The script itself cannot go on.
    Script(String),
}

/// What bytes from the server led to.
pub enum Received {
    /// The reply goes on.
    Pending,
    /// The reply goes on, and more of it is already here.
    Endless,
    /// The reply is complete.
    Whole,
}

/// A connection, or the place of one that is lost.
#[derive(Default)]
pub struct Link {
    socket: Option<Socket>,
    /// What bytes go through, where they are encrypted.
    sealed: Option<Box<Sealed>>,
    session: Session,
    scanner: Scanner,
    /// The request that goes out; its memory is used again.
    out: Vec<u8>,
    sent: usize,
    /// Bytes go by a ring: what is to be sent is fetched by `take_unsent`, what was received is
    /// told to `hear`.
    by_ring: bool,
}

impl Link {
    /// Takes a connection that is ready for a query; its bytes go by system calls or by a ring.
    pub fn attach(&mut self, stream: Stream, session: Session, by_ring: bool) {
        *self = Link {
            socket: Some(stream.socket),
            sealed: stream.sealed,
            // What the server said of itself is of no use any more, and there may be thousands.
            session: Session {
                parameters: BTreeMap::new(),
                ..session
            },
            by_ring,
            ..Link::default()
        };
    }

    /// Closes the connection.
    pub fn detach(&mut self) {
        self.socket = None;
        self.sealed = None;
    }

    /// Says goodbye and closes the connection.
    #[cold]
    pub fn leave(&mut self) {
        self.by_ring = false;
        self.request()
            .extend_from_slice(&steelyard_wire::terminate());
        // The server may be gone already, which is as good as a goodbye.
        let _ = self.dispatch();
        self.detach();
    }

    pub fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What the last reply holds.
    #[inline]
    pub fn reply(&self) -> &Reply {
        self.scanner.reply()
    }

    /// Takes the error out of the last reply.
    pub fn take_error(&mut self) -> Option<Box<ServerError>> {
        self.scanner.take_error()
    }

    /// Takes the answers out of the last reply.
    pub fn take_kept(&mut self) -> Vec<Kept> {
        self.scanner.take_kept()
    }

    /// Where the next request is written.
    #[inline]
    pub fn request(&mut self) -> &mut Vec<u8> {
        self.out.clear();
        self.sent = 0;
        &mut self.out
    }

    /// The request as it stands, to be added to.
    #[inline]
    pub fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends what was added up in [`Link::pending`], which ends with so many Sync messages.
    pub fn send_pipeline(&mut self, syncs: u32) -> Result<(), Loss> {
        self.sent = 0;
        self.scanner.expect_reply();
        self.scanner.expect_syncs(syncs.saturating_sub(1));
        self.dispatch()
    }

    /// Sends the request, and keeps the rows of its reply.
    pub fn send_keeping(&mut self) -> Result<(), Loss> {
        self.scanner.expect_reply();
        self.scanner.keep_answers();
        self.dispatch()
    }

    /// Whether part of a request waits for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Sends the request: one call, unless the socket is full.
    #[inline]
    pub fn send(&mut self) -> Result<(), Loss> {
        self.scanner.expect_reply();
        self.dispatch()
    }

    /// A request as it is written goes out.
    #[inline]
    fn dispatch(&mut self) -> Result<(), Loss> {
        if self.sealed.is_some() {
            self.seal()?;
        }
        self.flush()
    }

    fn seal(&mut self) -> Result<(), Loss> {
        let Some(sealed) = &mut self.sealed else {
            return Ok(());
        };
        sealed.seal(&mut self.out).map_err(|error| broken(&error))
    }

    /// Sends the rest of a request.
    #[inline]
    pub fn flush(&mut self) -> Result<(), Loss> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        if self.by_ring {
            return Ok(());
        }
        match socket.send(&self.out[self.sent..]) {
            Ok(sent) => self.sent += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // What the server said before it closed is still to be read.
            Err(error) => return Err(self.last_words(&error.to_string())),
        }
        Ok(())
    }

    /// The request that a ring is to send: it stays as it is until the reply is whole.
    #[inline]
    pub fn take_unsent(&mut self) -> &[u8] {
        let from = self.sent;
        self.sent = self.out.len();
        &self.out[from..]
    }

    /// A ring could not send all of the request: the end of the stream will be received.
    #[cold]
    pub fn shut(&self) {
        if let Some(socket) = &self.socket {
            socket.shut();
        }
    }

    /// Follows the reply by what a ring received.
    #[inline]
    pub fn hear(&mut self, bytes: &[u8]) -> Result<Received, Loss> {
        match scan(&mut self.scanner, &mut self.sealed, bytes)? {
            true => Ok(Received::Whole),
            false => Ok(Received::Pending),
        }
    }

    /// A ring heard the end of the stream: by an error number of the system, or 0.
    #[cold]
    pub fn ended(&mut self, number: i32) -> Loss {
        match number {
            0 => self.end_of_stream("the server closed the connection"),
            _ => self.end_of_stream(&io::Error::from_raw_os_error(number).to_string()),
        }
    }

    /// Receives once (more only for long replies) and follows the reply. `closing`: the stream is
    /// known to end, and no further event will say so; it is read to its end.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], closing: bool) -> Result<Received, Loss> {
        let Some(socket) = &self.socket else {
            return Ok(Received::Pending);
        };
        for _ in 0..RECEIVES_PER_EVENT {
            let received = match socket.receive(buffer) {
                Ok(0) => return Err(self.end_of_stream("the server closed the connection")),
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Received::Pending)
                }
                Err(error) => return Err(self.end_of_stream(&error.to_string())),
            };
            match scan(&mut self.scanner, &mut self.sealed, &buffer[..received])? {
                true => return Ok(Received::Whole),
                false if received < buffer.len() && !closing => return Ok(Received::Pending),
                false => {}
            }
        }
        Ok(Received::Endless)
    }

    #[cold]
    fn last_words(&mut self, reason: &str) -> Loss {
        let mut buffer = [0; 4096];
        for _ in 0..RECEIVES_PER_EVENT {
            match self.receive(&mut buffer, true) {
                Ok(Received::Pending) => break,
                Ok(_) => {}
                Err(loss) => return loss,
            }
        }
        self.end_of_stream(reason)
    }

    #[cold]
    fn end_of_stream(&mut self, reason: &str) -> Loss {
        match self.scanner.take_error() {
            Some(error) if error.is_fatal() => Loss::Connection {
                sqlstate: error.sqlstate.clone(),
                message: error.message,
            },
            _ => Loss::Connection {
                sqlstate: CONNECTION_FAILURE.to_owned(),
                message: reason.to_owned(),
            },
        }
    }
}

/// Follows the reply by received bytes; true when it is complete.
#[inline]
fn scan(
    scanner: &mut Scanner,
    sealed: &mut Option<Box<Sealed>>,
    bytes: &[u8],
) -> Result<bool, Loss> {
    let scanned = match sealed {
        None => scanner.scan(bytes),
        Some(sealed) => return scan_sealed(scanner, sealed, bytes),
    };
    scanned.map_err(|error| malformed(&error))
}

fn scan_sealed(scanner: &mut Scanner, sealed: &mut Sealed, bytes: &[u8]) -> Result<bool, Loss> {
    let opened = sealed.open(bytes, |piece| scanner.scan(piece).map(drop));
    opened
        .map_err(|error| broken(&error))?
        .map_err(|error| malformed(&error))?;
    Ok(scanner.reply().is_ready())
}

/// The encryption does not hold.
#[cold]
fn broken(error: &io::Error) -> Loss {
    Loss::Connection {
        sqlstate: PROTOCOL_VIOLATION.to_owned(),
        message: error.to_string(),
    }
}

#[cold]
fn malformed(error: &WireError) -> Loss {
    Loss::Connection {
        sqlstate: error.sqlstate().to_owned(),
        message: error.to_string(),
    }
}
