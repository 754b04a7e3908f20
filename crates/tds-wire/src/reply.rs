//! Scans the reply to one request: counts rows, keeps the first error, finds the end.
//!
//! This is the parsing that the hot loop does. A row has no length of its own: it is walked over by
//! the types of its columns, and its values are skipped wherever the stream cuts them, so memory
//! stays bounded. Every other token is looked at when all of it is there.

use crate::capture::{Capture, CapturedResult, LONGEST_KEPT};
use crate::column::Column;
use crate::error::{ServerError, WireError};
use crate::packet::ReplyPackets;
use crate::reader::{Reader, Stop};
use crate::row::RowWalk;
use crate::token::{self, columns, return_value, skip_features, unknown, Change, Done, Greeting};

/// The victim of a deadlock has lost its whole transaction.
const DEADLOCK: u32 = 1205;

/// Most results of one reply that are kept.
const MOST_RESULTS: usize = 1 << 10;

/// The reply to one request.
#[derive(Debug, Default)]
pub struct Reply {
    /// Of all results.
    pub rows: u64,
    /// The reply has come to its end.
    pub complete: bool,
    /// The first error, or the one that ends the connection.
    pub error: Option<Box<ServerError>>,
    /// Whether a transaction was open after the last reply.
    pub in_transaction: bool,
    /// The server's number of the statement that was prepared.
    pub handle: Option<i32>,
    /// The results of each statement, where they are captured.
    pub captured: Vec<CapturedResult>,
    pub(crate) greeting: Greeting,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaited {
    /// Nothing was asked for: the server may only say why it ends the connection.
    #[default]
    Nothing,
    Reply,
    /// The answer to an attention signal, after whatever is left of a reply.
    Attention,
}

/// Incremental scanner of one connection's replies.
#[derive(Debug, Default)]
pub struct Scanner {
    reply: Reply,
    awaited: Awaited,
    packets: ReplyPackets,
    /// The beginning of a token, or of a length in a row, whose rest has not come.
    held: Vec<u8>,
    /// Memory for joining it with its rest.
    joined: Vec<u8>,
    /// Of the result under way.
    columns: Vec<Column>,
    /// There is one.
    described: bool,
    row: RowWalk,
    /// The last token said that nothing follows it.
    ended: bool,
    /// It answered an attention signal.
    heeded: bool,
    /// The transaction that is open, by the server's number; 0: none.
    transaction: u64,
    /// What the last end of a statement said of one.
    claimed: bool,
    capturing: bool,
    capture: Capture,
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

    /// The transaction of which the next request is to be a part; 0: none.
    #[inline]
    pub fn transaction(&self) -> u64 {
        self.transaction
    }

    /// The number by which the server knows the connection.
    pub fn session(&self) -> u16 {
        self.packets.session
    }

    /// Takes the error out of the reply.
    pub fn take_error(&mut self) -> Option<Box<ServerError>> {
        self.reply.error.take()
    }

    /// Takes the captured results out of the reply.
    pub fn take_captured(&mut self) -> Vec<CapturedResult> {
        std::mem::take(&mut self.reply.captured)
    }

    /// Forgets the last reply: a request goes out.
    #[inline]
    pub fn expect_reply(&mut self) {
        self.forget();
        self.awaited = Awaited::Reply;
    }

    /// An attention signal goes out after the last request, whose reply may have come or not.
    pub fn expect_attention(&mut self) {
        self.reply.complete = false;
        self.awaited = Awaited::Attention;
    }

    /// The results of the reply that is expected go to [`Reply::captured`].
    pub fn capture_results(&mut self) {
        self.capturing = true;
    }

    /// As [`Scanner::capture_results`], with every row in place of the last.
    pub fn capture_every_row(&mut self) {
        self.capturing = true;
        self.capture.begin_every();
    }

    #[inline]
    fn forget(&mut self) {
        self.reply.rows = 0;
        self.reply.complete = false;
        self.reply.handle = None;
        self.described = false;
        self.ended = false;
        self.heeded = false;
        if self.capturing {
            self.capturing = false;
            self.reply.captured.clear();
        }
        if self.reply.error.is_some() {
            self.reply.error = None;
        }
    }

    /// Takes the next bytes of the stream; true when the reply is complete.
    #[inline]
    pub fn scan(&mut self, bytes: &[u8]) -> Result<bool, WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let part = self.packets.next_part(rest)?;
            rest = part.rest;
            if self.awaited == Awaited::Nothing && self.reply.complete && part.begins {
                self.forget();
            }
            if !part.content.is_empty() {
                self.take_content(part.content)?;
            }
            if part.ends {
                self.end_message()?;
            }
        }
        Ok(self.reply.complete)
    }

    #[inline]
    fn take_content(&mut self, content: &[u8]) -> Result<(), WireError> {
        if self.held.is_empty() {
            return self.walk(content);
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        joined.append(&mut self.held);
        joined.extend_from_slice(content);
        let walked = self.walk(&joined);
        self.joined = joined;
        walked
    }

    #[inline]
    fn walk(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let mut rest = bytes;
        loop {
            if self.row.is_active() {
                let taken = self.row.walk(rest, &self.columns);
                if self.capturing {
                    self.capture.keep(&rest[..taken])?;
                }
                rest = &rest[taken..];
                if self.row.is_active() {
                    self.held.extend_from_slice(rest);
                    return Ok(());
                }
                self.end_row()?;
            } else if rest.is_empty() {
                return Ok(());
            } else {
                match self.take_token(rest) {
                    Ok(after) => rest = after,
                    Err(Stop::Early) => return self.hold(rest),
                    Err(Stop::Wrong(error)) => return Err(error),
                }
            }
        }
    }

    #[inline]
    fn hold(&mut self, rest: &[u8]) -> Result<(), WireError> {
        if rest.len() > LONGEST_KEPT {
            return Err(WireError::malformed(format!(
                "a token of more than {LONGEST_KEPT} bytes"
            )));
        }
        self.held.extend_from_slice(rest);
        Ok(())
    }

    #[inline]
    fn end_row(&mut self) -> Result<(), WireError> {
        self.reply.rows += 1;
        match self.capturing {
            true => self
                .capture
                .end_row(&self.columns, self.row.nulls(), &mut self.reply.captured),
            false => Ok(()),
        }
    }

    /// Takes the token at the beginning of `bytes`; what follows it.
    #[inline]
    fn take_token<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Stop> {
        let mut reader = Reader::new(&bytes[1..]);
        match bytes[0] {
            token::ROW => self.begin_row(&[])?,
            token::ROW_WITH_NULLS => {
                let nulls = reader.take(self.columns.len().div_ceil(8))?;
                self.begin_row(nulls)?;
            }
            kind @ (token::DONE | token::DONE_IN_PROCEDURE | token::DONE_PROCEDURE) => {
                let done = Done::parse(&mut reader)?;
                self.end_statement(kind, done)?;
                return Ok(reader.rest());
            }
            token::COLUMNS => self.describe(&mut reader)?,
            token::RETURN_STATUS => reader.skip(4)?,
            token::RETURN_VALUE => {
                let value = return_value(&mut reader)?;
                self.reply.handle = self.reply.handle.or(value);
            }
            token::FEATURES => skip_features(&mut reader)?,
            token::SESSION_STATE => {
                let length = reader.u32()? as usize;
                reader.skip(length)?;
            }
            kind @ (token::CHANGE
            | token::INFO
            | token::ORDER
            | token::ERROR
            | token::TABLE_NAME
            | token::COLUMN_INFO
            | token::LOGIN_ACK) => {
                let length = usize::from(reader.u16()?);
                let body = reader.take(length)?;
                self.take_body(kind, body)?;
            }
            kind => return Err(unknown(kind)),
        }
        self.ended = false;
        Ok(reader.rest())
    }

    #[inline]
    fn begin_row(&mut self, nulls: &[u8]) -> Result<(), WireError> {
        if !self.described {
            return Err(WireError::malformed("a row without columns"));
        }
        self.row.begin(nulls);
        if self.capturing {
            self.capture.begin_row();
        }
        Ok(())
    }

    #[inline]
    fn describe(&mut self, reader: &mut Reader) -> Result<(), Stop> {
        if !self.capturing {
            self.described = columns(reader, &mut self.columns, None)?;
            return Ok(());
        }
        let mut names = Vec::new();
        self.described = columns(reader, &mut self.columns, Some(&mut names))?;
        if self.described {
            self.keep_result(Some(names))?;
        }
        Ok(())
    }

    #[cold]
    fn keep_result(&mut self, columns: Option<Vec<String>>) -> Result<(), WireError> {
        if self.reply.captured.len() == MOST_RESULTS {
            return Err(WireError::malformed(format!(
                "more than {MOST_RESULTS} results that would have to be kept"
            )));
        }
        let texts = match columns {
            Some(_) => self.columns.iter().map(Column::is_text).collect(),
            None => Vec::new(),
        };
        self.reply.captured.push(CapturedResult {
            columns,
            texts,
            ..CapturedResult::default()
        });
        Ok(())
    }

    #[inline]
    fn end_statement(&mut self, kind: u8, done: Done) -> Result<(), WireError> {
        self.ended = !done.more_follow();
        self.heeded |= done.attention();
        self.claimed = done.in_transaction();
        // The end of a procedure follows those of its statements.
        if self.capturing && !self.described && kind != token::DONE_PROCEDURE {
            self.keep_result(None)?;
        }
        self.described = false;
        Ok(())
    }

    #[inline]
    fn take_body(&mut self, kind: u8, body: &[u8]) -> Result<(), WireError> {
        match kind {
            token::CHANGE => {
                let change = Change::parse(body, &mut self.reply.greeting);
                match change.map_err(|stop| stop.within("a change of the connection"))? {
                    Change::Began(number) => self.transaction = number,
                    Change::Ended => self.transaction = 0,
                    Change::Other => {}
                }
                Ok(())
            }
            token::ERROR => self.note_error(body),
            token::LOGIN_ACK => {
                let read = self.reply.greeting.let_in(body);
                read.map_err(|stop| stop.within("an answer to a login"))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn note_error(&mut self, body: &[u8]) -> Result<(), WireError> {
        let error = ServerError::parse(body)?;
        if error.number == DEADLOCK {
            self.transaction = 0;
        }
        if self.reply.error.is_none() || error.is_fatal() {
            self.reply.error = Some(Box::new(error));
        }
        Ok(())
    }

    #[inline]
    fn end_message(&mut self) -> Result<(), WireError> {
        if self.row.is_active() || !self.held.is_empty() {
            return Err(WireError::malformed("a reply that ends within a token"));
        }
        if self.awaited == Awaited::Nothing {
            return Err(self.unasked());
        }
        if !self.ended {
            return Err(WireError::malformed("a reply without an end"));
        }
        if self.awaited == Awaited::Attention && !std::mem::take(&mut self.heeded) {
            self.ended = false; // of the request before it
            return Ok(());
        }
        if self.capturing && self.reply.captured.is_empty() {
            self.keep_result(None)?; // of a procedure that counts nothing (SET NOCOUNT ON)
        }
        self.awaited = Awaited::Nothing;
        self.reply.in_transaction = self.transaction != 0 || self.claimed;
        self.reply.complete = true;
        Ok(())
    }

    #[cold]
    fn unasked(&mut self) -> WireError {
        match self.reply.error.take() {
            Some(error) => WireError::Refused(error),
            None => WireError::malformed("a reply without a request"),
        }
    }
}
