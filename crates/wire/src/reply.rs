//! Scans the reply to one request: counts rows, keeps the first error, finds ReadyForQuery.
//!
//! This is the parsing that the hot loop does: it walks over message headers and looks into
//! nothing but errors. Rows are skipped wherever the stream cuts them, so memory stays bounded.

use crate::error::{ServerError, WireError};
use crate::frame::{Header, HEADER_LENGTH};
use crate::row::column_names;

/// One statement's result, as a script captures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedResult {
    /// `None`: a statement that returns no rows at all.
    pub columns: Option<Vec<String>>,
    pub rows: u64,
    /// The body of the last DataRow, for [`crate::row_values`].
    pub last: Vec<u8>,
}

/// The reply to one request, up to ReadyForQuery.
#[derive(Debug, Default)]
pub struct Reply {
    /// DataRow messages.
    pub rows: u64,
    /// ParseComplete was among the messages: the statement exists on the connection from now on.
    pub parsed: bool,
    /// The first error of the reply.
    pub error: Option<Box<ServerError>>,
    /// Transaction status of the last ReadyForQuery: `I`, `T` or `E`; 0 until it has come.
    pub status: u8,
    /// The results of each statement, where they are captured.
    pub captured: Vec<CapturedResult>,
}

impl Reply {
    /// Whether the reply is complete.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.status != 0
    }
}

/// Incremental scanner of one connection's replies.
#[derive(Debug, Default)]
pub struct Scanner {
    reply: Reply,
    /// Bytes of a body still to be skipped.
    skip: usize,
    /// ReadyForQuery messages before the last one: those of a pipeline's earlier parts.
    syncs: u32,
    /// Results are captured, for which rows must be whole.
    capturing: bool,
    /// A row description has come, and the end of its rows has not.
    in_rows: bool,
    /// The beginning of a message whose rest has not come: a header, an error or a status.
    held: Vec<u8>,
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// What the last scanned reply holds.
    #[inline]
    pub fn reply(&self) -> &Reply {
        &self.reply
    }

    /// Takes the error out of the reply.
    pub fn take_error(&mut self) -> Option<Box<ServerError>> {
        self.reply.error.take()
    }

    /// Takes the captured results out of the reply.
    pub fn take_captured(&mut self) -> Vec<CapturedResult> {
        std::mem::take(&mut self.reply.captured)
    }

    /// Forgets the last reply: a new request goes out.
    #[inline]
    pub fn expect_reply(&mut self) {
        self.reply.rows = 0;
        self.reply.parsed = false;
        self.reply.status = 0;
        self.syncs = 0;
        if self.capturing {
            self.forget_captured();
        }
        if self.reply.error.is_some() {
            self.reply.error = None;
        }
    }

    /// The reply that is expected answers `more` Sync messages besides the last one.
    pub fn expect_syncs(&mut self, more: u32) {
        self.syncs = more;
    }

    /// The results of the reply that is expected go to [`Reply::captured`].
    pub fn capture_results(&mut self) {
        self.capturing = true;
    }

    #[cold]
    fn forget_captured(&mut self) {
        self.capturing = false;
        self.in_rows = false;
        self.reply.captured.clear();
    }

    /// Takes the next bytes of the stream; true when the reply is complete.
    #[inline]
    pub fn scan(&mut self, bytes: &[u8]) -> Result<bool, WireError> {
        if self.held.is_empty() {
            self.walk(bytes)?;
        } else {
            self.resume(bytes)?;
        }
        Ok(self.reply.is_ready())
    }

    /// Completes the message that was cut by the last chunk, then walks on.
    #[cold]
    fn resume(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut rest = bytes;
        let mut held = std::mem::take(&mut self.held);
        // First the header is completed, then the body: only as much is added as is needed, and
        // what follows is walked where it lies.
        let mut needed = HEADER_LENGTH;
        for _ in 0..2 {
            if let Some(head) = held.first_chunk::<HEADER_LENGTH>() {
                needed = Header::parse(*head)?.total();
            }
            let more = needed.saturating_sub(held.len()).min(rest.len());
            held.extend_from_slice(&rest[..more]);
            rest = &rest[more..];
        }
        if held.len() < needed && (held.len() < HEADER_LENGTH || self.must_be_whole(held[0])) {
            self.held = held;
            return Ok(());
        }
        self.walk(&held)?;
        self.walk(rest)
    }

    #[inline]
    fn walk(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut rest = bytes;
        if self.skip > 0 {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = &rest[skipped..];
        }
        while !rest.is_empty() {
            let Some(head) = rest.first_chunk::<HEADER_LENGTH>() else {
                self.held.extend_from_slice(rest);
                return Ok(());
            };
            let header = Header::parse(*head)?;
            let whole = header.total();
            if whole <= rest.len() {
                self.accept(header.kind, &rest[HEADER_LENGTH..whole])?;
                rest = &rest[whole..];
            } else if self.must_be_whole(header.kind) {
                self.held.extend_from_slice(rest);
                return Ok(());
            } else {
                // The body is not read: it is skipped as it comes.
                self.accept(header.kind, &[])?;
                self.skip = whole - rest.len();
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn accept(&mut self, kind: u8, body: &[u8]) -> Result<(), WireError> {
        if self.reply.is_ready() {
            return self.accept_between_requests(kind, body);
        }
        match kind {
            b'D' => {
                self.reply.rows += 1;
                if self.capturing {
                    self.capture_row(body);
                }
            }
            b'Z' => match body {
                [b'I' | b'T' | b'E'] if self.syncs > 0 => self.syncs -= 1,
                [status @ (b'I' | b'T' | b'E')] => self.reply.status = *status,
                _ => return Err(WireError::malformed("an unknown transaction status")),
            },
            b'T' | b'C' | b'I' if self.capturing => self.capture(kind, body)?,
            b'1' => self.reply.parsed = true,
            b'E' => self.note_error(body)?,
            b'2' | b'3' | b'C' | b'I' | b'N' | b'S' | b'A' | b'T' | b't' | b'n' | b's' => {}
            _ => {
                let text = format!("a message '{}' outside the handshake", kind.escape_ascii());
                return Err(WireError::malformed(text));
            }
        }
        Ok(())
    }

    #[cold]
    fn capture_row(&mut self, body: &[u8]) {
        if let Some(result) = self.reply.captured.last_mut().filter(|_| self.in_rows) {
            result.rows += 1;
            result.last.clear();
            result.last.extend_from_slice(body);
        }
    }

    /// The description or the end of one statement's result.
    #[cold]
    fn capture(&mut self, kind: u8, body: &[u8]) -> Result<(), WireError> {
        let begins = kind == b'T';
        if begins || !self.in_rows {
            let columns = begins.then(|| column_names(body)).transpose()?;
            self.reply.captured.push(CapturedResult {
                columns,
                ..CapturedResult::default()
            });
        }
        self.in_rows = begins;
        Ok(())
    }

    /// Between two requests a server may only report: notices, parameters, its own end.
    #[cold]
    fn accept_between_requests(&mut self, kind: u8, body: &[u8]) -> Result<(), WireError> {
        match kind {
            b'N' | b'S' | b'A' => Ok(()),
            b'E' => {
                let error = ServerError::parse(body)?;
                Err(WireError::Refused(Box::new(error)))
            }
            _ => {
                let text = format!("a message '{}' without a request", kind.escape_ascii());
                Err(WireError::malformed(text))
            }
        }
    }

    #[cold]
    fn note_error(&mut self, body: &[u8]) -> Result<(), WireError> {
        let error = ServerError::parse(body)?;
        if self.reply.error.is_none() || error.is_fatal() {
            self.reply.error = Some(Box::new(error));
        }
        Ok(())
    }

    /// Whether the body is read; every other one is skipped as it comes.
    #[inline]
    fn must_be_whole(&self, kind: u8) -> bool {
        matches!(kind, b'E' | b'Z') || self.capturing && matches!(kind, b'T' | b'D')
    }
}
