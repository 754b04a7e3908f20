//! Encodes rows as MySQL's LOAD DATA reads them: fields between tabs, a line each, `\N` for NULL.
//!
//! Source: MySQL 5.7's manual, "LOAD DATA Statement", with its own defaults: FIELDS TERMINATED BY
//! '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'. The same escapes have the same meaning inside the
//! quotes of a string literal, so a line can be made a row of an INSERT by quoting its fields.

use crate::encoder::{Encoded, Encoder};

/// Days from 0000-03-01 to 2000-01-01, in the Gregorian calendar.
const DAYS_BEFORE_2000: i64 = 730_425;
const MICROSECONDS_A_SECOND: i64 = 1_000_000;
const MICROSECONDS_A_DAY: i64 = 86_400 * MICROSECONDS_A_SECOND;

/// Lines as they are written, what they add up to, and how many there are.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lines {
    pub bytes: Vec<u8>,
    pub rows: u64,
    pub control_sum: i64,
    /// Fields of the last row that are still to come.
    left: i16,
}

impl Encoder for Lines {
    fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    fn finish(self) -> Encoded {
        debug_assert_eq!(self.left, 0, "the last row is not whole");
        Encoded {
            bytes: self.bytes,
            rows: self.rows,
            control_sum: self.control_sum,
        }
    }

    #[inline]
    fn start_row(&mut self, fields: i16) {
        debug_assert!(self.left == 0 && fields > 0);
        self.left = fields;
        self.rows += 1;
    }

    #[inline]
    fn int2(&mut self, value: i16) {
        self.int8(i64::from(value));
    }

    #[inline]
    fn int4(&mut self, value: i32) {
        self.int8(i64::from(value));
    }

    #[inline]
    fn int8(&mut self, value: i64) {
        self.control_sum = self.control_sum.wrapping_add(value);
        self.number(value);
        self.end_field();
    }

    #[inline]
    fn bool(&mut self, value: bool) {
        self.bytes.push(b'0' + u8::from(value));
        self.end_field();
    }

    #[inline]
    fn null(&mut self) {
        self.bytes.extend_from_slice(b"\\N");
        self.end_field();
    }

    #[inline]
    fn text(&mut self, value: &[u8]) {
        self.escaped(value);
        self.end_field();
    }

    #[inline]
    fn joined(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.escaped(part);
        }
        self.end_field();
    }

    /// As text of 36 characters: no MySQL has a type for it, MariaDB from 10.7 on.
    fn uuid(&mut self, value: &[u8; 16]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for (at, byte) in value.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                self.bytes.push(b'-');
            }
            let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            self.bytes.extend_from_slice(&digits);
        }
        self.end_field();
    }

    fn timestamp(&mut self, microseconds: i64) {
        let within = microseconds.rem_euclid(MICROSECONDS_A_DAY);
        self.day(microseconds.div_euclid(MICROSECONDS_A_DAY));
        let seconds = within / MICROSECONDS_A_SECOND;
        for (mark, value) in [
            (b' ', seconds / 3_600),
            (b':', seconds / 60 % 60),
            (b':', seconds % 60),
        ] {
            self.bytes.push(mark);
            self.padded(value as u64, 2);
        }
        let fraction = within % MICROSECONDS_A_SECOND;
        if fraction > 0 {
            self.bytes.push(b'.');
            self.padded(fraction as u64, 6);
        }
        self.end_field();
    }

    #[inline]
    fn date(&mut self, days: i32) {
        self.day(i64::from(days));
        self.end_field();
    }

    /// The shortest digits that are read as the same number.
    fn float8(&mut self, value: f64) {
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        self.end_field();
    }

    #[inline]
    fn json(&mut self, parts: &[&[u8]]) {
        self.joined(parts);
    }

    fn numeric(&mut self, value: i64, digits: u32) {
        let unit = 10u64.pow(digits);
        let magnitude = value.unsigned_abs();
        if value < 0 {
            self.bytes.push(b'-');
        }
        self.padded(magnitude / unit, 1);
        if digits > 0 {
            self.bytes.push(b'.');
            self.padded(magnitude % unit, digits as usize);
        }
        self.end_field();
    }
}

impl Lines {
    #[inline]
    fn end_field(&mut self) {
        self.left -= 1;
        self.bytes.push(match self.left {
            0 => b'\n',
            _ => b'\t',
        });
    }

    #[inline]
    fn escaped(&mut self, value: &[u8]) {
        for &byte in value {
            match byte {
                b'\\' | b'\t' | b'\n' | 0 => {
                    let letter = match byte {
                        b'\t' => b't',
                        b'\n' => b'n',
                        0 => b'0',
                        other => other,
                    };
                    self.bytes.extend_from_slice(&[b'\\', letter]);
                }
                _ => self.bytes.push(byte),
            }
        }
    }

    #[inline]
    fn number(&mut self, value: i64) {
        let mut space = itoa::Buffer::new();
        self.bytes.extend_from_slice(space.format(value).as_bytes());
    }

    /// With zeros before it, so that it has `width` digits at least.
    fn padded(&mut self, value: u64, width: usize) {
        let mut space = itoa::Buffer::new();
        let digits = space.format(value).as_bytes();
        let zeros = width.saturating_sub(digits.len());
        self.bytes.extend(std::iter::repeat(b'0').take(zeros));
        self.bytes.extend_from_slice(digits);
    }

    /// A day as YYYY-MM-DD, years 0 to 9999.
    ///
    /// Source: Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    fn day(&mut self, days_since_2000: i64) {
        let days = days_since_2000 + DAYS_BEFORE_2000;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153; // months from March on
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        self.padded(year as u64, 4);
        self.bytes.push(b'-');
        self.padded(month as u64, 2);
        self.bytes.push(b'-');
        self.padded((day_of_year - (153 * shifted + 2) / 5 + 1) as u64, 2);
    }
}
