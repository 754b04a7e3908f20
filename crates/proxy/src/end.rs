//! Holds one end of a connection that is passed through: a socket, its encryption, and what it has
//! not taken yet.

use std::io;

use steelyard_driver::{Socket, TlsSession};

use crate::client_tls::ClientTls;

/// How the bytes of an end are encrypted.
pub enum Cipher {
    Plain,
    Server(Box<TlsSession>),
    Client(Box<ClientTls>),
}

/// One end. Its socket does not block once it is passed through.
pub struct End {
    pub socket: Socket,
    pub cipher: Cipher,
    /// Bytes that the socket has not taken, encrypted, from `sent` on.
    waiting: Vec<u8>,
    sent: usize,
    /// Nothing more comes from it.
    pub ended: bool,
    /// Its other direction is shut down, once all has been sent.
    pub finished: bool,
}

impl End {
    pub fn new(socket: Socket, cipher: Cipher) -> End {
        End {
            socket,
            cipher,
            waiting: Vec::new(),
            sent: 0,
            ended: false,
            finished: false,
        }
    }

    /// Whether bytes wait for the socket.
    pub fn is_full(&self) -> bool {
        self.sent < self.waiting.len()
    }

    /// Receives what is there and appends it, decrypted, to `plain`; false: there was nothing.
    pub fn receive(&mut self, buffer: &mut [u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        let received = match self.socket.receive(buffer) {
            Ok(0) => {
                self.ended = true;
                return Ok(true);
            }
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        let received = &buffer[..received];
        match &mut self.cipher {
            Cipher::Plain => plain.extend_from_slice(received),
            Cipher::Client(tls) => tls.decrypt(received, |piece| plain.extend_from_slice(piece))?,
            Cipher::Server(tls) => {
                let taken = tls.decrypt(received, |piece| {
                    plain.extend_from_slice(piece);
                    Ok::<(), ()>(())
                })?;
                debug_assert!(taken.is_ok());
            }
        }
        Ok(true)
    }

    /// Sends bytes; what the socket does not take waits. Whether all of it went.
    pub fn send(&mut self, plain: &[u8]) -> io::Result<bool> {
        if plain.is_empty() {
            return Ok(!self.is_full());
        }
        let encrypted = match &mut self.cipher {
            Cipher::Plain => None,
            Cipher::Client(tls) => {
                let mut bytes = plain.to_vec();
                tls.encrypt(&mut bytes)?;
                Some(bytes)
            }
            Cipher::Server(tls) => {
                let mut bytes = plain.to_vec();
                tls.encrypt(&mut bytes)?;
                Some(bytes)
            }
        };
        let bytes = encrypted.as_deref().unwrap_or(plain);
        let mut at = 0;
        while !self.is_full() && at < bytes.len() {
            match self.socket.send(&bytes[at..]) {
                Ok(sent) => at += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.waiting.extend_from_slice(&bytes[at..]);
        Ok(!self.is_full())
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn send_waiting(&mut self) -> io::Result<()> {
        while self.is_full() {
            match self.socket.send(&self.waiting[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.waiting.clear();
        self.sent = 0;
        Ok(())
    }
}
