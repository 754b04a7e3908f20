//! Defines errors of the protocol and errors that a server reports.

use std::fmt;

/// An error that the server reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// `ERROR`, `FATAL` or `PANIC`, never translated (field `V`).
    pub severity: String,
    /// Five characters, such as `40001`.
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl ServerError {
    /// Reads the body of an ErrorResponse or NoticeResponse.
    pub fn parse(body: &[u8]) -> Result<ServerError, WireError> {
        let mut error = ServerError::default();
        let mut rest = body;
        loop {
            let (&field, after) = rest
                .split_first()
                .ok_or_else(|| WireError::malformed("an error report without its end"))?;
            if field == 0 {
                break;
            }
            let end = after
                .iter()
                .position(|&byte| byte == 0)
                .ok_or_else(|| WireError::malformed("an error report with an open string"))?;
            error.set(field, &after[..end]);
            rest = &after[end + 1..];
        }
        if error.sqlstate.len() != 5 || !error.sqlstate.bytes().all(|b| b.is_ascii_alphanumeric()) {
            let words = format!("an error report without a SQLSTATE: \"{}\"", error.message);
            return Err(WireError::malformed(words));
        }
        Ok(error)
    }

    fn set(&mut self, field: u8, value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b'V' => self.severity = text(),
            b'S' if self.severity.is_empty() => self.severity = text(),
            b'C' => self.sqlstate = text(),
            b'M' => self.message = text(),
            b'D' => self.detail = Some(text()),
            b'H' => self.hint = Some(text()),
            _ => {}
        }
    }

    /// Whether the server ends the connection with this error.
    pub fn is_fatal(&self) -> bool {
        self.severity == "FATAL" || self.severity == "PANIC"
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}: {} (SQLSTATE {})",
            self.severity, self.message, self.sqlstate
        )
    }
}

/// Why bytes from a server could not be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The bytes are not what the protocol allows here.
    Malformed(String),
    /// The server refused the connection, with this error.
    Refused(Box<ServerError>),
    /// The server requires an authentication that cannot be done.
    Authentication(String),
}

impl WireError {
    pub fn malformed(what: impl Into<String>) -> WireError {
        WireError::Malformed(what.into())
    }

    /// The class by which the error is counted: the server's own SQLSTATE, or the one of
    /// PostgreSQL's errcodes.txt that fits.
    pub fn sqlstate(&self) -> &str {
        match self {
            WireError::Malformed(_) => "08P01",
            WireError::Refused(error) => &error.sqlstate,
            WireError::Authentication(_) => "28000",
        }
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Malformed(what) => write!(out, "protocol violation: the server sent {what}"),
            WireError::Refused(error) => error.fmt(out),
            WireError::Authentication(what) => out.write_str(what),
        }
    }
}

impl std::error::Error for WireError {}
