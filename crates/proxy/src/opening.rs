//! Reads what a client sends first: a request to encrypt, a startup message, or a cancel request.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use crate::client_tls::ClientTls;
use crate::end::{Cipher, End};
use crate::message::Fields;

/// PostgreSQL's limit of a startup message (MAX_STARTUP_PACKET_LENGTH).
const LONGEST_STARTUP: usize = 10_000;
const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;
const CANCEL_REQUEST: i32 = 80_877_102;
const TLS_HANDSHAKE: u8 = 0x16;
/// Of authentication_timeout.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to encrypt before a startup message: one of each kind.
const MOST_REQUESTS: usize = 3;

/// What a client wants.
pub enum Opening {
    Session(Box<SessionStart>),
    /// A cancel request, as it came.
    Cancel(Vec<u8>),
}

/// A session's begin.
pub struct SessionStart {
    pub startup: Vec<u8>,
    /// What came behind it.
    pub behind: Vec<u8>,
    /// User, database and application, then name and value of each setting of the session
    /// (`options` among them), all ended by 0.
    pub names: Vec<u8>,
    /// It streams the log: it is passed through, and not noted.
    pub replication: bool,
}

/// Why a client is refused, in words for itself.
#[derive(Debug)]
pub enum Refused {
    Protocol(&'static str),
    /// The client is gone, or takes too long.
    Gone,
}

impl From<io::Error> for Refused {
    fn from(_: io::Error) -> Refused {
        Refused::Gone
    }
}

/// Reads until it is clear what the client wants; the socket blocks. Without a certificate a
/// request to encrypt is answered with no, as a server without one does.
pub fn read_opening(
    client: &mut End,
    certificate: Option<&Arc<ServerConfig>>,
) -> Result<Opening, Refused> {
    let mut reader = Reader {
        client,
        held: Vec::new(),
        deadline: Instant::now() + PATIENCE,
    };
    let opening = reader.read(certificate);
    if let Err(Refused::Protocol(words)) = &opening {
        // Who does not speak the protocol may not read it either.
        let _ = reader.client.send(&fatal("08P01", words));
    }
    opening
}

struct Reader<'a> {
    client: &'a mut End,
    held: Vec<u8>,
    deadline: Instant,
}

impl Reader<'_> {
    fn read(&mut self, certificate: Option<&Arc<ServerConfig>>) -> Result<Opening, Refused> {
        for _ in 0..=MOST_REQUESTS {
            let head = self.first(8)?;
            if head[0] == TLS_HANDSHAKE {
                let certificate =
                    certificate.ok_or(Refused::Protocol("TLS without a certificate"))?;
                self.encrypt(certificate)?;
                continue;
            }
            let mut fields = Fields(head);
            let (length, code) = (fields.i32().unwrap_or(0), fields.i32().unwrap_or(0));
            let length = usize::try_from(length).unwrap_or(0);
            if !(8..=LONGEST_STARTUP).contains(&length) {
                return Err(Refused::Protocol("no message of PostgreSQL's protocol"));
            }
            match code {
                SSL_REQUEST | GSS_REQUEST if length == 8 => {
                    self.held.drain(..8);
                    if !self.held.is_empty() {
                        // What came in plain text behind it could be injected (CVE-2021-23214).
                        return Err(Refused::Protocol("data behind a request to encrypt"));
                    }
                    match certificate.filter(|_| code == SSL_REQUEST) {
                        None => self.client.socket.send_all(b"N")?,
                        Some(certificate) => {
                            self.client.socket.send_all(b"S")?;
                            self.encrypt(certificate)?;
                        }
                    }
                }
                CANCEL_REQUEST => return Ok(Opening::Cancel(self.first(length)?.to_vec())),
                code if code >> 16 == 3 => return self.session(length),
                _ => return Err(Refused::Protocol("no message of PostgreSQL's protocol 3")),
            }
        }
        Err(Refused::Protocol("requests to encrypt without an end"))
    }

    /// So many bytes, which stay.
    fn first(&mut self, length: usize) -> Result<&[u8], Refused> {
        // No more than is needed, so that what follows is read by who it is for.
        let mut buffer = [0; LONGEST_STARTUP];
        while self.held.len() < length {
            self.client.socket.set_deadline(self.deadline)?;
            let most = match self.client.cipher {
                Cipher::Plain => length - self.held.len(),
                _ => buffer.len(),
            };
            let came = self.client.receive(&mut buffer[..most], &mut self.held)?;
            if !came || self.client.ended {
                return Err(Refused::Gone);
            }
        }
        Ok(&self.held[..length])
    }

    fn encrypt(&mut self, certificate: &Arc<ServerConfig>) -> Result<(), Refused> {
        if !matches!(self.client.cipher, Cipher::Plain) {
            return Err(Refused::Protocol("encryption within encryption"));
        }
        let came = std::mem::take(&mut self.held);
        self.client.socket.set_deadline(self.deadline)?;
        let tls = ClientTls::handshake(&self.client.socket, certificate, &came, &mut self.held)?;
        self.client.cipher = Cipher::Client(Box::new(tls));
        Ok(())
    }

    fn session(&mut self, length: usize) -> Result<Opening, Refused> {
        let body = self.first(length)?[8..].to_vec();
        let mut words = Fields(&body);
        let (mut user, mut database, mut application): (&[u8], &[u8], &[u8]) = (b"", b"", b"");
        let (mut replication, mut settings) = (false, Vec::new());
        while let Some(name) = words.text().filter(|name| !name.is_empty()) {
            let Some(value) = words.text() else {
                return Err(Refused::Protocol("half a startup message"));
            };
            match name {
                b"user" => user = value,
                b"database" => database = value,
                b"application_name" => application = value,
                b"replication" => {
                    replication = !matches!(value, b"false" | b"off" | b"no" | b"0");
                }
                // What extends the protocol is no setting.
                _ if name.starts_with(b"_pq_.") => {}
                _ => settings.extend([name, value]),
            }
        }
        let database = if database.is_empty() { user } else { database };
        let mut names = Vec::new();
        for name in [user, database, application].into_iter().chain(settings) {
            names.extend_from_slice(name);
            names.push(0);
        }
        Ok(Opening::Session(Box::new(SessionStart {
            behind: self.held.split_off(length),
            startup: std::mem::take(&mut self.held),
            names,
            replication,
        })))
    }
}

/// A report that a client shows, by PostgreSQL's layout of an ErrorResponse.
pub fn fatal(sqlstate: &str, words: &str) -> Vec<u8> {
    let words: String = words.chars().filter(|one| *one != '\0').collect();
    let mut body = Vec::new();
    for (field, value) in [
        ("S", "FATAL"),
        ("V", "FATAL"),
        ("C", sqlstate),
        ("M", &*words),
    ] {
        body.extend_from_slice(field.as_bytes());
        body.extend_from_slice(value.as_bytes());
        body.push(0);
    }
    body.push(0);
    let mut message = vec![b'E'];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(&body);
    message
}
