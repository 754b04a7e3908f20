//! Encrypts connections of clients, with a certificate that was given for the port.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::{ServerConfig, ServerConnection};
use steelyard_driver::{certificates, private_key, DriveError, Socket};

const BUFFER: usize = 16 << 10;

/// Reads a certificate and its key.
pub fn server_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, DriveError> {
    let chain = certificates(certificate, "certificate")?.ok_or_else(|| {
        DriveError::new(format!(
            "certificate file \"{}\" does not exist",
            certificate.display()
        ))
    })?;
    let key = private_key(key, certificate)?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| DriveError::new("cannot encrypt").detail(error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| DriveError::new("could not use the certificate").detail(error))?;
    let mut config = config;
    // libpq's direct negotiation requires it (since 17).
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Arc::new(config))
}

/// One encrypted connection of a client.
pub struct ClientTls {
    connection: ServerConnection,
    spare: Vec<u8>,
}

impl ClientTls {
    /// Performs the handshake over a socket that blocks until its deadline. `came`: bytes of it
    /// that were received before. What the client sent behind it is appended to `early`, decrypted.
    pub fn handshake(
        socket: &Socket,
        config: &Arc<ServerConfig>,
        came: &[u8],
        early: &mut Vec<u8>,
    ) -> io::Result<ClientTls> {
        let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        connection.set_buffer_limit(None);
        let mut tls = ClientTls {
            connection,
            spare: Vec::new(),
        };
        let mut buffer = [0; BUFFER];
        buffer[..came.len()].copy_from_slice(came);
        let mut received = came.len();
        while tls.connection.is_handshaking() {
            if received == 0 {
                received = socket.receive(&mut buffer)?;
            }
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let taken = tls.decrypt(&buffer[..received], |piece| early.extend_from_slice(piece));
            // An alert says why, also where the handshake failed.
            tls.spare.clear();
            while tls.connection.wants_write() {
                tls.connection.write_tls(&mut tls.spare)?;
            }
            socket.send_all(&tls.spare)?;
            taken?;
            received = 0;
        }
        Ok(tls)
    }

    /// Replaces bytes by their encrypted form.
    pub fn encrypt(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.spare.clear();
        self.connection.writer().write_all(bytes)?;
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.spare)?;
        }
        std::mem::swap(bytes, &mut self.spare);
        Ok(())
    }

    /// Decrypts received bytes; `take` gets the plain text piece by piece.
    pub fn decrypt(&mut self, mut received: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<()> {
        while !received.is_empty() {
            let read = self.connection.read_tls(&mut received)?;
            self.connection
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            loop {
                let length = match self.connection.reader().fill_buf() {
                    Ok([]) => break,
                    Ok(piece) => {
                        take(piece);
                        piece.len()
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                self.connection.reader().consume(length);
            }
            if read == 0 {
                break; // after its close_notify nothing is taken any more
            }
        }
        Ok(())
    }
}
