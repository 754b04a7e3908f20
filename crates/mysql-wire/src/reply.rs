//! Scans the replies to one request: counts rows, keeps the first error, finds the end.
//!
//! This is the parsing that the hot loop does: it walks over packet headers and looks into nothing
//! but the first byte of a row, ends and errors. Rows are skipped wherever the stream cuts them,
//! so memory stays bounded.

use crate::capture::{Capture, CapturedResult};
use crate::error::{ServerError, WireError};
use crate::packet::{payload_length, HEADER_LENGTH, LONGEST_KEPT, LONGEST_PAYLOAD};
use crate::reader::Reader;

/// "Status flags": a transaction is open; another result follows this one.
const IN_TRANSACTION: u16 = 1;
const MORE_RESULTS: u16 = 8;

const OK: u8 = 0;
const LOCAL_FILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// A row may begin as an end does; it is longer.
const LONGEST_END: usize = 8;

/// What the server cannot prepare (ER_UNSUPPORTED_PS) is executed as a text, and is no error.
const UNPREPARABLE: u16 = 1295;

/// A deadlock takes back the whole transaction. What any other error leaves open it does not say:
/// a procedure may have begun a transaction before it failed.
const DEADLOCK: u16 = 1213;

/// The replies to one request.
#[derive(Debug, Default)]
pub struct Reply {
    /// Of all results.
    pub rows: u64,
    /// The last reply has come to its end.
    pub complete: bool,
    /// The first error.
    pub error: Option<Box<ServerError>>,
    /// Whether a transaction was open after the last reply; after an error, but a deadlock, it may
    /// be.
    pub in_transaction: bool,
    /// The server's number of each statement that was to be prepared; `None`: it refused.
    pub prepared: Vec<Option<u32>>,
    /// The results of each statement, where they are captured.
    pub captured: Vec<CapturedResult>,
}

/// What the next packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    /// Nothing was asked for.
    #[default]
    Nothing,
    Prepared,
    /// Descriptions of parameters and columns of a prepared statement, and their ends.
    PreparedParts(usize),
    /// A result, or the only packet of a statement without one.
    Head,
    Columns(usize),
    ColumnsEnd,
    Row,
}

/// Incremental scanner of one connection's replies.
#[derive(Debug, Default)]
pub struct Scanner {
    reply: Reply,
    awaited: Awaited,
    /// Statements that are still to be answered as prepared, after the one that is.
    prepares: usize,
    /// An executed statement is answered after them.
    executes: bool,
    /// Its rows are binary.
    binary: bool,
    capturing: bool,
    capture: Capture,
    /// Bytes of a payload still to be skipped.
    skip: usize,
    /// The next packet continues the payload of the last one.
    continued: bool,
    /// The beginning of a packet whose rest has not come.
    held: Vec<u8>,
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner::default()
    }

    /// What the last scanned replies hold.
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

    /// Forgets the last replies: an execution goes out, whose rows are binary or text.
    #[inline]
    pub fn expect_result(&mut self, binary: bool) {
        self.forget();
        self.awaited = Awaited::Head;
        self.executes = true;
        self.binary = binary;
    }

    /// Forgets the last replies: so many statements are to be prepared, and then a text is
    /// executed, or nothing.
    pub fn expect_prepared(&mut self, prepares: usize, executes: bool) {
        self.forget();
        self.prepares = prepares;
        self.executes = executes;
        self.binary = false;
        self.go_on();
    }

    /// The results of the replies that are expected go to [`Reply::captured`].
    pub fn capture_results(&mut self) {
        self.capturing = true;
    }

    #[inline]
    fn forget(&mut self) {
        self.reply.rows = 0;
        self.reply.complete = false;
        self.reply.prepared.clear();
        if self.capturing {
            self.capturing = false;
            self.reply.captured.clear();
        }
        if self.reply.error.is_some() {
            self.reply.error = None;
        }
    }

    /// To the next reply.
    fn go_on(&mut self) {
        if self.prepares > 0 {
            self.prepares -= 1;
            self.awaited = Awaited::Prepared;
        } else if self.executes {
            self.awaited = Awaited::Head;
        } else {
            self.end();
        }
    }

    #[inline]
    fn end(&mut self) {
        self.awaited = Awaited::Nothing;
        self.reply.complete = true;
    }

    /// Takes the next bytes of the stream; true when the last reply is complete.
    #[inline]
    pub fn scan(&mut self, bytes: &[u8]) -> Result<bool, WireError> {
        if self.held.is_empty() {
            self.walk(bytes)?;
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(bytes);
            self.walk(&held)?;
        }
        Ok(self.reply.complete)
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
            let Some(header) = rest.first_chunk::<HEADER_LENGTH>() else {
                self.held.extend_from_slice(rest);
                return Ok(());
            };
            let length = payload_length(*header);
            let there = &rest[HEADER_LENGTH..];
            if self.continued {
                self.continued = length == LONGEST_PAYLOAD;
                self.skip = length.saturating_sub(there.len());
                rest = &there[length.min(there.len())..];
                continue;
            }
            let needed = self.needed(length, there.first().copied())?;
            if there.len() < needed {
                self.held.extend_from_slice(rest);
                return Ok(());
            }
            let end = length.min(there.len());
            self.continued = length == LONGEST_PAYLOAD;
            self.skip = length - end;
            self.accept(&there[..end], length)?;
            rest = &there[end..];
        }
        Ok(())
    }

    /// How much of the next payload must be there before it is looked at.
    #[inline]
    fn needed(&self, length: usize, first: Option<u8>) -> Result<usize, WireError> {
        let whole = match self.awaited {
            Awaited::Row => length <= LONGEST_END || first == Some(ERROR) || self.capturing,
            Awaited::Columns(_) => self.capturing,
            Awaited::PreparedParts(_) => false,
            _ => true,
        };
        if whole && length > LONGEST_KEPT {
            return Err(WireError::malformed(format!(
                "a packet of {length} bytes that would have to be kept"
            )));
        }
        Ok(if whole { length } else { length.min(1) })
    }

    /// Takes a payload of so many bytes, whole or only its beginning.
    #[inline]
    fn accept(&mut self, payload: &[u8], length: usize) -> Result<(), WireError> {
        let Some(&first) = payload.first() else {
            return Err(WireError::malformed("a packet without a payload"));
        };
        match self.awaited {
            Awaited::Row if first == ERROR => self.note_error(payload),
            Awaited::Row if first == END && length <= LONGEST_END => {
                let mut reader = Reader::new(payload, "an end of rows");
                reader.skip(1 + 2)?; // its kind, warnings
                self.end_of_result(reader.u16()?);
                Ok(())
            }
            Awaited::Row => {
                self.reply.rows += 1;
                match self.capturing {
                    true => self
                        .capture
                        .row(payload, self.binary, &mut self.reply.captured),
                    false => Ok(()),
                }
            }
            Awaited::Head => self.accept_head(first, payload),
            Awaited::Columns(left) => self.accept_column(left, payload),
            Awaited::ColumnsEnd if first == END && length <= LONGEST_END => {
                self.awaited = Awaited::Row;
                Ok(())
            }
            Awaited::ColumnsEnd => Err(WireError::malformed("columns without an end")),
            Awaited::Prepared => self.accept_prepared(first, payload),
            Awaited::PreparedParts(left) => {
                self.awaited = Awaited::PreparedParts(left - 1);
                if left == 1 {
                    self.go_on();
                }
                Ok(())
            }
            Awaited::Nothing => Err(unasked(first, payload)),
        }
    }

    #[inline]
    fn accept_head(&mut self, first: u8, payload: &[u8]) -> Result<(), WireError> {
        match first {
            OK => {
                let mut reader = Reader::new(payload, "an acknowledgement");
                reader.skip(1)?;
                reader.length()?; // rows that were changed
                reader.length()?; // the last number that was drawn
                let status = reader.u16()?;
                if self.capturing {
                    self.reply.captured.push(CapturedResult::default());
                }
                self.end_of_result(status);
                Ok(())
            }
            ERROR => self.note_error(payload),
            LOCAL_FILE => Err(WireError::malformed(
                "a request for a file of the client's, which is not answered",
            )),
            _ => {
                let mut reader = Reader::new(payload, "a number of columns");
                let count = reader.length()?;
                if count == 0 || count > usize::from(u16::MAX) || !reader.is_empty() {
                    return Err(reader.torn());
                }
                if self.capturing {
                    self.capture.begin(&mut self.reply.captured);
                }
                self.awaited = Awaited::Columns(count);
                Ok(())
            }
        }
    }

    #[inline]
    fn end_of_result(&mut self, status: u16) {
        self.reply.in_transaction = status & IN_TRANSACTION != 0;
        if status & MORE_RESULTS != 0 {
            self.awaited = Awaited::Head;
        } else {
            self.end();
        }
    }

    #[inline]
    fn accept_column(&mut self, left: usize, payload: &[u8]) -> Result<(), WireError> {
        if self.capturing {
            self.capture.column(payload, &mut self.reply.captured)?;
        }
        self.awaited = match left {
            1 => Awaited::ColumnsEnd,
            _ => Awaited::Columns(left - 1),
        };
        Ok(())
    }

    #[cold]
    fn accept_prepared(&mut self, first: u8, payload: &[u8]) -> Result<(), WireError> {
        if first == ERROR {
            self.reply.prepared.push(None);
            if ServerError::parse(payload)?.code != UNPREPARABLE {
                self.keep_error(payload)?;
            }
            self.go_on();
            return Ok(());
        }
        let mut reader = Reader::new(payload, "a prepared statement");
        if reader.u8()? != OK {
            return Err(reader.torn());
        }
        self.reply.prepared.push(Some(reader.u32()?));
        let columns = usize::from(reader.u16()?);
        let parameters = usize::from(reader.u16()?);
        let parts = columns + parameters + usize::from(columns > 0) + usize::from(parameters > 0);
        match parts {
            0 => self.go_on(),
            _ => self.awaited = Awaited::PreparedParts(parts),
        }
        Ok(())
    }

    /// An error ends a result, whatever was to follow of it.
    #[cold]
    fn note_error(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.keep_error(payload)?;
        self.end();
        Ok(())
    }

    #[cold]
    fn keep_error(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let error = ServerError::parse(payload)?;
        self.reply.in_transaction = error.code != DEADLOCK;
        if self.reply.error.is_none() || error.is_fatal() {
            self.reply.error = Some(Box::new(error));
        }
        Ok(())
    }
}

/// Between two requests a server may only say why it ends the connection.
#[cold]
fn unasked(first: u8, payload: &[u8]) -> WireError {
    if first != ERROR {
        return WireError::malformed("a packet without a request");
    }
    match ServerError::parse(payload) {
        Ok(error) => WireError::Refused(Box::new(error)),
        Err(error) => error,
    }
}
