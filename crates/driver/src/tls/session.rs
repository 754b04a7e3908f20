//! Encrypts one connection: its handshake, and what is sent and received through it.

use std::io::{self, BufRead, Write};

use rustls::{CertificateError, ClientConnection, Error};

use crate::connection::socket::Socket;
use crate::tls::certificate::end_point;
use crate::tls::encryption::Encryption;

/// How webpki names a certificate without the extensions of version 3.
const OLD_FORM: &str = "UnsupportedCertVersion";

/// Bytes taken by one receive during the handshake.
const BUFFER: usize = 4096;

/// What carries the bytes of a handshake to the server and back; it blocks.
pub trait Carrier {
    fn send_all(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Receives what is there; 0 at the end of the stream.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Carrier for &Socket {
    fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        Socket::send_all(self, bytes)
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Socket::receive(self, buffer)
    }
}

/// The state of one encrypted connection.
pub struct TlsSession {
    connection: ClientConnection,
    /// Memory for the next encrypted request.
    spare: Vec<u8>,
}

impl TlsSession {
    /// Performs the handshake over a connection that blocks until a deadline of its own.
    pub fn handshake(
        carrier: &mut impl Carrier,
        encryption: &Encryption,
    ) -> io::Result<TlsSession> {
        let mut connection = encryption.connection()?;
        // A request is encrypted as a whole, however long it is.
        connection.set_buffer_limit(None);
        let mut tls = TlsSession {
            connection,
            spare: Vec::new(),
        };
        let mut buffer = [0; BUFFER];
        while tls.connection.is_handshaking() {
            tls.send_own(carrier)?;
            let received = carrier.receive(&mut buffer)?;
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Err(error) = tls.take(&buffer[..received]) {
                // An alert tells the server why; it may be gone already.
                let _ = tls.send_own(carrier);
                return Err(error);
            }
        }
        tls.send_own(carrier)?;
        Ok(tls)
    }

    /// The protocol that both sides have agreed on by name (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.connection.alpn_protocol()
    }

    /// The hash of the server's certificate, to which authentication can be bound.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        end_point(self.connection.peer_certificates()?.first()?)
    }

    /// Protocol and cipher, as OpenSSL and PostgreSQL name them.
    pub fn describe(&self) -> String {
        let version = match self.connection.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = self.connection.negotiated_cipher_suite();
        let cipher = suite.map_or("", |suite| suite.suite().as_str().unwrap_or(""));
        format!("{version} {}", cipher.replacen("TLS13_", "TLS_", 1))
    }

    /// Replaces a request by its encrypted form.
    pub fn encrypt(&mut self, request: &mut Vec<u8>) -> io::Result<()> {
        self.spare.clear();
        self.connection.writer().write_all(request)?;
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.spare)?;
        }
        std::mem::swap(request, &mut self.spare);
        Ok(())
    }

    /// Decrypts received bytes; `take` gets the plain text piece by piece, until it fails.
    pub fn decrypt<E>(
        &mut self,
        mut received: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> io::Result<Result<(), E>> {
        loop {
            let more = self.take_some(&mut received)?;
            while let Some(piece) = self.piece()? {
                let length = piece.len();
                if let Err(error) = take(piece) {
                    return Ok(Err(error));
                }
                self.connection.reader().consume(length);
            }
            if !more {
                return Ok(Ok(()));
            }
        }
    }

    fn piece(&mut self) -> io::Result<Option<&[u8]>> {
        match self.connection.reader().into_first_chunk() {
            Ok([]) => Ok(None),
            Ok(piece) => Ok(Some(piece)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, mut received: &[u8]) -> io::Result<()> {
        while self.take_some(&mut received)? {}
        Ok(())
    }

    /// Takes what fits; whether there is more.
    fn take_some(&mut self, received: &mut &[u8]) -> io::Result<bool> {
        if received.is_empty() {
            return Ok(false);
        }
        let taken = self.connection.read_tls(received)?;
        let processed = self.connection.process_new_packets();
        processed.map_err(|error| explained(&error))?;
        // After the server's close_notify nothing is taken any more.
        Ok(taken > 0 && !received.is_empty())
    }

    fn send_own(&mut self, carrier: &mut impl Carrier) -> io::Result<()> {
        let mut out = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut out)?;
        }
        match out.is_empty() {
            true => Ok(()),
            false => carrier.send_all(&out),
        }
    }
}

/// In words that say what to look at; rustls's own otherwise.
pub(super) fn explained(error: &Error) -> io::Error {
    use CertificateError as Certificate;
    let why = match error {
        Error::InvalidCertificate(error) => match error {
            Certificate::UnknownIssuer => {
                "the server's certificate was signed by none of the trusted ones".to_owned()
            }
            Certificate::Revoked => "the server's certificate was revoked".to_owned(),
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "the server's certificate has expired".to_owned()
            }
            Certificate::NotValidForNameContext {
                expected,
                presented,
            } => format!(
                "the server's certificate does not match host name \"{}\" (it holds: {})",
                expected.to_str(),
                presented.join(", ")
            ),
            // rustls passes what its verifier says as a text of its own.
            Certificate::Other(other) if other.to_string().contains(OLD_FORM) => {
                "the server's certificate has the form of X.509 version 1, which is not supported: \
                 make one with extensions (openssl x509 -req -extfile …)"
                    .to_owned()
            }
            error => format!("the server's certificate is not accepted: {error}"),
        },
        Error::AlertReceived(alert) => format!("the server ended the TLS handshake: {alert:?}"),
        error => error.to_string(),
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}
