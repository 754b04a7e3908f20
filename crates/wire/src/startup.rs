//! Performs the handshake: startup, authentication, parameters, the first ReadyForQuery.
//!
//! A state machine over bytes: `begin` gives what to send first, `feed` takes what came and gives
//! what to send next. Trust, cleartext, MD5 and SCRAM-SHA-256, also bound to the channel.

use std::collections::BTreeMap;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::{backend, frontend};

use crate::error::{ServerError, WireError};
use crate::frame::{Beginning, Frame};
use crate::methods::{Method, Methods};
use crate::scram::{append, unsendable, Binding, Channel, Scram};

/// Most bytes a server may send before its first ReadyForQuery.
const LONGEST_HANDSHAKE: usize = 4 << 20;

/// The user, the database, and the settings of a session.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    pub database: String,
    pub password: Option<String>,
    pub application_name: String,
    /// Settings of the session, as libpq's `options`; empty for none.
    pub options: String,
    /// Settings by name that the session begins with; `client_encoding` is UTF8 unless it is here.
    pub settings: Vec<(String, String)>,
}

const ENCODING: (&str, &str) = ("client_encoding", "UTF8");

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
    channel: Channel,
    methods: Methods,
    /// The server has requested an authentication method.
    requested: bool,
    held: Vec<u8>,
    taken: usize,
    scram: Option<Scram>,
    /// The server has proved that it knows the password, on this channel.
    bound: bool,
    authenticated: bool,
    /// The server is ready for a query.
    ready: bool,
    session: Session,
}

impl Startup {
    /// Over a connection without encryption.
    pub fn new(credentials: Credentials) -> Startup {
        Startup::through(credentials, Channel::default())
    }

    pub fn through(credentials: Credentials, channel: Channel) -> Startup {
        Startup {
            credentials,
            channel,
            methods: Methods::default(),
            requested: false,
            held: Vec::new(),
            taken: 0,
            scram: None,
            bound: false,
            authenticated: false,
            ready: false,
            session: Session::default(),
        }
    }

    /// Accepts these authentication methods only.
    pub fn accepting(mut self, methods: Methods) -> Startup {
        self.methods = methods;
        self
    }

    /// The StartupMessage.
    pub fn begin(&self) -> Result<Vec<u8>, WireError> {
        let mut out = BytesMut::new();
        let options = ("options", self.credentials.options.as_str());
        let optional = Some(options).filter(|(_, words)| !words.is_empty());
        let own = self.credentials.settings.iter();
        let own: Vec<_> = own.map(|(name, value)| (&**name, &**value)).collect();
        let is_given = own.iter().any(|(name, _)| *name == ENCODING.0);
        let parameters = [
            ("user", self.credentials.user.as_str()),
            ("database", self.credentials.database.as_str()),
            (
                "application_name",
                self.credentials.application_name.as_str(),
            ),
        ];
        let parameters = parameters.into_iter().chain(optional);
        let parameters = parameters.chain((!is_given).then_some(ENCODING)).chain(own);
        frontend::startup_message(parameters, &mut out).map_err(unsendable)?;
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
        match Beginning::of(rest).filter(|_| !self.authenticated) {
            Some(Beginning::Refusal(text)) => return Err(refused_plainly(text)),
            Some(Beginning::Mysql) => return Err(WireError::malformed("a greeting of MySQL")),
            Some(Beginning::Foreign(line)) => {
                let what =
                    format!("\"{line}\", which is not PostgreSQL's protocol; check the port");
                return Err(WireError::malformed(what));
            }
            Some(Beginning::Open) => {
                self.held = held;
                return Ok(None);
            }
            None => {}
        }
        while let Some(frame) = Frame::first(rest)? {
            rest = &rest[frame.whole.len()..];
            match self.ready {
                false => self.ready = self.accept(frame, out)?,
                true => self.accept_asynchronous(frame)?,
            }
        }
        if self.ready && rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.session)));
        }
        self.held = rest.to_vec();
        Ok(None)
    }

    /// What a server may send at any time, and so right behind its first ReadyForQuery.
    fn accept_asynchronous(&mut self, frame: Frame<'_>) -> Result<(), WireError> {
        match frame.kind {
            b'N' | b'A' => Ok(()),
            b'S' => self.keep_parameter(frame.body),
            b'E' => Err(refusal(frame.body)?),
            _ => Err(WireError::malformed("more than a handshake")),
        }
    }

    fn accept(&mut self, frame: Frame<'_>, out: &mut Vec<u8>) -> Result<bool, WireError> {
        match frame.kind {
            b'E' => return Err(refusal(frame.body)?),
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
            Message::AuthenticationOk => self.accept_welcome(),
            Message::AuthenticationCleartextPassword => {
                self.require(Method::Password)?;
                let password = self.unbound_password()?.to_owned();
                append(out, |buffer| {
                    frontend::password_message(password.as_bytes(), buffer)
                })
            }
            Message::AuthenticationMd5Password(request) => {
                self.require(Method::Md5)?;
                let user = self.credentials.user.as_bytes();
                let hash = md5_hash(user, self.unbound_password()?.as_bytes(), request.salt());
                append(out, |buffer| {
                    frontend::password_message(hash.as_bytes(), buffer)
                })
            }
            Message::AuthenticationSasl(request) => {
                if self.scram.is_some() {
                    return Err(scram_out_of_order());
                }
                self.require(Method::Scram)?;
                let scram = Scram::begin(self.password()?, &request, &self.channel, out)?;
                self.scram = Some(scram);
                Ok(())
            }
            Message::AuthenticationSaslContinue(request) => {
                let scram = self.scram.as_mut().ok_or_else(scram_out_of_order)?;
                scram.prove(request.data(), out)
            }
            Message::AuthenticationSaslFinal(request) => {
                let mut scram = self.scram.take().ok_or_else(scram_out_of_order)?;
                self.bound = scram.bound;
                scram.finish(request.data())
            }
            _ => Err(WireError::Authentication(
                "the server asks for an authentication method that is not supported: accepted are \
                 trust, password, md5 and scram-sha-256"
                    .to_owned(),
            )),
        }
    }

    fn require(&mut self, method: Method) -> Result<(), WireError> {
        self.requested = true;
        self.methods.require(method)
    }

    fn accept_welcome(&mut self) -> Result<(), WireError> {
        if !self.requested {
            self.methods.require(Method::None)?;
        }
        let why = if self.scram.is_some() {
            // A server that skips its own proof may be an impostor.
            "the server did not prove that it knows the password"
        } else if self.channel.binding == Binding::Require && !self.bound {
            "channel binding is required, but the server authenticated the client without it"
        } else {
            self.authenticated = true;
            return Ok(());
        };
        Err(WireError::Authentication(why.to_owned()))
    }

    /// The password, where it may be sent without channel binding.
    fn unbound_password(&self) -> Result<&str, WireError> {
        if self.channel.binding == Binding::Require {
            return Err(WireError::Authentication(
                "channel binding is required, but the server asks for a password without it"
                    .to_owned(),
            ));
        }
        self.password()
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

fn refusal(body: &[u8]) -> Result<WireError, WireError> {
    Ok(WireError::Refused(Box::new(ServerError::parse(body)?)))
}

/// The refusal of a server that gives no more than words; the class is that of errcodes.txt.
fn refused_plainly(text: &[u8]) -> WireError {
    WireError::Refused(Box::new(ServerError {
        severity: "FATAL".to_owned(),
        sqlstate: "08004".to_owned(),
        message: String::from_utf8_lossy(text).trim_end().to_owned(),
        ..ServerError::default()
    }))
}

fn scram_out_of_order() -> WireError {
    WireError::malformed("a SCRAM step out of order")
}
