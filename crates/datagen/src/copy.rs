//! Encodes tuples of `COPY … WITH (FORMAT binary)`: a field count, then each field with its length.
//!
//! Source: the manual's chapter on COPY, and the `*_send` functions of src/backend/utils/adt.

use crate::encoder::{Encoded, Encoder};

/// What stands before the first tuple: signature, flags, length of the header extension.
pub const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What stands after the last tuple: a field count of −1.
pub const TRAILER: &[u8; 2] = b"\xff\xff";

/// Tuples as they are written, what they add up to, and how many there are.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tuples {
    pub bytes: Vec<u8>,
    pub rows: u64,
    pub control_sum: i64,
}

impl Encoder for Tuples {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    fn finish(self) -> Encoded {
        Encoded {
            bytes: self.bytes,
            rows: self.rows,
            control_sum: self.control_sum,
        }
    }

    #[inline]
    fn start_row(&mut self, fields: i16) {
        self.bytes.extend_from_slice(&fields.to_be_bytes());
        self.rows += 1;
    }

    #[inline]
    fn int2(&mut self, value: i16) {
        self.control_sum = self.control_sum.wrapping_add(i64::from(value));
        self.field(&value.to_be_bytes());
    }

    #[inline]
    fn int4(&mut self, value: i32) {
        self.control_sum = self.control_sum.wrapping_add(i64::from(value));
        self.field(&value.to_be_bytes());
    }

    #[inline]
    fn int8(&mut self, value: i64) {
        self.control_sum = self.control_sum.wrapping_add(value);
        self.field(&value.to_be_bytes());
    }

    #[inline]
    fn bool(&mut self, value: bool) {
        self.field(&[u8::from(value)]);
    }

    #[inline]
    fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1i32).to_be_bytes());
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        self.field(value);
    }

    #[inline]
    fn uuid(&mut self, value: &[u8; 16]) {
        self.field(value);
    }

    #[inline]
    fn joined(&mut self, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.extend_from_slice(&(length as i32).to_be_bytes());
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
    }

    /// `timestamptz` too.
    #[inline]
    fn timestamp(&mut self, microseconds: i64) {
        self.field(&microseconds.to_be_bytes());
    }

    #[inline]
    fn date(&mut self, days: i32) {
        self.field(&days.to_be_bytes());
    }

    #[inline]
    fn float8(&mut self, value: f64) {
        self.field(&value.to_be_bytes());
    }

    /// A byte says the version of the form (jsonb.c, jsonb_recv).
    #[inline]
    fn json(&mut self, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes
            .extend_from_slice(&(length as i32 + 1).to_be_bytes());
        self.bytes.push(1);
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Digits are base 10000, the first of weight `weight`; zeros at either end are left out
    /// (numeric.c, strip_var), which is what the server would make of it.
    fn numeric(&mut self, value: i64, digits: u32) {
        const BASE: u64 = 10_000;
        let unit = 10u64.pow(digits);
        let magnitude = value.unsigned_abs();
        let fraction = magnitude % unit * (BASE / unit);
        let mut whole = magnitude / unit;
        let mut groups = [0u16; 7];
        let mut length = 0;
        while whole > 0 {
            groups[length] = (whole % BASE) as u16;
            whole /= BASE;
            length += 1;
        }
        let mut weight = length as i16 - 1;
        groups[..length].reverse();
        groups[length] = fraction as u16;
        let (mut first, mut end) = (0, length + 1);
        while end > first && groups[end - 1] == 0 {
            end -= 1;
        }
        while first < end && groups[first] == 0 {
            first += 1;
            weight -= 1;
        }
        if first == end {
            weight = 0;
        }
        let sign: u16 = if value < 0 { 0x4000 } else { 0 };
        let count = (end - first) as i16;
        let size = 8 + 2 * i32::from(count);
        self.bytes.extend_from_slice(&size.to_be_bytes());
        self.bytes.extend_from_slice(&count.to_be_bytes());
        self.bytes.extend_from_slice(&weight.to_be_bytes());
        self.bytes.extend_from_slice(&sign.to_be_bytes());
        self.bytes.extend_from_slice(&(digits as i16).to_be_bytes());
        for group in &groups[first..end] {
            self.bytes.extend_from_slice(&group.to_be_bytes());
        }
    }
}

impl Tuples {
    #[inline]
    fn field(&mut self, value: &[u8]) {
        self.bytes
            .extend_from_slice(&(value.len() as i32).to_be_bytes());
        self.bytes.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoder, Tuples};

    fn numeric(value: i64, digits: u32) -> Vec<i16> {
        let mut out = Tuples::default();
        out.numeric(value, digits);
        let words = out.bytes[4..].chunks(2);
        words.map(|w| i16::from_be_bytes([w[0], w[1]])).collect()
    }

    #[test]
    fn numbers_are_written_as_the_server_writes_them() {
        assert_eq!(numeric(0, 2), [0, 0, 0, 2]);
        assert_eq!(numeric(-1000, 2), [1, 0, 0x4000, 2, 10]);
        assert_eq!(numeric(30_000_000, 2), [1, 1, 0, 2, 30]);
        assert_eq!(numeric(1234, 4), [1, -1, 0, 4, 1234]);
        assert_eq!(numeric(123_456_789, 2), [3, 1, 0, 2, 123, 4567, 8900]);
        assert_eq!(numeric(5, 2), [1, -1, 0, 2, 500]);
    }
}
