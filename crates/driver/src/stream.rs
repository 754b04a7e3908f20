//! A connected stream while it blocks, plain or encrypted: for handshakes, questions, goodbyes.

use std::io;
use std::time::Instant;

use crate::server::{Cover, Server};
use crate::socket::Socket;
use crate::tls::Sealed;

/// The request to encrypt, which stands before everything else (PostgreSQL, "SSLRequest").
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A socket, and what its bytes go through.
pub struct Stream {
    pub socket: Socket,
    pub sealed: Option<Box<Sealed>>,
    /// Bytes that were opened and not received yet.
    opened: Vec<u8>,
}

/// Why no encrypted connection could be made.
#[derive(Debug)]
pub enum OpenError {
    Socket(io::Error),
    /// The two sides could not agree on an encrypted connection.
    Tls(io::Error),
    /// The server does not encrypt.
    Unencrypted,
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Socket(error)
    }
}

impl Stream {
    /// Connects, and encrypts as `cover` says; nothing of PostgreSQL's own is said yet.
    pub fn open(server: &Server, cover: Cover, deadline: Instant) -> Result<Stream, OpenError> {
        let mut stream = Stream {
            socket: Socket::connect(&server.target, deadline)?,
            sealed: None,
            opened: Vec::new(),
        };
        stream.socket.set_deadline(deadline)?;
        let asked = server.encryption.as_ref();
        let Some(encryption) = asked.filter(|_| cover != Cover::Plain) else {
            return Ok(stream);
        };
        if !encryption.direct {
            stream.socket.send_all(&SSL_REQUEST)?;
            // One byte is taken and no more: what came after it in plain text would be somebody
            // else's (CVE-2021-23222).
            let mut answer = [0];
            if stream.socket.receive(&mut answer)? == 0 {
                return Err(OpenError::Tls(io::ErrorKind::UnexpectedEof.into()));
            }
            match (answer[0], cover) {
                (b'S', _) => {}
                (b'N', Cover::Offered) => return Ok(stream),
                (b'N', _) => return Err(OpenError::Unencrypted),
                (other, _) => {
                    let other = other.escape_ascii();
                    let why = format!("the server answered '{other}' to a request to encrypt");
                    return Err(OpenError::Tls(io::Error::other(why)));
                }
            }
        }
        let sealed = Sealed::shake(&stream.socket, encryption).map_err(OpenError::Tls)?;
        stream.sealed = Some(Box::new(sealed));
        Ok(stream)
    }

    /// Lets blocking calls end at `deadline` with an error.
    pub fn set_deadline(&self, deadline: Instant) -> io::Result<()> {
        self.socket.set_deadline(deadline)
    }

    /// Sends everything.
    pub fn send_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.sealed {
            None => self.socket.send_all(bytes),
            Some(sealed) => {
                let mut request = bytes.to_vec();
                sealed.seal(&mut request)?;
                self.socket.send_all(&request)
            }
        }
    }

    /// Receives what is there; 0 at the end of the stream.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(sealed) = &mut self.sealed else {
            return self.socket.receive(buffer);
        };
        while self.opened.is_empty() {
            let received = self.socket.receive(buffer)?;
            if received == 0 {
                return Ok(0);
            }
            let opened = &mut self.opened;
            let take = |piece: &[u8]| {
                opened.extend_from_slice(piece);
                Ok::<(), ()>(())
            };
            let _ = sealed.open(&buffer[..received], take)?;
        }
        let length = self.opened.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.opened[..length]);
        self.opened.drain(..length);
        Ok(length)
    }
}
