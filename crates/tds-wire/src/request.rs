//! Encodes requests: a text, an execution of a prepared statement with its parameters, a signal.

use crate::packet::{begin_message, end_message, MessageKind, HEADER_LENGTH};

/// Most UTF-16 units of a text parameter that is declared as `nvarchar(4000)`; others are
/// `nvarchar(max)`.
pub const LONGEST_SHORT_TEXT: usize = 4000;

// Types of parameters by their tokens, and what lengths say that a value is NULL, or of any length.
const INT_N: u8 = 0x26;
const BIT_N: u8 = 0x68;
const FLOAT_N: u8 = 0x6d;
const NVARCHAR: u8 = 0xe7;
const NO_VALUE: u16 = 0xffff;
const ANY_LENGTH: u16 = 0xffff;
/// Latin1_General: of texts in UTF-16 it says nothing.
const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];
/// An output parameter (fByRefValue).
const OUTPUT: u8 = 1;

/// Procedures that servers know by their numbers ("RPC Request", ProcID).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Procedure {
    /// `sp_executesql`: text, declarations, values.
    ExecuteText = 10,
    /// `sp_execute`: handle, values.
    Execute = 12,
    /// `sp_prepexec`: handle (in and out), declarations, text, values.
    PrepareAndExecute = 13,
}

/// Begins a request that executes a text, which the caller appends in UTF-16; returns its start.
#[inline]
pub fn begin_batch(transaction: u64, out: &mut Vec<u8>) -> usize {
    begin_request(transaction, out)
}

#[inline]
pub fn end_batch(start: usize, out: &mut Vec<u8>) {
    end_message(MessageKind::Batch, start, out);
}

/// Begins a call of a procedure, whose parameters the caller appends; returns its start.
#[inline]
pub fn begin_call(procedure: Procedure, transaction: u64, out: &mut Vec<u8>) -> usize {
    let start = begin_request(transaction, out);
    let [low, high] = (procedure as u16).to_le_bytes();
    out.extend_from_slice(&[0xff, 0xff, low, high, 0, 0]); // by its number; no options
    start
}

#[inline]
pub fn end_call(start: usize, out: &mut Vec<u8>) {
    end_message(MessageKind::Call, start, out);
}

/// Begins a message with the headers that requests have ("ALL_HEADERS"): of which transaction it
/// is a part, and that it is the only one under way.
#[inline]
fn begin_request(transaction: u64, out: &mut Vec<u8>) -> usize {
    let start = begin_message(out);
    out.extend_from_slice(&[22, 0, 0, 0, 18, 0, 0, 0, 2, 0]);
    out.extend_from_slice(&transaction.to_le_bytes());
    out.extend_from_slice(&[1, 0, 0, 0]);
    start
}

/// The signal that stops the request under way.
pub fn attention() -> [u8; HEADER_LENGTH] {
    let length = HEADER_LENGTH as u8;
    [MessageKind::Attention as u8, 1, 0, length, 0, 0, 1, 0]
}

/// Appends a text in UTF-16.
pub fn write_wide(text: &str, out: &mut Vec<u8>) {
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// Makes UTF-16 of the text that was appended from `start` on.
#[inline]
pub fn widen(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    if out[start..].is_ascii() {
        out.resize(start + 2 * length, 0);
        for at in (0..length).rev() {
            out[start + 2 * at] = out[start + at];
            out[start + 2 * at + 1] = 0;
        }
    } else {
        let text = String::from_utf8_lossy(&out[start..]).into_owned();
        out.truncate(start);
        write_wide(&text, out);
    }
}

/// Appends a prepared statement's handle, or a place for one.
#[inline]
pub fn write_handle(handle: Option<i32>, output: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, u8::from(output) * OUTPUT, INT_N, 4]);
    match handle {
        None => out.push(0),
        Some(handle) => {
            out.push(4);
            out.extend_from_slice(&handle.to_le_bytes());
        }
    }
}

/// Appends a `bigint`.
#[inline]
pub fn write_integer(value: Option<i64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, INT_N, 8]);
    write_eight(value.map(i64::to_le_bytes), out);
}

/// Appends a `float`.
#[inline]
pub fn write_double(value: Option<f64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, FLOAT_N, 8]);
    write_eight(value.map(f64::to_le_bytes), out);
}

#[inline]
fn write_eight(value: Option<[u8; 8]>, out: &mut Vec<u8>) {
    match value {
        None => out.push(0),
        Some(bytes) => {
            out.push(8);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a `bit`.
#[inline]
pub fn write_bit(value: Option<bool>, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, BIT_N, 1]);
    match value {
        None => out.push(0),
        Some(value) => out.extend_from_slice(&[1, u8::from(value)]),
    }
}

/// Appends a text, as `nvarchar(max)` where it is `long` and else as `nvarchar(4000)`; `write`
/// appends it as UTF-8.
#[inline]
pub fn write_text(long: bool, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    begin_text(long, out);
    let length_at = out.len();
    out.extend_from_slice(if long { &[0; 12] } else { &[0; 2] });
    let start = out.len();
    write(out);
    widen(start, out);
    let length = out.len() - start;
    if !long {
        out[length_at..start].copy_from_slice(&(length as u16).to_le_bytes());
        return;
    }
    out[length_at..length_at + 8].copy_from_slice(&(length as u64).to_le_bytes());
    if length == 0 {
        out.truncate(length_at + 8); // no chunk but the end
    } else {
        out[length_at + 8..start].copy_from_slice(&(length as u32).to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
}

/// Appends NULL for a text.
#[inline]
pub fn write_text_null(long: bool, out: &mut Vec<u8>) {
    begin_text(long, out);
    match long {
        true => out.extend_from_slice(&[0xff; 8]),
        false => out.extend_from_slice(&NO_VALUE.to_le_bytes()),
    }
}

#[inline]
fn begin_text(long: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, NVARCHAR]);
    let size = match long {
        true => ANY_LENGTH,
        false => 2 * LONGEST_SHORT_TEXT as u16,
    };
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&COLLATION);
}
