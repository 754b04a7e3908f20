//! Splits a stream of server bytes into messages: one kind byte, a length, a body.

use crate::error::WireError;

/// Bytes before every body: the kind and a four-byte length that counts itself.
pub const HEADER_LENGTH: usize = 5;

/// The longest body of a message that is only skipped: PostgreSQL's own limit (MaxAllocSize).
const LONGEST_SKIPPED: usize = 0x3fff_ffff;
/// The longest body of a message that is kept in memory: reports of errors, parameters.
const LONGEST_KEPT: usize = 1 << 20;
/// The longest body of a message that holds a handshake step.
const LONGEST_AUTHENTICATION: usize = 1 << 14;

/// The first five bytes of a message, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: u8,
    /// Bytes of the body, without the header.
    pub body: usize,
}

impl Header {
    /// Reads a header; refuses kinds that the driver never requests, and impossible lengths.
    #[inline]
    pub fn parse(bytes: [u8; HEADER_LENGTH]) -> Result<Header, WireError> {
        let kind = bytes[0];
        let length = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize;
        let body = length
            .checked_sub(4)
            .ok_or_else(|| impossible(kind, length))?;
        let (least, most) = match kind {
            b'1' | b'2' | b'3' | b'I' | b'n' | b's' => (0, 0),
            b'Z' => (1, 1),
            b'D' => (2, LONGEST_SKIPPED),
            b'T' | b't' => (2, LONGEST_SKIPPED),
            b'C' => (1, LONGEST_KEPT),
            b'E' | b'N' => (1, LONGEST_KEPT),
            b'S' | b'A' => (2, LONGEST_KEPT),
            b'K' => (8, 8),
            b'R' => (4, LONGEST_AUTHENTICATION),
            b'v' => (8, LONGEST_KEPT),
            _ => return Err(unknown(kind)),
        };
        if body < least || body > most {
            return Err(impossible(kind, length));
        }
        Ok(Header { kind, body })
    }

    /// The whole message, header included.
    pub fn total(self) -> usize {
        HEADER_LENGTH + self.body
    }
}

/// What a stream begins with that is no message of this protocol, and yet known.
pub enum Beginning<'a> {
    /// The words of a server that could not even start a session (report_fork_failure_to_client in
    /// postmaster.c): `E`, a text and a NUL, as before protocol 3.
    Refusal(&'a [u8]),
    /// Such words, whose end has not come.
    Open,
    /// A greeting of a MySQL server, which speaks first.
    Mysql,
    /// Nothing that a server may begin with: its first line.
    Foreign(String),
}

impl Beginning<'_> {
    /// None: a message of this protocol, or too little to say.
    pub fn of(bytes: &[u8]) -> Option<Beginning<'_>> {
        let (head, rest) = bytes.split_at_checked(HEADER_LENGTH)?;
        // Length, a number that is 0, the protocol's version, and then the server's as text.
        if head[1..] == [0, 0, 0, 10] && rest.first()?.is_ascii_digit() {
            return Some(Beginning::Mysql);
        }
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        // Words for people, of which a length of a message has no four letters.
        if head[0] != b'E' && head.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            let line = bytes
                .split(|byte| is_no_letter(*byte) || *byte == b'\n')
                .next()?;
            let line = &line[..line.len().min(60)];
            return Some(Beginning::Foreign(
                line.trim_ascii().escape_ascii().to_string(),
            ));
        }
        if head[0] != b'E' || length <= LONGEST_KEPT {
            return None;
        }
        let text = &bytes[1..];
        let end = text.iter().position(|&byte| byte == 0);
        let words = &text[..end.unwrap_or(text.len())];
        if words.iter().any(|&byte| is_no_letter(byte)) {
            return None; // a length after all, and an impossible one
        }
        Some(end.map_or(Beginning::Open, |_| Beginning::Refusal(words)))
    }
}

/// Whether a byte stands in no words of a server: a control character that breaks no line.
fn is_no_letter(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

#[cold]
fn impossible(kind: u8, length: usize) -> WireError {
    WireError::malformed(format!(
        "a message '{}' of impossible length {length}",
        kind.escape_ascii()
    ))
}

#[cold]
fn unknown(kind: u8) -> WireError {
    WireError::malformed(match kind {
        b'G' | b'H' | b'W' | b'c' | b'd' => "a COPY stream, which a script cannot carry".to_owned(),
        _ => format!("a message of unknown kind '{}'", kind.escape_ascii()),
    })
}

/// One whole message in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub kind: u8,
    pub body: &'a [u8],
    /// The message with its header.
    pub whole: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The first message of `bytes`; `None` while it is not whole yet.
    pub fn first(bytes: &'a [u8]) -> Result<Option<Frame<'a>>, WireError> {
        let Some(head) = bytes.first_chunk::<HEADER_LENGTH>() else {
            return Ok(None);
        };
        let header = Header::parse(*head)?;
        Ok(bytes.get(..header.total()).map(|whole| Frame {
            kind: header.kind,
            body: &whole[HEADER_LENGTH..],
            whole,
        }))
    }
}
