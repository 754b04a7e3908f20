//! Keeps of results what scripts store (columns, the number of rows, the last row), or all rows.

use crate::column::Column;
use crate::error::WireError;
use crate::reader::{Reader, Stop};
use crate::row::is_null;
use crate::value::read_value;

/// The longest row that is kept.
pub(crate) const LONGEST_KEPT: usize = 1 << 20;
/// Bytes of all rows of a reply that are kept.
const MOST_KEPT: usize = 1 << 24;

/// What stands for the length of a value that is NULL in a kept row.
const NULL: u32 = u32::MAX;

/// The bytes of one row's values; `None` is NULL.
pub type Row<'a> = Vec<Option<&'a [u8]>>;

/// One statement's result, as a script captures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedResult {
    /// `None`: a statement that returns no rows at all.
    pub columns: Option<Vec<String>>,
    /// Whether each column holds texts.
    pub texts: Vec<bool>,
    pub rows: u64,
    /// The last row, for [`row_values`].
    pub last: Vec<u8>,
    /// Those before it, where every row is captured.
    pub earlier: Vec<Vec<u8>>,
}

/// The values of a kept row. Err: it was not written by this crate.
pub fn row_values(row: &[u8]) -> Result<Row<'_>, WireError> {
    let mut reader = Reader::new(row);
    let mut values = Row::new();
    let mut read = || -> Result<(), Stop> {
        while !reader.rest().is_empty() {
            values.push(match reader.u32()? {
                NULL => None,
                length => Some(reader.take(length as usize)?),
            });
        }
        Ok(())
    };
    read().map_err(|stop| stop.within("a row"))?;
    Ok(values)
}

/// The bytes of the row under way, and of those of the reply that are kept beside the last.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    row: Vec<u8>,
    every: bool,
    kept: usize,
}

impl Capture {
    /// Rows of the reply that begins are all kept from now on.
    pub fn begin_every(&mut self) {
        self.every = true;
        self.kept = 0;
    }

    #[cold]
    pub fn begin_row(&mut self) {
        self.row.clear();
    }

    /// Keeps bytes of the row.
    #[cold]
    pub fn keep(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.row.len() + bytes.len() > LONGEST_KEPT {
            return Err(WireError::malformed(format!(
                "a row of more than {LONGEST_KEPT} bytes that would have to be kept"
            )));
        }
        self.row.extend_from_slice(bytes);
        Ok(())
    }

    /// Counts the row that is whole, and writes its values to the result.
    #[cold]
    pub fn end_row(
        &mut self,
        columns: &[Column],
        nulls: &[u8],
        results: &mut [CapturedResult],
    ) -> Result<(), WireError> {
        let Some(result) = results.last_mut() else {
            return Ok(());
        };
        if self.every && result.rows > 0 {
            self.kept += result.last.len();
            if self.kept > MOST_KEPT {
                return Err(WireError::malformed(format!(
                    "rows of more than {MOST_KEPT} bytes that would have to be kept"
                )));
            }
            result.earlier.push(std::mem::take(&mut result.last));
        }
        result.rows += 1;
        result.last.clear();
        let mut reader = Reader::new(&self.row);
        for (number, column) in columns.iter().enumerate() {
            let value = match is_null(nulls, number) {
                true => None,
                false => read_value(column, &mut reader).map_err(|stop| stop.within("a row"))?,
            };
            let length = value.as_ref().map_or(NULL, |text| text.len() as u32);
            result.last.extend_from_slice(&length.to_le_bytes());
            result
                .last
                .extend_from_slice(value.unwrap_or_default().as_bytes());
        }
        Ok(())
    }
}
