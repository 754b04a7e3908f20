//! Walks over the values of a row, unread, wherever the stream cuts them.

use crate::column::{Column, Layout};
use crate::reader::{Reader, Stop};

/// A total that is no length: the value is NULL.
pub(crate) const NO_VALUE: u64 = u64::MAX;
/// A length that is none: the value is NULL.
pub(crate) const NO_SHORT_VALUE: u16 = 0xffff;
/// Bytes of a text's time stamp.
pub(crate) const TIME_STAMP: usize = 8;

/// The row that the stream is in.
#[derive(Debug, Default)]
pub(crate) struct RowWalk {
    active: bool,
    /// The column whose value is next.
    at: usize,
    /// Bytes of a value still to be skipped.
    skip: usize,
    /// The next bytes are the length of a chunk of column `at`.
    chunked: bool,
    /// A bit for each column that is NULL and has no bytes; empty: none.
    nulls: Vec<u8>,
}

impl RowWalk {
    /// Begins a row; `nulls` as an NBCROW has it.
    #[inline]
    pub fn begin(&mut self, nulls: &[u8]) {
        self.active = true;
        self.at = 0;
        self.chunked = false;
        self.nulls.clear();
        self.nulls.extend_from_slice(nulls);
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        self.active
    }

    pub fn nulls(&self) -> &[u8] {
        &self.nulls
    }

    /// Takes what there is of the row; how many bytes that was. Where it is still active, the rest
    /// is the beginning of a length whose end has not come.
    #[inline]
    pub fn walk(&mut self, bytes: &[u8], columns: &[Column]) -> usize {
        let mut reader = Reader::new(bytes);
        // Early: the reader stands where the length begins, for it is read anew.
        let mut read = bytes;
        while self.step(&mut reader, columns).is_ok() {
            read = reader.rest();
            if !self.active {
                break;
            }
        }
        bytes.len() - read.len()
    }

    #[inline]
    fn step(&mut self, reader: &mut Reader, columns: &[Column]) -> Result<(), Stop> {
        if self.skip > 0 {
            let skipped = self.skip.min(reader.rest().len());
            if skipped == 0 {
                return Err(Stop::Early);
            }
            self.skip -= skipped;
            return reader.skip(skipped);
        }
        if self.chunked {
            self.skip = reader.u32()? as usize;
            if self.skip == 0 {
                self.chunked = false;
                self.at += 1;
            }
            return Ok(());
        }
        let Some(column) = columns.get(self.at) else {
            self.active = false;
            return Ok(());
        };
        if is_null(&self.nulls, self.at) {
            self.at += 1;
            return Ok(());
        }
        self.skip = match column.layout {
            Layout::Fixed(length) => usize::from(length),
            Layout::Byte => usize::from(reader.u8()?),
            Layout::Short => match reader.u16()? {
                NO_SHORT_VALUE => 0,
                length => usize::from(length),
            },
            Layout::Long => reader.u32()? as usize,
            Layout::Chunked => {
                if reader.u64()? != NO_VALUE {
                    self.chunked = true;
                    return Ok(());
                }
                0
            }
            Layout::Pointed => match usize::from(reader.u8()?) {
                0 => 0,
                pointer => {
                    reader.skip(pointer + TIME_STAMP)?;
                    reader.u32()? as usize
                }
            },
        };
        self.at += 1;
        Ok(())
    }
}

/// Whether the column of this number has no value, by a row's map.
#[inline]
pub(crate) fn is_null(nulls: &[u8], number: usize) -> bool {
    nulls
        .get(number / 8)
        .is_some_and(|byte| byte & (1 << (number % 8)) != 0)
}
