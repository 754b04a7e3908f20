//! Logs in: user, password and database, and what the server answers ("LOGIN7", "LOGINACK").

use crate::error::WireError;
use crate::packet::{begin_message, end_message, MessageKind, PACKET_SIZE};
use crate::prelogin::Privacy;
use crate::reply::Scanner;

/// What we speak: 7.4, and 8.0 where TLS came first.
const VERSION_7_4: u32 = 0x7400_0004;
const VERSION_8_0: u32 = 0x0800_0000;
/// The oldest that is laid out as 7.4 is, of SQL Server 2005.
const OLDEST: u32 = 0x7209_0002;
/// Most bytes that a server may send before it lets the client in.
const LONGEST_LOGIN: usize = 1 << 18;
/// Most characters of a name or a password.
const LONGEST_NAME: usize = 128;

/// A database that is not there, or a language, is an error; the server says where it switches.
const FLAGS_1: u8 = 0xe0;
/// Sessions are as ODBC's are: ANSI settings on, TEXTSIZE without a limit.
const FLAGS_2: u8 = 0x03;
/// Bytes before the first name.
const FIXED: usize = 94;

/// The login: user, password, database, server and program.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    /// Empty: the user's own.
    pub database: String,
    pub password: String,
    /// The name of the server, as the client was given it.
    pub server: String,
    /// The program, as the server shows it among its connections.
    pub program: String,
}

/// An open connection, as the server described it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Its number (`@@SPID`).
    pub id: u16,
    /// `"16.0.1000"`.
    pub version: String,
}

/// A login under way.
pub struct Startup {
    credentials: Credentials,
    privacy: Privacy,
    scanner: Scanner,
    taken: usize,
}

impl Startup {
    /// A login over a connection that is private as was agreed on.
    pub fn new(credentials: Credentials, privacy: Privacy) -> Startup {
        let mut scanner = Scanner::new();
        scanner.expect_reply();
        Startup {
            credentials,
            privacy,
            scanner,
            taken: 0,
        }
    }

    /// The message that logs in. Err: a name is too long for it.
    pub fn begin(&self) -> Result<Vec<u8>, WireError> {
        let asked = &self.credentials;
        let version = match self.privacy {
            Privacy::Strict => VERSION_8_0,
            _ => VERSION_7_4,
        };
        let mut out = Vec::new();
        let start = begin_message(&mut out);
        let content = out.len();
        out.extend_from_slice(&[0; 4]); // the length
        for number in [version, PACKET_SIZE as u32, 1, std::process::id(), 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&[FLAGS_1, FLAGS_2, 0, 0]);
        out.extend_from_slice(&[0; 8]); // time zone, language's number: the server's own
        let mut names = Vec::new();
        let [host, extension, library, language] = ["", "", "steelyard", ""];
        let known: [&str; 9] = [
            host,
            &asked.user,
            &asked.password,
            &asked.program,
            &asked.server,
            extension,
            library,
            language,
            &asked.database,
        ];
        for (number, name) in known.into_iter().enumerate() {
            let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            if units.len() > 2 * LONGEST_NAME {
                return Err(WireError::Unsupported(format!(
                    "a user, password, database or server has more than {LONGEST_NAME} characters"
                )));
            }
            write_place(names.len(), units.len() / 2, &mut out);
            match number {
                2 => names.extend(units.into_iter().map(obfuscate)),
                _ => names.extend(units),
            }
        }
        out.extend_from_slice(&[0; 6]); // the address of a network card
        for _sspi_file_new_password in 0..3 {
            write_place(names.len(), 0, &mut out);
        }
        out.extend_from_slice(&[0; 4]); // a length of SSPI that is longer
        debug_assert_eq!(out.len() - content, FIXED);
        out.extend_from_slice(&names);
        let length = (out.len() - content) as u32;
        out[content..content + 4].copy_from_slice(&length.to_le_bytes());
        end_message(MessageKind::Login, start, &mut out);
        Ok(out)
    }

    /// Takes bytes from the server; the session once it has let us in.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<Session>, WireError> {
        self.taken += bytes.len();
        if self.taken > LONGEST_LOGIN {
            return Err(WireError::malformed("a login without an end"));
        }
        if !self.scanner.scan(bytes)? {
            return Ok(None);
        }
        if let Some(error) = self.scanner.take_error() {
            return Err(WireError::Refused(error));
        }
        let reply = self.scanner.reply();
        let greeting = &reply.greeting;
        if let Some((host, port)) = &greeting.elsewhere {
            return Err(WireError::Unsupported(format!(
                "the server sends clients on to host \"{host}\", port {port}: name that one"
            )));
        }
        if !greeting.let_in {
            return Err(WireError::malformed(
                "an answer to a login that neither accepts nor refuses it",
            ));
        }
        let spoken = greeting.protocol;
        if spoken < OLDEST && spoken != VERSION_8_0 {
            return Err(WireError::Unsupported(format!(
                "the server speaks version {spoken:#010x} of TDS, and is older than SQL Server 2005"
            )));
        }
        if greeting.packet_size.is_some_and(|size| size < PACKET_SIZE) {
            return Err(WireError::Unsupported(format!(
                "the server takes packets of less than {PACKET_SIZE} bytes"
            )));
        }
        Ok(Some(Session {
            id: self.scanner.session(),
            version: greeting.version.clone(),
        }))
    }
}

/// Appends where a name lies, and its length in characters.
fn write_place(offset: usize, length: usize, out: &mut Vec<u8>) {
    for number in [FIXED + offset, length] {
        out.extend_from_slice(&(number as u16).to_le_bytes());
    }
}

/// A byte of a password as it is sent: obfuscated, not encrypted.
fn obfuscate(byte: u8) -> u8 {
    byte.rotate_left(4) ^ 0xa5
}
