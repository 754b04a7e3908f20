//! Reads the column names of a RowDescription and the values of a DataRow.

use crate::error::WireError;

/// The bytes of one row's values; `None` is NULL.
pub type Row<'a> = Vec<Option<&'a [u8]>>;

/// Reads the body of a DataRow whose values are in text format.
pub fn row_values(body: &[u8]) -> Result<Row<'_>, WireError> {
    let (columns, mut rest) = take::<2>(body)?;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(columns) {
        let (length, after) = take::<4>(rest)?;
        let length = i32::from_be_bytes(length);
        if length == -1 {
            row.push(None);
            rest = after;
            continue;
        }
        let length = usize::try_from(length).map_err(|_| torn())?;
        let value = after.get(..length).ok_or_else(torn)?;
        row.push(Some(value));
        rest = &after[length..];
    }
    if rest.is_empty() {
        Ok(row)
    } else {
        Err(torn())
    }
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

fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), WireError> {
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or_else(torn)?;
    Ok((*head, rest))
}

fn torn() -> WireError {
    WireError::malformed("a row whose lengths do not fit")
}
