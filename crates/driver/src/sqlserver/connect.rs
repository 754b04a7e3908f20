//! Opens connections to SQL Server: what both sides encrypt, TLS, login, the session's settings.

use std::io;
use std::time::Instant;

use steelyard_tds_wire::{
    begin_batch, end_batch, wrap_handshake, write_wide, HandshakeUnwrapper, Prelogin, Privacy,
    Scanner, Session, Startup, WireError, PRELOGIN_LIMIT,
};

use crate::connection::refusal::ConnectError as Refusal;
use crate::connection::socket::Socket;
use crate::connection::stream::Stream;
use crate::sqlserver::server::Server;
use crate::tls::{Carrier, Encryption, TlsSession};

/// Why there is no connection to SQL Server.
pub type ConnectError = Refusal<WireError>;

impl From<WireError> for ConnectError {
    fn from(error: WireError) -> ConnectError {
        Refusal::Wire(error)
    }
}

/// Connects, logs in and begins the session; the socket blocks.
pub fn connect(server: &Server) -> Result<(Stream, Session), ConnectError> {
    let deadline = Instant::now() + server.patience;
    connect_by(server, deadline).map_err(|error| error.timed(server.patience))
}

fn connect_by(server: &Server, deadline: Instant) -> Result<(Stream, Session), ConnectError> {
    let socket = Socket::connect_remote(&server.host, server.port, deadline)?;
    socket.set_deadline(deadline)?;
    let encryption = server.encryption.as_ref();
    let mut stream = match encryption.filter(|_| server.privacy == Privacy::Strict) {
        Some(encryption) => Stream::encrypted(socket, encryption).map_err(ConnectError::Tls)?,
        None => Stream::plain(socket),
    };
    stream.send_all(&Prelogin::request(server.privacy))?;
    prelogin(&mut stream, deadline)?.agree(server.privacy)?;
    if let (Privacy::Encrypted, Some(encryption)) = (server.privacy, encryption) {
        stream = encrypt_in_packets(stream.socket, encryption).map_err(ConnectError::Tls)?;
    }
    let session = log_in(&mut stream, server, deadline)?;
    for statement in &server.session {
        execute(&mut stream, statement, deadline)?;
    }
    Ok((stream, session))
}

/// What the server says of encryption. No more than that is taken of the stream.
fn prelogin(stream: &mut Stream, deadline: Instant) -> Result<Prelogin, ConnectError> {
    let mut held = Vec::new();
    let mut buffer = [0; PRELOGIN_LIMIT];
    loop {
        let received = receive(stream, &mut buffer, deadline)?;
        held.extend_from_slice(&buffer[..received]);
        if let Some(answer) = Prelogin::read(&held)? {
            return Ok(answer);
        }
    }
}

/// Carries a TLS handshake inside of packets, as versions before 8.0 do.
struct InPackets<'a> {
    socket: &'a Socket,
    unwrapper: HandshakeUnwrapper,
}

impl Carrier for InPackets<'_> {
    fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut packets = Vec::new();
        wrap_handshake(bytes, &mut packets);
        self.socket.send_all(&packets)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut content = Vec::new();
        while content.is_empty() {
            let received = self.socket.receive(buffer)?;
            if received == 0 {
                return Ok(0);
            }
            let taken = self.unwrapper.feed(&buffer[..received], &mut content);
            taken.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        // The headers are gone: it is never more than was received.
        buffer[..content.len()].copy_from_slice(&content);
        Ok(content.len())
    }
}

fn encrypt_in_packets(socket: Socket, encryption: &Encryption) -> io::Result<Stream> {
    let mut carrier = InPackets {
        socket: &socket,
        unwrapper: HandshakeUnwrapper::default(),
    };
    let tls = TlsSession::handshake(&mut carrier, encryption)?;
    if !carrier.unwrapper.is_between_packets() {
        let why = "the server's handshake ends within a packet";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(Stream::with_session(socket, tls))
}

fn log_in(
    stream: &mut Stream,
    server: &Server,
    deadline: Instant,
) -> Result<Session, ConnectError> {
    let mut startup = Startup::new(server.credentials.clone(), server.privacy);
    stream.send_all(&startup.begin()?)?;
    let mut buffer = [0; 4096];
    loop {
        let received = receive(stream, &mut buffer, deadline)?;
        if let Some(session) = startup.feed(&buffer[..received])? {
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
    let mut request = Vec::new();
    let start = begin_batch(0, &mut request);
    write_wide(sql, &mut request);
    end_batch(start, &mut request);
    stream.send_all(&request)?;
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    let mut buffer = [0; 4096];
    loop {
        let received = receive(stream, &mut buffer, deadline)?;
        if scanner.scan(&buffer[..received])? {
            break;
        }
    }
    match scanner.take_error() {
        None if scanner.reply().in_transaction => Err(WireError::Unsupported(format!(
            "a session cannot begin with an open transaction: {sql}"
        ))
        .into()),
        None => Ok(()),
        Some(mut error) => {
            error.message = format!("{}: {sql}", error.message);
            Err(WireError::Refused(error).into())
        }
    }
}
