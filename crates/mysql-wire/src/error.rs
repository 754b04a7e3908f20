//! Defines errors of the protocol and errors that a server reports.

use std::fmt;

use crate::reader::Reader;

/// Errors after which a server closes the connection: it is shut down, or the client is killed,
/// was idle for too long, or sent too large a packet.
const FATAL: [u16; 8] = [1053, 1152, 1153, 1158, 1159, 1927, 3169, 4031];

/// An error that the server reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// Such as 1213; what the two products agree on, unlike many an SQLSTATE.
    pub code: u16,
    /// Five characters; `HY000` where the server gave none.
    pub sqlstate: String,
    pub message: String,
}

impl ServerError {
    /// Reads the payload of an ERR packet, which begins with 0xff.
    pub fn parse(payload: &[u8]) -> Result<ServerError, WireError> {
        let mut reader = Reader::new(payload, "an error report");
        reader.skip(1)?;
        let code = reader.u16()?;
        let (sqlstate, words) = match reader.rest() {
            // Before the handshake is over a server may leave the state out.
            [b'#', state @ ..] if state.len() >= 5 => state.split_at(5),
            rest => (&b"HY000"[..], rest),
        };
        if !sqlstate.iter().all(u8::is_ascii_alphanumeric) {
            return Err(WireError::malformed("an error report without a SQLSTATE"));
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(ServerError {
            code,
            sqlstate: text(sqlstate),
            message: text(words),
        })
    }

    /// Whether the server ends the connection with this error.
    pub fn is_fatal(&self) -> bool {
        FATAL.contains(&self.code)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({} {})", self.message, self.code, self.sqlstate)
    }
}

/// Why a conversation with a server cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// Bytes that the protocol does not allow.
    Malformed(String),
    /// The server refused, in its own words.
    Refused(Box<ServerError>),
    /// The server requests what this client does not support.
    Unsupported(String),
}

impl WireError {
    #[cold]
    pub(crate) fn malformed(what: impl Into<String>) -> WireError {
        WireError::Malformed(what.into())
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Malformed(what) => write!(out, "the server sent {what}"),
            WireError::Refused(error) => error.fmt(out),
            WireError::Unsupported(what) => out.write_str(what),
        }
    }
}

impl std::error::Error for WireError {}
