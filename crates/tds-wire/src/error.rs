//! Defines errors of the protocol and errors that a server reports.

use std::fmt;

use crate::reader::{Reader, Stop};

/// Severities from here on end the connection ("Database Engine Error Severities").
const FATAL: u8 = 20;

/// An error that the server reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// Such as 1205; what `ERROR_NUMBER()` returns.
    pub number: u32,
    pub state: u8,
    /// Its severity: 11 to 25.
    pub class: u8,
    pub message: String,
}

impl ServerError {
    /// Reads the body of an ERROR token.
    pub(crate) fn parse(body: &[u8]) -> Result<ServerError, WireError> {
        let mut reader = Reader::new(body);
        let mut read = || -> Result<ServerError, Stop> {
            let number = reader.u32()?;
            let (state, class) = (reader.u8()?, reader.u8()?);
            let message = reader.long_text()?;
            reader.short_text()?; // the server's name
            reader.short_text()?; // the procedure's name
            reader.skip(4)?; // the line
            Ok(ServerError {
                number,
                state,
                class,
                message,
            })
        };
        read().map_err(|stop| stop.within("an error report"))
    }

    /// Whether the server ends the connection with this error.
    pub fn is_fatal(&self) -> bool {
        self.class >= FATAL
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.message, self.number)
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
