//! Encodes requests: a text, a statement to be prepared, an execution of a prepared one.

use std::io;

use crate::packet::{write_packet, HEADER_LENGTH, LONGEST_PAYLOAD};
use crate::row::write_length;

/// The longest text of a statement, without values: what follows it would be a packet of its own.
pub const LONGEST_REQUEST: usize = 0x00ff_fffe;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// A request to execute a text at once.
pub fn simple_query(sql: &str) -> io::Result<Vec<u8>> {
    command(COM_QUERY, sql)
}

/// The request that ends the connection.
pub fn quit() -> &'static [u8] {
    &[1, 0, 0, 0, COM_QUIT]
}

/// A request to prepare a text; the server answers with a number of its own for it.
#[derive(Clone, Debug)]
pub struct PrepareText(pub Vec<u8>);

impl PrepareText {
    pub fn new(sql: &str) -> io::Result<PrepareText> {
        command(COM_STMT_PREPARE, sql).map(PrepareText)
    }
}

fn command(kind: u8, sql: &str) -> io::Result<Vec<u8>> {
    if sql.len() >= LONGEST_REQUEST {
        let why = format!("a statement of {} bytes", sql.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut out = vec![0; HEADER_LENGTH];
    out.push(kind);
    out.extend_from_slice(sql.as_bytes());
    end_packet(0, &mut out);
    Ok(out)
}

/// Writes the length of the request that began at `start` and ends where `out` does. With its
/// values it may be longer than a packet: then it goes in several, and the server decides by its
/// `max_allowed_packet` whether it is too long.
#[inline]
pub fn end_packet(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start - HEADER_LENGTH;
    if length >= LONGEST_PAYLOAD {
        return split(start, out);
    }
    out[start..start + 3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
}

/// A packet of the longest payload is continued by the next one, which may be empty.
#[cold]
fn split(start: usize, out: &mut Vec<u8>) {
    let payload = out.split_off(start + HEADER_LENGTH);
    out.truncate(start);
    let mut number = 0_u8;
    for part in payload.chunks(LONGEST_PAYLOAD) {
        write_packet(number, part, out);
        number = number.wrapping_add(1);
    }
    if payload.len() % LONGEST_PAYLOAD == 0 {
        write_packet(number, &[], out);
    }
}

/// Begins a request that executes a text, which is appended by the caller and ended by
/// [`end_packet`]; returns its start.
#[inline]
pub fn begin_query(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, COM_QUERY]);
    start
}

/// How a parameter of an execution is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ParameterType {
    Null = 6,
    Integer = 8,
    Double = 5,
    /// Text, which the server converts as it needs.
    Text = 253,
}

/// Appends an execution of a prepared statement. `write` appends the value of parameter `i` and
/// says of which type it is: an integer or a double as eight bytes, lowest first; a text by
/// [`write_text`]. No memory is taken once `out` has grown.
#[inline]
pub fn execute(
    statement: u32,
    parameters: usize,
    out: &mut Vec<u8>,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> ParameterType,
) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, COM_STMT_EXECUTE]);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]); // no cursor; once
    if parameters > 0 {
        let nulls = out.len();
        let types = nulls + parameters.div_ceil(8) + 1;
        out.resize(types + 2 * parameters, 0);
        out[types - 1] = 1; // types follow
        for parameter in 0..parameters {
            let kind = write(parameter, out);
            out[types + 2 * parameter] = kind as u8;
            if kind == ParameterType::Null {
                out[nulls + parameter / 8] |= 1 << (parameter % 8);
            }
        }
    }
    end_packet(start, out);
}

/// Appends a text as a parameter.
#[inline]
pub fn write_text(text: &[u8], out: &mut Vec<u8>) {
    write_length(text.len(), out);
    out.extend_from_slice(text);
}

/// Appends a text as a literal of SQL, whatever `sql_mode` says of backslashes: one with a
/// backslash is written in hexadecimal digits.
pub fn write_literal(text: &[u8], out: &mut Vec<u8>) {
    if text.contains(&b'\\') {
        // With the introducer it is a literal: of CONVERT() the collation would count as much as
        // a column's, and a comparison with one of another collation be refused (1267).
        out.extend_from_slice(b"_utf8mb4 X'");
        for byte in text {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        out.push(b'\'');
        return;
    }
    out.push(b'\'');
    for &byte in text {
        if byte == b'\'' {
            out.push(b'\'');
        }
        out.push(byte);
    }
    out.push(b'\'');
}
