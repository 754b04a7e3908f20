//! Reads numbers and texts from bytes of which the end may not have come yet.

use crate::error::WireError;

/// Why reading stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// More bytes are needed.
    Early,
    Wrong(WireError),
}

impl Stop {
    /// As an error, where all bytes of `what` were there.
    #[cold]
    pub fn within(self, what: &str) -> WireError {
        match self {
            Stop::Early => WireError::malformed(format!("{what} whose lengths do not fit")),
            Stop::Wrong(error) => error,
        }
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Stop {
        Stop::Wrong(error)
    }
}

/// Bytes, read from their beginning; numbers have their lowest byte first.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        if length > self.bytes.len() {
            return Err(Stop::Early);
        }
        let (head, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(head)
    }

    #[inline]
    pub fn skip(&mut self, length: usize) -> Result<(), Stop> {
        self.take(length).map(drop)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, Stop> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Bytes after a length of one byte (B_VARBYTE).
    pub fn short_bytes(&mut self) -> Result<&'a [u8], Stop> {
        let length = usize::from(self.u8()?);
        self.take(length)
    }

    /// A text after its number of UTF-16 units, in one byte (B_VARCHAR).
    pub fn short_text(&mut self) -> Result<String, Stop> {
        let length = usize::from(self.u8()?);
        Ok(narrow(self.take(2 * length)?))
    }

    /// A text after its number of UTF-16 units, in two bytes (US_VARCHAR).
    pub fn long_text(&mut self) -> Result<String, Stop> {
        let length = usize::from(self.u16()?);
        Ok(narrow(self.take(2 * length)?))
    }

    /// Steps over a text like [`Reader::short_text`].
    #[inline]
    pub fn skip_short_text(&mut self) -> Result<(), Stop> {
        let length = usize::from(self.u8()?);
        self.skip(2 * length)
    }

    /// Steps over a text like [`Reader::long_text`].
    #[inline]
    pub fn skip_long_text(&mut self) -> Result<(), Stop> {
        let length = usize::from(self.u16()?);
        self.skip(2 * length)
    }
}

/// A text from UTF-16, lowest byte first; what is none is replaced.
pub(crate) fn narrow(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}
