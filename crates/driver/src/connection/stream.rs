//! Wraps a connection that blocks, plain or encrypted: for handshakes, single queries, cancelling.

use std::io;
use std::time::Instant;

use crate::connection::socket::Socket;
use crate::tls::{Encryption, TlsSession};

/// A socket, and the encryption of its bytes.
pub struct Stream {
    pub socket: Socket,
    pub tls: Option<Box<TlsSession>>,
    /// Bytes that were decrypted and not received yet.
    decrypted: Vec<u8>,
}

impl Stream {
    pub fn plain(socket: Socket) -> Stream {
        Stream {
            socket,
            tls: None,
            decrypted: Vec::new(),
        }
    }

    pub fn encrypted(socket: Socket, encryption: &Encryption) -> io::Result<Stream> {
        let tls = TlsSession::handshake(&mut &socket, encryption)?;
        Ok(Stream::with_session(socket, tls))
    }

    /// After a handshake.
    pub fn with_session(socket: Socket, tls: TlsSession) -> Stream {
        Stream {
            tls: Some(Box::new(tls)),
            ..Stream::plain(socket)
        }
    }

    /// Lets blocking calls end at `deadline` with an error.
    pub fn set_deadline(&self, deadline: Instant) -> io::Result<()> {
        self.socket.set_deadline(deadline)
    }

    /// Sends everything.
    pub fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => self.socket.send_all(bytes),
            Some(tls) => {
                let mut request = bytes.to_vec();
                tls.encrypt(&mut request)?;
                self.socket.send_all(&request)
            }
        }
    }

    /// Receives what is there; 0 at the end of the stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.receive(buffer);
        };
        while self.decrypted.is_empty() {
            let received = self.socket.receive(buffer)?;
            if received == 0 {
                return Ok(0);
            }
            let decrypted = &mut self.decrypted;
            let take = |piece: &[u8]| {
                decrypted.extend_from_slice(piece);
                Ok::<(), ()>(())
            };
            let _ = tls.decrypt(&buffer[..received], take)?;
        }
        let length = self.decrypted.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.decrypted[..length]);
        self.decrypted.drain(..length);
        Ok(length)
    }
}
