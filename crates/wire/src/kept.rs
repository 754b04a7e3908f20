//! Answers that a script wants to keep: column names, how many rows, and the last row.

use crate::error::WireError;

/// One statement's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// `None`: a statement that returns no rows at all.
    pub columns: Option<Vec<String>>,
    pub rows: u64,
    /// The body of the last DataRow, for [`crate::row_values`].
    pub last: Vec<u8>,
}

/// The column names of a RowDescription.
pub(crate) fn column_names(body: &[u8]) -> Result<Vec<String>, WireError> {
    /// Table, attribute, type, its length and modifier, format.
    const AFTER_NAME: usize = 18;
    let torn = || WireError::malformed("a row description whose lengths do not fit");
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(torn)?;
    let mut names = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = rest.iter().position(|&byte| byte == 0).ok_or_else(torn)?;
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 1 + AFTER_NAME..).ok_or_else(torn)?;
    }
    if rest.is_empty() {
        Ok(names)
    } else {
        Err(torn())
    }
}
