//! Reads numbers and texts from the payload of a packet.

use crate::error::WireError;

/// What a length says of a value that is NULL in a text row.
pub(crate) const NULL: u8 = 0xfb;

/// A payload, read from its beginning; every end that comes too early is an error.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// What is read, as an error names it.
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, what }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        if length > self.bytes.len() {
            return Err(self.torn());
        }
        let (head, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        Ok(head)
    }

    pub fn skip(&mut self, length: usize) -> Result<(), WireError> {
        self.take(length).map(drop)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer ("Protocol::LengthEncodedInteger").
    pub fn length(&mut self) -> Result<usize, WireError> {
        let number = match self.u8()? {
            0xfc => u64::from(self.u16()?),
            0xfd => {
                let [a, b, c] = self.array()?;
                u64::from(u32::from_le_bytes([a, b, c, 0]))
            }
            0xfe => u64::from_le_bytes(self.array()?),
            NULL | 0xff => return Err(self.torn()),
            small => u64::from(small),
        };
        usize::try_from(number).map_err(|_| self.torn())
    }

    /// A length-encoded text.
    pub fn text(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.length()?;
        self.take(length)
    }

    /// A text up to a NUL byte, or up to the end.
    pub fn c_string(&mut self) -> &'a [u8] {
        let end = self.bytes.iter().position(|&byte| byte == 0);
        let text = &self.bytes[..end.unwrap_or(self.bytes.len())];
        self.bytes = &self.bytes[end.map_or(self.bytes.len(), |end| end + 1)..];
        text
    }

    #[cold]
    pub fn torn(&self) -> WireError {
        WireError::malformed(format!("{} whose lengths do not fit", self.what))
    }
}
