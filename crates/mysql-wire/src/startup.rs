//! Performs the handshake: greeting, encryption, authentication, the first acknowledgement.
//!
//! A state machine over bytes. The greeting comes first and in plain text; the caller encrypts the
//! connection after it where that is wanted ([`Greeting::request_encryption`]). Then `begin` gives
//! what to send, `feed` takes what came and gives what to send next.

use crate::authentication::{clear, unsafe_here, Channel, Plugin};
use crate::error::{ServerError, WireError};
use crate::packet::{first_packet, write_packet, HEADER_LENGTH};
use crate::reader::Reader;

/// Most bytes of a greeting, with its header.
pub const GREETING_LIMIT: usize = 4096;
/// Most bytes that a server may send after it, before it lets the client in.
const LONGEST_HANDSHAKE: usize = 1 << 16;

// "Capabilities Flags".
const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DATABASE: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const ENCRYPTION: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRIBUTES: u32 = 1 << 20;

const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | TRANSACTIONS;
const WANTED: u32 = NEEDED
    | LONG_PASSWORD
    | LONG_FLAG
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | CONNECT_ATTRIBUTES;

/// utf8mb4_general_ci, which both products know.
const COLLATION: u8 = 45;
/// The largest packet that we announce to accept: 16 MB.
const LARGEST_PACKET: u32 = 1 << 24;

const OK: u8 = 0;
const MORE: u8 = 1;
const SWITCH: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// What caching_sha2_password says after a proof: it is in the cache, or the password is needed.
const IN_THE_CACHE: u8 = 3;
const NOT_IN_THE_CACHE: u8 = 4;

/// The login: user, password, database and program.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    /// Empty: none yet.
    pub database: String,
    pub password: String,
    /// The program, as the server shows it among its connections.
    pub program: String,
}

/// An open connection, as the server described it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// By which `KILL` knows it.
    pub connection_id: u32,
    /// `"5.7.29"`, `"10.11.19-MariaDB-…"`.
    pub version: String,
}

/// What a server says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    session: Session,
    capabilities: u32,
    nonce: Vec<u8>,
    plugin: Vec<u8>,
}

impl Greeting {
    /// Reads the first packet of `bytes`; `None` while it is not whole. Refused: the server will
    /// not talk to us at all.
    pub fn read(bytes: &[u8]) -> Result<Option<Greeting>, WireError> {
        let Some((_, payload)) = first_packet(bytes, GREETING_LIMIT - HEADER_LENGTH)? else {
            return Ok(None);
        };
        if payload.first() == Some(&ERROR) {
            return Err(WireError::Refused(Box::new(ServerError::parse(payload)?)));
        }
        if bytes.len() > HEADER_LENGTH + payload.len() {
            return Err(WireError::malformed("more than a greeting"));
        }
        Greeting::parse(payload).map(Some)
    }

    fn parse(payload: &[u8]) -> Result<Greeting, WireError> {
        let mut reader = Reader::new(payload, "a greeting");
        let protocol = reader.u8()?;
        if protocol != 10 {
            return Err(WireError::Unsupported(format!(
                "the server speaks protocol {protocol}, and we speak 10"
            )));
        }
        let version = String::from_utf8_lossy(reader.c_string()).into_owned();
        let connection_id = reader.u32()?;
        let mut nonce = reader.take(8)?.to_vec();
        reader.skip(1)?;
        let mut capabilities = u32::from(reader.u16()?);
        reader.skip(1 + 2)?; // character set, status
        capabilities |= u32::from(reader.u16()?) << 16;
        let nonce_length = usize::from(reader.u8()?);
        reader.skip(10)?;
        if capabilities & SECURE_CONNECTION != 0 {
            let rest = reader.take(nonce_length.saturating_sub(8).max(13))?;
            nonce.extend_from_slice(rest.strip_suffix(b"\0").unwrap_or(rest));
        }
        let plugin = match capabilities & PLUGIN_AUTH {
            0 => Vec::new(),
            _ => reader.c_string().to_vec(),
        };
        if capabilities & NEEDED != NEEDED {
            return Err(WireError::Unsupported(format!(
                "the server ({version}) is older than this protocol (MySQL 4.1)"
            )));
        }
        Ok(Greeting {
            session: Session {
                connection_id,
                version,
            },
            capabilities,
            nonce,
            plugin,
        })
    }

    /// Whether the server can encrypt.
    pub fn encrypts(&self) -> bool {
        self.capabilities & ENCRYPTION != 0
    }

    /// What is sent in plain text before an encrypted connection begins.
    pub fn request_encryption(&self, credentials: &Credentials) -> Vec<u8> {
        let mut out = Vec::new();
        let capabilities = self.agreed(credentials) | ENCRYPTION;
        write_packet(1, &opening(capabilities), &mut out);
        out
    }

    fn agreed(&self, credentials: &Credentials) -> u32 {
        let database = match credentials.database.is_empty() {
            true => 0,
            false => CONNECT_WITH_DATABASE,
        };
        (WANTED & self.capabilities) | database
    }
}

/// The part of a response that a request to encrypt consists of.
fn opening(capabilities: u32) -> Vec<u8> {
    let mut out = capabilities.to_le_bytes().to_vec();
    out.extend_from_slice(&LARGEST_PACKET.to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 23]);
    out
}

/// The state of a handshake after the greeting.
pub struct Startup {
    greeting: Greeting,
    credentials: Credentials,
    channel: Channel,
    plugin: Plugin,
    held: Vec<u8>,
    taken: usize,
}

impl Startup {
    /// After a greeting, over a connection that was encrypted since or not.
    pub fn new(greeting: Greeting, credentials: Credentials, channel: Channel) -> Startup {
        // A plugin that we do not know may be of other accounts than ours: the server will switch.
        let plugin = Plugin::named(&greeting.plugin).unwrap_or(Plugin::NativePassword);
        Startup {
            greeting,
            credentials,
            channel,
            plugin,
            held: Vec::new(),
            taken: 0,
        }
    }

    /// The response to the greeting.
    pub fn begin(&self) -> Result<Vec<u8>, WireError> {
        let mut capabilities = self.greeting.agreed(&self.credentials);
        if self.channel.is_encrypted() {
            capabilities |= ENCRYPTION;
        }
        let mut payload = opening(capabilities);
        for text in [&self.credentials.user, &self.credentials.database] {
            if text.contains('\0') {
                return Err(WireError::Unsupported("a name holds a NUL byte".to_owned()));
            }
        }
        payload.extend_from_slice(self.credentials.user.as_bytes());
        payload.push(0);
        let proof = match self.plugin {
            // Only where the server insists.
            Plugin::ClearPassword => Vec::new(),
            plugin => self.proof(plugin, &self.greeting.nonce)?,
        };
        payload.push(proof.len() as u8);
        payload.extend_from_slice(&proof);
        if capabilities & CONNECT_WITH_DATABASE != 0 {
            payload.extend_from_slice(self.credentials.database.as_bytes());
            payload.push(0);
        }
        if capabilities & PLUGIN_AUTH != 0 {
            payload.extend_from_slice(self.plugin.name().as_bytes());
            payload.push(0);
        }
        if capabilities & CONNECT_ATTRIBUTES != 0 {
            write_attributes(&self.credentials.program, &mut payload);
        }
        let mut out = Vec::new();
        let number = 1 + u8::from(self.channel.is_encrypted());
        write_packet(number, &payload, &mut out);
        Ok(out)
    }

    /// Takes bytes from the server, appends what must be sent to `out`; the session once the
    /// server has let us in.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Option<Session>, WireError> {
        self.taken += bytes.len();
        if self.taken > LONGEST_HANDSHAKE {
            return Err(WireError::malformed("a handshake without an end"));
        }
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let Some((number, payload)) = first_packet(rest, LONGEST_HANDSHAKE)? {
            rest = &rest[HEADER_LENGTH + payload.len()..];
            if self.accept(number, payload, out)? {
                return match rest {
                    [] => Ok(Some(self.greeting.session.clone())),
                    _ => Err(WireError::malformed("more than a handshake")),
                };
            }
        }
        self.held = rest.to_vec();
        Ok(None)
    }

    /// Whether we are let in.
    fn accept(&mut self, number: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<bool, WireError> {
        let mut reader = Reader::new(payload, "a step of the handshake");
        let answer = match reader.u8()? {
            OK => return Ok(true),
            ERROR => return Err(WireError::Refused(Box::new(ServerError::parse(payload)?))),
            SWITCH => {
                let name = reader.c_string();
                let Some(plugin) = Plugin::named(name) else {
                    let name = String::from_utf8_lossy(name);
                    return Err(WireError::Unsupported(format!(
                        "the account asks for authentication by {name}, which is not known here"
                    )));
                };
                let nonce = reader.rest();
                self.plugin = plugin;
                self.proof(plugin, nonce.strip_suffix(b"\0").unwrap_or(nonce))?
            }
            MORE if self.plugin == Plugin::CachingSha2 => match reader.rest() {
                [IN_THE_CACHE] => return Ok(false),
                [NOT_IN_THE_CACHE] if self.channel.is_secret() => {
                    clear(self.credentials.password.as_bytes())
                }
                [NOT_IN_THE_CACHE] => {
                    return Err(unsafe_here("caching_sha2_password", "encrypted connection"));
                }
                _ => return Err(reader.torn()),
            },
            _ => return Err(reader.torn()),
        };
        write_packet(number.wrapping_add(1), &answer, out);
        Ok(false)
    }

    fn proof(&self, plugin: Plugin, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        plugin.answer(&self.credentials.password, nonce, self.channel)
    }
}

/// Appends "connection attributes": the program's name alone.
fn write_attributes(program: &str, out: &mut Vec<u8>) {
    const KEY: &[u8] = b"program_name";
    let program = &program.as_bytes()[..program.len().min(100)];
    out.push((2 + KEY.len() + program.len()) as u8);
    out.push(KEY.len() as u8);
    out.extend_from_slice(KEY);
    out.push(program.len() as u8);
    out.extend_from_slice(program);
}
