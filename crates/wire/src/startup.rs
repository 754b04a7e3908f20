//! The handshake: startup, authentication, parameters, the first ReadyForQuery.
//!
//! A state machine over bytes: `begin` gives what to send first, `feed` takes what came and gives
//! what to send next. Trust, cleartext, MD5 and SCRAM-SHA-256 (RFC 7677, without channel binding).

use std::collections::BTreeMap;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::{backend, frontend};

use crate::error::{ServerError, WireError};
use crate::frame::Frame;

/// Most bytes a server may send before its first ReadyForQuery.
const LONGEST_HANDSHAKE: usize = 4 << 20;

/// Most SCRAM iterations that are worked through: some seconds. PostgreSQL's default is 4096.
const MOST_ITERATIONS: u32 = 5_000_000;

/// Who connects, to what.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    pub database: String,
    pub password: Option<String>,
    pub application_name: String,
    /// Settings of the session, as libpq's `options`; empty for none.
    pub options: String,
}

/// An open connection, as the server described it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The backend's process id.
    pub process_id: i32,
    pub secret_key: i32,
    pub parameters: BTreeMap<String, String>,
}

/// The state of a handshake.
pub struct Startup {
    credentials: Credentials,
    held: Vec<u8>,
    taken: usize,
    scram: Option<sasl::ScramSha256>,
    authenticated: bool,
    session: Session,
}

impl Startup {
    pub fn new(credentials: Credentials) -> Startup {
        Startup {
            credentials,
            held: Vec::new(),
            taken: 0,
            scram: None,
            authenticated: false,
            session: Session::default(),
        }
    }

    /// The StartupMessage.
    pub fn begin(&self) -> Result<Vec<u8>, WireError> {
        let mut out = BytesMut::new();
        let options = ("options", self.credentials.options.as_str());
        let parameters = [
            ("user", self.credentials.user.as_str()),
            ("database", self.credentials.database.as_str()),
            (
                "application_name",
                self.credentials.application_name.as_str(),
            ),
            ("client_encoding", "UTF8"),
        ];
        let optional = Some(options).filter(|(_, words)| !words.is_empty());
        frontend::startup_message(parameters.into_iter().chain(optional), &mut out)
            .map_err(unsendable)?;
        Ok(out.to_vec())
    }

    /// Takes bytes from the server, appends what must be sent to `out`; the session once the
    /// server is ready for a query.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Session>, WireError> {
        self.taken += bytes.len();
        if self.taken > LONGEST_HANDSHAKE {
            return Err(WireError::malformed("a handshake without an end"));
        }
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let Some(frame) = Frame::first(rest)? {
            rest = &rest[frame.whole.len()..];
            if self.accept(frame, out)? {
                return match rest {
                    [] => Ok(Some(std::mem::take(&mut self.session))),
                    _ => Err(WireError::malformed("more than a handshake")),
                };
            }
        }
        self.held = rest.to_vec();
        Ok(None)
    }

    fn accept(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) -> Result<bool, WireError> {
        match frame.kind {
            b'E' => {
                return Err(WireError::Refused(Box::new(ServerError::parse(
                    frame.body,
                )?)))
            }
            b'N' => {}
            b'R' => self.authenticate(frame, out)?,
            b'v' => return Err(WireError::malformed("a refusal of protocol 3.0")),
            b'S' | b'K' | b'Z' if !self.authenticated => {
                return Err(WireError::malformed("a session without authentication"))
            }
            b'S' => self.keep_parameter(frame.body)?,
            b'K' => {
                let (process, secret) = frame.body.split_at(4);
                self.session.process_id = be_i32(process);
                self.session.secret_key = be_i32(secret);
            }
            b'Z' => return Ok(true),
            kind => {
                let text = format!("a message '{}' in the handshake", kind.escape_ascii());
                return Err(WireError::malformed(text));
            }
        }
        Ok(false)
    }

    fn keep_parameter(&mut self, body: &[u8]) -> Result<(), WireError> {
        let mut words = body.split(|&byte| byte == 0);
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(name), Some(value), Some([]), None) => {
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                self.session.parameters.insert(text(name), text(value));
                Ok(())
            }
            _ => Err(WireError::malformed("a parameter without name or value")),
        }
    }

    fn authenticate(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
        use backend::Message;
        if self.authenticated {
            return Err(WireError::malformed("a second authentication"));
        }
        let mut whole = BytesMut::from(frame.whole);
        let message = Message::parse(&mut whole)
            .map_err(|error| WireError::malformed(format!("an authentication request: {error}")))?
            .ok_or_else(|| WireError::malformed("half an authentication request"))?;
        match message {
            Message::AuthenticationOk if self.scram.is_some() => {
                // A server that skips its own proof may be somebody else.
                Err(WireError::Authentication(
                    "the server did not prove that it knows the \
                    password"
                        .to_owned(),
                ))
            }
            Message::AuthenticationOk => {
                self.authenticated = true;
                Ok(())
            }
            Message::AuthenticationCleartextPassword => {
                let password = self.password()?.to_owned();
                send(out, |buffer| {
                    frontend::password_message(password.as_bytes(), buffer)
                })
            }
            Message::AuthenticationMd5Password(request) => {
                let user = self.credentials.user.as_bytes();
                let hash = md5_hash(user, self.password()?.as_bytes(), request.salt());
                send(out, |buffer| {
                    frontend::password_message(hash.as_bytes(), buffer)
                })
            }
            Message::AuthenticationSasl(request) => self.begin_scram(&request, out),
            Message::AuthenticationSaslContinue(request) => {
                let scram = self.scram.as_mut().ok_or_else(unasked_scram)?;
                require_few_iterations(request.data())?;
                scram.update(request.data()).map_err(refused_scram)?;
                let data = scram.message().to_vec();
                send(out, |buffer| frontend::sasl_response(&data, buffer))
            }
            Message::AuthenticationSaslFinal(request) => {
                let mut scram = self.scram.take().ok_or_else(unasked_scram)?;
                scram.finish(request.data()).map_err(refused_scram)
            }
            _ => Err(WireError::Authentication(
                "the server asks for an authentication method that is not supported: accepted are \
                 trust, password, md5 and scram-sha-256"
                    .to_owned(),
            )),
        }
    }

    fn begin_scram(
        &mut self,
        request: &backend::AuthenticationSaslBody,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let offered = request
            .mechanisms()
            .any(|mechanism| Ok(mechanism == sasl::SCRAM_SHA_256))
            .map_err(|error| WireError::malformed(format!("a list of mechanisms: {error}")))?;
        if !offered || self.scram.is_some() {
            return Err(WireError::Authentication(
                "the server does not offer SCRAM-SHA-256".to_owned(),
            ));
        }
        let binding = sasl::ChannelBinding::unsupported();
        let scram = sasl::ScramSha256::new(self.password()?.as_bytes(), binding);
        let first = scram.message().to_vec();
        self.scram = Some(scram);
        send(out, |buffer| {
            frontend::sasl_initial_response(sasl::SCRAM_SHA_256, &first, buffer)
        })
    }

    fn password(&self) -> Result<&str, WireError> {
        self.credentials.password.as_deref().ok_or_else(|| {
            WireError::Authentication(
                "the server asks for a password, and none is given".to_owned(),
            )
        })
    }
}

fn be_i32(bytes: &[u8]) -> i32 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | i32::from(byte))
}

fn send(
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
) -> Result<(), WireError> {
    let mut buffer = BytesMut::new();
    encode(&mut buffer).map_err(unsendable)?;
    out.extend_from_slice(&buffer);
    Ok(())
}

fn unsendable(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("a name or password cannot be sent: {error}"))
}

/// A server may ask for 2³² rounds of hashing, and a client would not come back from them.
fn require_few_iterations(data: &[u8]) -> Result<(), WireError> {
    let asked = data
        .split(|&byte| byte == b',')
        .find_map(|word| word.strip_prefix(b"i="));
    let digits = asked.and_then(|digits| std::str::from_utf8(digits).ok());
    match digits.and_then(|digits| digits.parse::<u32>().ok()) {
        Some(iterations) if iterations <= MOST_ITERATIONS => Ok(()),
        _ => Err(WireError::Authentication(format!(
            "the server asks for no number of SCRAM iterations up to {MOST_ITERATIONS}"
        ))),
    }
}

fn unasked_scram() -> WireError {
    WireError::malformed("a SCRAM step out of order")
}

fn refused_scram(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("SCRAM authentication failed: {error}"))
}
