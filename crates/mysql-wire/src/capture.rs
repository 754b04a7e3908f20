//! Keeps what scripts store of results: the columns, the number of rows, the last row.

use crate::column::{binary_values, Column};
use crate::error::WireError;
use crate::row::write_row;

/// One statement's result, as a script captures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedResult {
    /// `None`: a statement that returns no rows at all.
    pub columns: Option<Vec<String>>,
    /// Whether each column holds texts.
    pub texts: Vec<bool>,
    pub rows: u64,
    /// The last row as the text protocol has it, for [`crate::row_values`].
    pub last: Vec<u8>,
}

/// The results of one reply, as they come.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    /// Of the result that is under way.
    columns: Vec<Column>,
}

impl Capture {
    #[cold]
    pub fn begin(&mut self, results: &mut Vec<CapturedResult>) {
        self.columns.clear();
        results.push(CapturedResult {
            columns: Some(Vec::new()),
            ..CapturedResult::default()
        });
    }

    #[cold]
    pub fn column(
        &mut self,
        payload: &[u8],
        results: &mut [CapturedResult],
    ) -> Result<(), WireError> {
        let column = Column::parse(payload)?;
        if let Some(result) = results.last_mut() {
            result.texts.push(column.is_text());
            if let Some(names) = result.columns.as_mut() {
                names.push(column.name.clone());
            }
        }
        self.columns.push(column);
        Ok(())
    }

    /// `binary`: as a prepared statement's rows are.
    #[cold]
    pub fn row(
        &self,
        payload: &[u8],
        binary: bool,
        results: &mut [CapturedResult],
    ) -> Result<(), WireError> {
        let Some(result) = results.last_mut() else {
            return Ok(());
        };
        result.rows += 1;
        result.last.clear();
        if binary {
            write_row(&binary_values(payload, &self.columns)?, &mut result.last);
        } else {
            result.last.extend_from_slice(payload);
        }
        Ok(())
    }
}
