//! Reads the values of a row, and writes them as the text protocol has them.

use crate::error::WireError;
use crate::reader::{Reader, NULL};

/// The bytes of one row's values; `None` is NULL.
pub type Row<'a> = Vec<Option<&'a [u8]>>;

/// Reads the payload of a text row.
pub fn row_values(payload: &[u8]) -> Result<Row<'_>, WireError> {
    let mut reader = Reader::new(payload, "a row");
    let mut row = Row::new();
    while !reader.is_empty() {
        if reader.rest()[0] == NULL {
            reader.skip(1)?;
            row.push(None);
        } else {
            row.push(Some(reader.text()?));
        }
    }
    Ok(row)
}

/// Appends a row of the text protocol with these values.
pub(crate) fn write_row(values: &[Option<Vec<u8>>], out: &mut Vec<u8>) {
    for value in values {
        match value {
            None => out.push(NULL),
            Some(text) => {
                write_length(text.len(), out);
                out.extend_from_slice(text);
            }
        }
    }
}

/// Appends a length-encoded integer.
pub(crate) fn write_length(length: usize, out: &mut Vec<u8>) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=0xfa => out.push(length as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}
