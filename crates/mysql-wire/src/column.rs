//! Reads what a server says of a column, and the values of binary rows by it.

use std::fmt::Write;

use crate::error::WireError;
use crate::reader::Reader;

/// A column of a result: its name, and how its values lie in a binary row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub name: String,
    kind: u8,
    unsigned: bool,
}

/// "Column Definition Flags".
const UNSIGNED: u16 = 1 << 5;

// "Field types", as a prepared statement's rows have them.
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
const VARCHAR: u8 = 15;
const ENUM: u8 = 247;
const STRING: u8 = 254;

impl Column {
    /// Reads the payload of a column definition.
    pub fn parse(payload: &[u8]) -> Result<Column, WireError> {
        let mut reader = Reader::new(payload, "a description of a column");
        for _catalog_schema_table_and_its_origin in 0..4 {
            reader.text()?;
        }
        let name = String::from_utf8_lossy(reader.text()?).into_owned();
        reader.text()?; // as it is called in its table
        reader.length()?; // of what follows
        reader.skip(2 + 4)?; // character set, length
        let kind = reader.u8()?;
        let unsigned = reader.u16()? & UNSIGNED != 0;
        Ok(Column {
            name,
            kind,
            unsigned,
        })
    }

    /// Whether its values are texts, of characters or bytes, of whatever they look like.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, VARCHAR | ENUM..=STRING)
    }

    /// The next value of a binary row, as a text row has it.
    fn read(&self, reader: &mut Reader) -> Result<Vec<u8>, WireError> {
        Ok(match self.kind {
            NULL => Vec::new(),
            TINY => self.integer(&reader.array::<1>()?),
            SHORT | YEAR => self.integer(&reader.array::<2>()?),
            LONG | INT24 => self.integer(&reader.array::<4>()?),
            LONGLONG => self.integer(&reader.array::<8>()?),
            FLOAT => f32::from_le_bytes(reader.array()?).to_string().into_bytes(),
            DOUBLE => f64::from_le_bytes(reader.array()?).to_string().into_bytes(),
            DATE | DATETIME | TIMESTAMP => date(self.kind == DATE, reader)?.into_bytes(),
            TIME => time(reader)?.into_bytes(),
            _ => reader.text()?.to_vec(),
        })
    }

    /// A number whose lowest byte comes first.
    fn integer(&self, bytes: &[u8]) -> Vec<u8> {
        let negative = !self.unsigned && bytes[bytes.len() - 1] & 0x80 != 0;
        let mut wide = [if negative { 0xff } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        match negative {
            true => i64::from_le_bytes(wide).to_string(),
            false => u64::from_le_bytes(wide).to_string(),
        }
        .into_bytes()
    }
}

/// The values of a binary row, which begins with 0 and a map of what is NULL.
pub(crate) fn binary_values(
    payload: &[u8],
    columns: &[Column],
) -> Result<Vec<Option<Vec<u8>>>, WireError> {
    let mut reader = Reader::new(payload, "a row");
    reader.skip(1)?;
    let nulls = reader.take((columns.len() + 2).div_ceil(8))?;
    let mut values = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let bit = number + 2;
        let null = nulls[bit / 8] & (1 << (bit % 8)) != 0 || column.kind == NULL;
        values.push(if null {
            None
        } else {
            Some(column.read(&mut reader)?)
        });
    }
    match reader.is_empty() {
        true => Ok(values),
        false => Err(reader.torn()),
    }
}

/// A date, or a date and a time; parts that are zero were left out.
fn date(only_date: bool, reader: &mut Reader) -> Result<String, WireError> {
    let length = usize::from(reader.u8()?);
    let mut given = [0; 11];
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(reader.torn());
    }
    given[..length].copy_from_slice(reader.take(length)?);
    let [y0, y1, month, day, hour, minute, second, micros @ ..] = given;
    let year = u16::from_le_bytes([y0, y1]);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if !only_date {
        let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
        fraction(u32::from_le_bytes(micros), &mut text);
    }
    Ok(text)
}

/// A duration.
fn time(reader: &mut Reader) -> Result<String, WireError> {
    let length = usize::from(reader.u8()?);
    let mut given = [0; 12];
    if !matches!(length, 0 | 8 | 12) {
        return Err(reader.torn());
    }
    given[..length].copy_from_slice(reader.take(length)?);
    let [negative, d0, d1, d2, d3, hour, minute, second, micros @ ..] = given;
    let days = u64::from(u32::from_le_bytes([d0, d1, d2, d3]));
    let sign = if negative == 1 { "-" } else { "" };
    let hours = days * 24 + u64::from(hour);
    let mut text = format!("{sign}{hours:02}:{minute:02}:{second:02}");
    fraction(u32::from_le_bytes(micros), &mut text);
    Ok(text)
}

fn fraction(micros: u32, text: &mut String) {
    if micros != 0 {
        let _ = write!(text, ".{micros:06}");
    }
}
