//! Drives a client's connection under load: one request out, one reply in, without blocking.

use std::io;
use std::time::{Duration, Instant};

use steelyard_script::Scope;

use crate::connection::socket::Socket;
use crate::connection::stream::Stream;
use crate::protocol::{Fault, Protocol, Wire};
use crate::tls::TlsSession;

/// How long a server may take to stop a statement.
const STOP_TIME: Duration = Duration::from_secs(2);

/// Most receives for one event, so that one endless reply cannot starve the others.
const RECEIVES_PER_EVENT: usize = 64;

/// Why a client cannot go on.
#[derive(Debug)]
pub enum ClientError {
    /// The connection is of no use any more.
    Connection(Fault),
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
pub struct Link<P: Protocol> {
    socket: Option<Socket>,
    /// The encryption of its bytes, where they are encrypted.
    tls: Option<Box<TlsSession>>,
    /// Encodes requests and follows replies.
    pub wire: P::Wire,
    /// The request that goes out; its memory is used again.
    out: Vec<u8>,
    sent: usize,
    /// Bytes go by a ring: it sends what `take_unsent` returns, and passes what it receives to
    /// `feed`.
    by_ring: bool,
}

impl<P: Protocol> Link<P> {
    /// For a plan of so many statements; not connected yet.
    pub fn new(statements: usize) -> Link<P> {
        Link {
            socket: None,
            tls: None,
            wire: P::Wire::new(statements),
            out: Vec::new(),
            sent: 0,
            by_ring: false,
        }
    }

    /// Takes a connection that is ready for a statement; its bytes go by system calls or by a ring.
    pub fn attach(&mut self, stream: Stream, by_ring: bool) {
        self.socket = Some(stream.socket);
        self.tls = stream.tls;
        self.wire.reset();
        self.begin_request();
        self.by_ring = by_ring;
    }

    /// Closes the connection.
    pub fn detach(&mut self) {
        self.socket = None;
        self.tls = None;
    }

    /// Ends the session in order and closes the connection.
    #[cold]
    pub fn terminate(&mut self) {
        self.by_ring = false;
        self.begin_request();
        P::Wire::terminate(&mut self.out);
        // An error is ignored: the server may be gone already.
        let _ = self.dispatch();
        self.detach();
    }

    /// Stops the statement under way, and waits until the server has: for two seconds at most, and
    /// not for an answer of which a part is lost with a ring, whose operations have ended.
    #[cold]
    pub fn stop(&mut self) -> io::Result<()> {
        let mut request = self.out.split_off(self.sent);
        let mut signal = Vec::new();
        self.wire.stop(&mut signal);
        if let Some(tls) = &mut self.tls {
            tls.encrypt(&mut signal)?;
        }
        request.extend_from_slice(&signal);
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        socket.set_blocking(Instant::now() + STOP_TIME)?;
        socket.send_all(&request)?;
        let mut buffer = [0; 4096];
        loop {
            let received = socket.receive(&mut buffer)?;
            match scan::<P>(&mut self.wire, &mut self.tls, &buffer[..received]) {
                Ok(false) if received > 0 => {}
                _ => return Ok(()),
            }
        }
    }

    pub fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    /// Sends a statement: one call, unless the socket is full.
    #[inline]
    pub fn execute(&mut self, statement: &P::Statement, scope: &Scope) -> Result<(), ClientError> {
        self.begin_request();
        self.wire.execute(statement, scope, &mut self.out);
        self.dispatch()
    }

    /// Has statements prepared; false: all of them are already, and nothing was sent.
    pub fn prepare<'a>(
        &mut self,
        statements: impl Iterator<Item = &'a P::Statement>,
    ) -> Result<bool, ClientError> {
        self.begin_request();
        if !self.wire.prepare(statements, &mut self.out) {
            return Ok(false);
        }
        self.dispatch().map(|()| true)
    }

    pub fn begin_pipeline(&mut self) {
        self.begin_request();
        self.wire.begin_pipeline();
    }

    pub fn add_to_pipeline(&mut self, statement: &P::Statement, scope: &Scope) {
        self.wire.add_to_pipeline(statement, scope, &mut self.out);
    }

    pub fn sync_pipeline(&mut self) {
        self.wire.sync_pipeline(&mut self.out);
    }

    /// Sends the pipeline as one request.
    pub fn end_pipeline(&mut self) -> Result<(), ClientError> {
        self.wire.end_pipeline(&mut self.out);
        self.sent = 0;
        self.dispatch()
    }

    #[inline]
    fn begin_request(&mut self) {
        self.out.clear();
        self.sent = 0;
    }

    /// Whether part of a request waits for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }

    #[inline]
    fn dispatch(&mut self) -> Result<(), ClientError> {
        if self.tls.is_some() {
            self.encrypt()?;
        }
        self.flush()
    }

    fn encrypt(&mut self) -> Result<(), ClientError> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let encrypted = tls.encrypt(&mut self.out);
        encrypted.map_err(|error| ClientError::Connection(tls_fault::<P>(&error)))
    }

    /// Sends the rest of a request.
    #[inline]
    pub fn flush(&mut self) -> Result<(), ClientError> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        if self.by_ring {
            return Ok(());
        }
        match socket.send(&self.out[self.sent..]) {
            Ok(sent) => self.sent += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(self.drain_for_error(&error.to_string())),
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
    pub fn shut_down(&self) {
        if let Some(socket) = &self.socket {
            socket.shut_down();
        }
    }

    /// Follows the reply by what a ring received.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Received, ClientError> {
        match scan::<P>(&mut self.wire, &mut self.tls, bytes) {
            Ok(true) => Ok(Received::Whole),
            Ok(false) => Ok(Received::Pending),
            Err(fault) => Err(ClientError::Connection(fault)),
        }
    }

    /// A ring received the end of the stream: with an error number of the system, or 0.
    #[cold]
    pub fn ended(&mut self, number: i32) -> ClientError {
        match number {
            0 => self.end_of_stream("the server closed the connection"),
            _ => self.end_of_stream(&io::Error::from_raw_os_error(number).to_string()),
        }
    }

    /// Receives once (more only for long replies) and follows the reply. `closing`: the stream is
    /// known to end, and no further event will say so; it is read to its end.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], closing: bool) -> Result<Received, ClientError> {
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
            match scan::<P>(&mut self.wire, &mut self.tls, &buffer[..received]) {
                Ok(true) => return Ok(Received::Whole),
                Ok(false) if received < buffer.len() && !closing => return Ok(Received::Pending),
                Ok(false) => {}
                Err(fault) => return Err(ClientError::Connection(fault)),
            }
        }
        Ok(Received::Endless)
    }

    /// Reads what the server sent before it closed the connection, for the reason in it.
    #[cold]
    fn drain_for_error(&mut self, reason: &str) -> ClientError {
        let mut buffer = [0; 4096];
        for _ in 0..RECEIVES_PER_EVENT {
            match self.receive(&mut buffer, true) {
                Ok(Received::Pending) => break,
                Ok(_) => {}
                Err(error) => return error,
            }
        }
        self.end_of_stream(reason)
    }

    #[cold]
    fn end_of_stream(&mut self, reason: &str) -> ClientError {
        let reported = self.wire.take_fatal_error();
        let fault = reported.unwrap_or_else(|| Fault::new(P::CODES.connection_lost, reason));
        ClientError::Connection(fault)
    }
}

/// Follows the reply by received bytes; true when it is complete.
#[inline]
fn scan<P: Protocol>(
    wire: &mut P::Wire,
    tls: &mut Option<Box<TlsSession>>,
    bytes: &[u8],
) -> Result<bool, Fault> {
    match tls {
        None => wire.scan(bytes),
        Some(tls) => scan_encrypted::<P>(wire, tls, bytes),
    }
}

fn scan_encrypted<P: Protocol>(
    wire: &mut P::Wire,
    tls: &mut TlsSession,
    bytes: &[u8],
) -> Result<bool, Fault> {
    let decrypted = tls.decrypt(bytes, |piece| wire.scan(piece).map(drop));
    decrypted.map_err(|error| tls_fault::<P>(&error))??;
    Ok(wire.is_complete())
}

/// The encryption does not hold.
#[cold]
fn tls_fault<P: Protocol>(error: &io::Error) -> Fault {
    Fault::new(P::CODES.protocol_violation, error)
}
