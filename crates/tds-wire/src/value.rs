//! Reads values of rows as text, for variables of scripts.

use crate::column::{self as of, Collation, Column, Layout};
use crate::error::WireError;
use crate::reader::{narrow, Reader, Stop};
use crate::row::{NO_SHORT_VALUE, NO_VALUE, TIME_STAMP};

/// From 0001-01-01, the first day of `date`, to 1970-01-01.
const DAYS_OF_DATE: i64 = 719_162;
/// From 1900-01-01, the first day of `datetime`, to 1970-01-01.
const DAYS_OF_DATETIME: i64 = 25_567;

/// In the highest byte of a collation's flags: its `varchar` holds UTF-8.
const UTF8: u8 = 4;
/// Languages whose collations are of code page 1252, without their countries (LCID).
const WESTERN_LANGUAGES: [u16; 29] = [
    0x03, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x0c, 0x0f, 0x10, 0x13, 0x14, 0x16, 0x17, 0x1d, 0x21, 0x2d,
    0x2e, 0x36, 0x38, 0x3b, 0x3e, 0x41, 0x52, 0x56, 0x62, 0x7a, 0x7c, 0x7e, 0x83,
];
const LANGUAGE: u16 = 0x3ff;
/// What code page 1252 has from 0x80 to 0x9f; elsewhere it is Latin-1.
const WESTERN: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The next value of a row; `None` is NULL.
pub(crate) fn read_value(column: &Column, reader: &mut Reader) -> Result<Option<String>, Stop> {
    let Some(bytes) = read_bytes(column, reader)? else {
        return Ok(None);
    };
    let text = as_text(column, &bytes).ok_or_else(|| {
        let (kind, length) = (column.kind, bytes.len());
        WireError::malformed(match column.is_text() {
            true => "a text in a code page that is not read here: CAST(... AS nvarchar(max)) is"
                .to_owned(),
            false => format!("a value of type {kind:#04x} in {length} bytes"),
        })
    })?;
    Ok(Some(text))
}

/// The bytes of the next value.
pub(crate) fn read_bytes(column: &Column, reader: &mut Reader) -> Result<Option<Vec<u8>>, Stop> {
    let length = match column.layout {
        Layout::Fixed(0) => return Ok(None),
        Layout::Fixed(length) => usize::from(length),
        Layout::Byte => match reader.u8()? {
            0 => return Ok(None),
            length => usize::from(length),
        },
        Layout::Short => match reader.u16()? {
            NO_SHORT_VALUE => return Ok(None),
            length => usize::from(length),
        },
        Layout::Long => match reader.u32()? {
            0 => return Ok(None),
            length => length as usize,
        },
        Layout::Chunked => {
            if reader.u64()? == NO_VALUE {
                return Ok(None);
            }
            let mut whole = Vec::new();
            loop {
                match reader.u32()? as usize {
                    0 => return Ok(Some(whole)),
                    length => whole.extend_from_slice(reader.take(length)?),
                }
            }
        }
        Layout::Pointed => match usize::from(reader.u8()?) {
            0 => return Ok(None),
            pointer => {
                reader.skip(pointer + TIME_STAMP)?;
                reader.u32()? as usize
            }
        },
    };
    Ok(Some(reader.take(length)?.to_vec()))
}

/// `None`: no value of this type has so many bytes, or a text is in another code page.
fn as_text(column: &Column, bytes: &[u8]) -> Option<String> {
    Some(match column.kind {
        of::TINYINT | of::SMALLINT | of::INT | of::BIGINT | of::INT_N => {
            integer(bytes)?.to_string()
        }
        of::BIT | of::BIT_N => match bytes {
            [bit] => u8::from(*bit != 0).to_string(),
            _ => return None,
        },
        of::REAL | of::FLOAT | of::FLOAT_N => match bytes.len() {
            4 => f32::from_le_bytes(bytes.try_into().ok()?).to_string(),
            _ => f64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        },
        of::MONEY | of::SMALLMONEY | of::MONEY_N => money(bytes)?,
        of::DECIMAL_N | of::NUMERIC_N => decimal(bytes, usize::from(column.scale))?,
        of::DATETIME | of::SMALLDATETIME | of::DATETIME_N => datetime(bytes)?,
        of::DATE => date(bytes)?,
        of::TIME => time(bytes, column.scale)?,
        of::DATETIME2 => datetime2(bytes, column.scale)?,
        of::DATETIMEOFFSET => datetimeoffset(bytes, column.scale)?,
        of::GUID => guid(bytes)?,
        of::NVARCHAR | of::NCHAR | of::NTEXT | of::XML => narrow(bytes),
        of::BIG_VARCHAR | of::BIG_CHAR | of::TEXT => in_code_page(column.collation, bytes)?,
        _ => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{digits}")
        }
    })
}

/// A text of bytes in the code page of a collation: that of its sort order, as earlier servers have
/// it, else of its language.
fn in_code_page(collation: Collation, bytes: &[u8]) -> Option<String> {
    let [language, country, _, flags, order] = collation;
    if bytes.is_ascii() || flags & UTF8 != 0 {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let western = match order {
        0 => WESTERN_LANGUAGES.contains(&(u16::from_le_bytes([language, country]) & LANGUAGE)),
        _ => matches!(order, 51..=54 | 183..=186 | 210..=217),
    };
    let letter = |&byte: &u8| match byte {
        0x80..=0x9f => WESTERN[usize::from(byte) - 0x80],
        _ => char::from(byte),
    };
    western.then(|| bytes.iter().map(letter).collect())
}

/// A number, lowest byte first; of one byte it has no sign.
fn integer(bytes: &[u8]) -> Option<i64> {
    Some(match bytes.len() {
        1 => i64::from(bytes[0]),
        2 => i64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        4 => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        8 => i64::from_le_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

/// Ten-thousandths; of eight bytes the higher half comes first.
fn money(bytes: &[u8]) -> Option<String> {
    let amount = match bytes.len() {
        4 => integer(bytes)?,
        8 => (integer(&bytes[..4])? << 32) | (integer(&bytes[4..])? & 0xffff_ffff),
        _ => return None,
    };
    Some(pointed(
        amount < 0,
        u128::from(amount.unsigned_abs()).to_string(),
        4,
    ))
}

/// A sign, and a number of up to 16 bytes, lowest byte first.
fn decimal(bytes: &[u8], scale: usize) -> Option<String> {
    let (sign, number) = bytes.split_first()?;
    let mut wide = [0; 16];
    wide.get_mut(..number.len())?.copy_from_slice(number);
    let number = u128::from_le_bytes(wide);
    Some(pointed(
        *sign == 0 && number != 0,
        number.to_string(),
        scale,
    ))
}

/// Digits with a point before the last `scale` of them.
fn pointed(negative: bool, digits: String, scale: usize) -> String {
    let sign = if negative { "-" } else { "" };
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    match scale {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{part}"),
    }
}

/// Days since 1900 and 300ths of a second, or days and minutes.
fn datetime(bytes: &[u8]) -> Option<String> {
    let (days, milliseconds) = match *bytes {
        [d0, d1, m0, m1] => (
            i64::from(u16::from_le_bytes([d0, d1])),
            i64::from(u16::from_le_bytes([m0, m1])) * 60_000,
        ),
        [_, _, _, _, t0, t1, t2, t3] => (
            integer(&bytes[..4])?,
            (i64::from(u32::from_le_bytes([t0, t1, t2, t3])) * 10 + 1) / 3,
        ),
        _ => return None,
    };
    let day = civil(days - DAYS_OF_DATETIME);
    Some(format!("{day} {}", clock(milliseconds as u128, 3)))
}

/// Three bytes: days since the year 1.
fn date(bytes: &[u8]) -> Option<String> {
    let &[a, b, c] = bytes else { return None };
    let days = u32::from_le_bytes([a, b, c, 0]);
    Some(civil(i64::from(days) - DAYS_OF_DATE))
}

fn time(bytes: &[u8], scale: u8) -> Option<String> {
    let mut wide = [0; 16];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    (bytes.len() <= 5).then(|| clock(u128::from_le_bytes(wide), usize::from(scale)))
}

fn datetime2(bytes: &[u8], scale: u8) -> Option<String> {
    let (clock, day) = bytes.split_at_checked(bytes.len().checked_sub(3)?)?;
    Some(format!("{} {}", date(day)?, time(clock, scale)?))
}

/// The time and day are those of UTC; the minutes by which the value's own clock is ahead follow.
fn datetimeoffset(bytes: &[u8], scale: u8) -> Option<String> {
    let (utc, ahead) = bytes.split_at_checked(bytes.len().checked_sub(2)?)?;
    let ahead = integer(ahead)?;
    let sign = if ahead < 0 { '-' } else { '+' };
    let minutes = ahead.abs();
    let offset = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    Some(format!("{} UTC{offset}", datetime2(utc, scale)?))
}

/// A time of day in units of which 10^`scale` are a second.
fn clock(units: u128, scale: usize) -> String {
    let second = 10_u128.pow(scale as u32);
    let (seconds, part) = (units / second, units % second);
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    let whole = format!("{hour:02}:{minute:02}:{:02}", seconds % 60);
    match scale {
        0 => whole,
        _ => format!("{whole}.{part:0>scale$}"),
    }
}

/// A day by its distance from 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date
/// algorithms", civil_from_days).
fn civil(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The first three groups have their lowest byte first.
fn guid(bytes: &[u8]) -> Option<String> {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let bytes: &[u8; 16] = bytes.try_into().ok()?;
    let mut text = String::new();
    for (number, at) in order.into_iter().enumerate() {
        if matches!(number, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{:02X}", bytes[at]));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: u8, scale: u8, bytes: &[u8]) -> Option<String> {
        let layout = Layout::Byte;
        as_text(
            &Column {
                kind,
                layout,
                scale,
                collation: [9, 4, 0xd0, 0, 0x34],
            },
            bytes,
        )
    }

    #[test]
    fn values_are_read_as_the_server_would_print_them() {
        let shown = |kind, scale, bytes: &[u8]| text(kind, scale, bytes).unwrap();
        assert_eq!(shown(of::INT_N, 0, &(-7_i64).to_le_bytes()), "-7");
        assert_eq!(shown(of::INT_N, 0, &[255]), "255");
        assert_eq!(shown(of::BIT_N, 0, &[1]), "1");
        assert_eq!(shown(of::FLOAT_N, 0, &0.5_f64.to_le_bytes()), "0.5");
        assert_eq!(shown(of::MONEY_N, 0, &12_345_i32.to_le_bytes()), "1.2345");
        let money = [(-1_i32).to_le_bytes(), (-12_345_i32).to_le_bytes()].concat();
        assert_eq!(shown(of::MONEY_N, 0, &money), "-1.2345");
        assert_eq!(shown(of::DECIMAL_N, 2, &[0, 5, 0, 0, 0]), "-0.05");
        assert_eq!(shown(of::NUMERIC_N, 0, &[1, 5, 0, 0, 0]), "5");
        assert_eq!(shown(of::NVARCHAR, 0, b"h\0\xe9\0"), "hé");
        assert_eq!(shown(of::BIG_VARCHAR, 0, b"h\xe9"), "hé");
        assert_eq!(shown(0xa5, 0, &[0xab, 1]), "0xAB01");
    }

    #[test]
    fn a_text_of_bytes_is_read_in_the_code_page_of_its_collation() {
        let latin = [
            [9, 4, 0xd0, 0, 0x34],
            [7, 4, 0xd0, 0, 0],
            [0x0a, 0x0c, 0xd0, 0, 0],
        ];
        for collation in latin {
            let read = in_code_page(collation, b"\x80 5 \x96 \x93x\x94 \xe9\xc3\xa9 \x99");
            assert_eq!(read.as_deref(), Some("€ 5 – “x” éÃ© ™"));
        }
        let utf8 = [9, 4, 0xd0, 0x24, 0];
        assert_eq!(in_code_page(utf8, b"\xc3\xa9").as_deref(), Some("é"));
        assert_eq!(in_code_page(utf8, b"\xe9"), None);
        // Cyrillic, Croatian, Japanese; code pages 850 and 437, Czech of earlier servers.
        for (language, order) in [(0x19, 0), (0x1a, 0), (0x11, 0), (9, 49), (9, 30), (5, 82)] {
            let collation = [language, 4, 0xd0, 0, order];
            assert_eq!(in_code_page(collation, b"\xe9"), None);
            assert_eq!(in_code_page(collation, b"e").as_deref(), Some("e"));
        }
    }

    #[test]
    fn days_and_times_are_counted_from_their_beginnings() {
        let shown = |kind, scale, bytes: &[u8]| text(kind, scale, bytes).unwrap();
        assert_eq!(shown(of::DATE, 0, &[0, 0, 0]), "0001-01-01");
        // 2026-03-04 is day 739 678 of `date` and 46 083 of `datetime`.
        let day = 739_678_u32.to_le_bytes();
        assert_eq!(shown(of::DATE, 0, &day[..3]), "2026-03-04");
        for (days, date) in [
            (738_884_u32, "2023-12-31"),
            (738_915, "2024-01-31"),
            (738_944, "2024-02-29"),
            (738_945, "2024-03-01"),
        ] {
            assert_eq!(shown(of::DATE, 0, &days.to_le_bytes()[..3]), date);
        }
        let noon = [&46_083_i32.to_le_bytes()[..], &12_960_001_u32.to_le_bytes()].concat();
        assert_eq!(shown(of::DATETIME_N, 0, &noon), "2026-03-04 12:00:00.003");
        let brief = [&46_083_u16.to_le_bytes()[..], &61_u16.to_le_bytes()].concat();
        assert_eq!(shown(of::DATETIME_N, 0, &brief), "2026-03-04 01:01:00.000");
        assert_eq!(shown(of::TIME, 2, &[0x39, 0x30, 0]), "00:02:03.45");
        let whole = [&[1, 0, 0][..], &day[..3]].concat();
        assert_eq!(shown(of::DATETIME2, 0, &whole), "2026-03-04 00:00:01");
        let ahead = [&whole[..], &(-90_i16).to_le_bytes()].concat();
        assert_eq!(
            shown(of::DATETIMEOFFSET, 0, &ahead),
            "2026-03-04 00:00:01 UTC-01:30"
        );
    }

    #[test]
    fn a_guid_is_printed_in_its_mixed_order() {
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(
            text(of::GUID, 0, &bytes).unwrap(),
            "03020100-0504-0706-0809-0A0B0C0D0E0F"
        );
        assert_eq!(text(of::GUID, 0, &bytes[1..]), None);
    }
}
