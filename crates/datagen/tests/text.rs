//! Tests that lines say what was written: read back as LOAD DATA reads them.

use proptest::prelude::*;
use steelyard_datagen::{Encoder, Lines};

/// The one line that a row of these fields makes, without its end.
fn line(fields: i16, write: impl Fn(&mut Lines)) -> String {
    let mut out = Lines::default();
    out.start_row(fields);
    write(&mut out);
    let text = String::from_utf8(out.finish().bytes).expect("UTF-8");
    text.strip_suffix('\n').expect("an end of line").to_owned()
}

/// Fields as LOAD DATA reads them; `None` is NULL.
fn read(lines: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut rows = vec![];
    let (mut row, mut field) = (vec![], Some(vec![]));
    let mut bytes = lines.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\t' | b'\n' => {
                row.push(field.replace(vec![]));
                if byte == b'\n' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            b'\\' => match *bytes.next().expect("an escaped byte") {
                b'N' => field = None,
                escaped => field.as_mut().expect("text").push(match escaped {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'0' => 0,
                    other => other,
                }),
            },
            other => field.as_mut().expect("text").push(other),
        }
    }
    assert!(
        row.is_empty() && field == Some(vec![]),
        "a line without end"
    );
    rows
}

#[test]
fn every_type_is_written_as_mysql_reads_it() {
    let written = line(9, |out| {
        out.int2(-3);
        out.bool(true);
        out.null();
        out.joined(&[b"a\t", b"\\b"]);
        out.uuid(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        out.timestamp(9_497 * 86_400_000_000);
        out.timestamp(-1);
        out.date(13_149);
        out.numeric(-5, 2);
    });
    let wanted = "-3\t1\t\\N\ta\\t\\\\b\t00010203-0405-0607-0809-0a0b0c0d0eff\t\
                  2026-01-01 00:00:00\t1999-12-31 23:59:59.999999\t2036-01-01\t-0.05";
    assert_eq!(written, wanted);
}

#[test]
fn days_follow_the_calendar_for_two_centuries() {
    let (mut year, mut month, mut day) = (1900, 1, 1);
    for days in -36_524..36_525 {
        let shown = line(1, |out| out.date(days));
        assert_eq!(shown, format!("{year:04}-{month:02}-{day:02}"));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i32::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        day += 1;
        if day > length {
            (month, day) = (month + 1, 1);
        }
        if month > 12 {
            (year, month) = (year + 1, 1);
        }
    }
    assert_eq!((year, month, day), (2100, 1, 1));
}

proptest! {
    #[test]
    fn any_bytes_come_back(rows in prop::collection::vec(
        prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..20)), 1..5),
        0..5,
    )) {
        let mut out = Lines::default();
        for row in &rows {
            out.start_row(row.len() as i16);
            for field in row {
                match field {
                    Some(text) => out.text(text),
                    None => out.null(),
                }
            }
        }
        let encoded = out.finish();
        prop_assert_eq!(encoded.rows, rows.len() as u64);
        prop_assert_eq!(read(&encoded.bytes), rows);
    }

    #[test]
    fn integers_are_whole_and_summed(values in prop::collection::vec(any::<i64>(), 1..9)) {
        let mut out = Lines::default();
        for value in &values {
            out.start_row(1);
            out.int8(*value);
        }
        let encoded = out.finish();
        let text = String::from_utf8(encoded.bytes).expect("UTF-8");
        let back: Vec<i64> = text.lines().map(|line| line.parse().expect("a number")).collect();
        prop_assert_eq!(
            encoded.control_sum,
            values.iter().fold(0i64, |sum, value| sum.wrapping_add(*value))
        );
        prop_assert_eq!(back, values);
    }

    #[test]
    fn a_numeric_is_exact(value in any::<i64>(), digits in 0u32..=4) {
        let shown = line(1, |out| out.numeric(value, digits));
        let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
        prop_assert_eq!(fraction.len(), digits as usize);
        let joined: i128 = format!("{whole}{fraction}").parse().expect("digits");
        prop_assert_eq!(joined, i128::from(value));
        prop_assert!(!whole.trim_start_matches('-').is_empty());
    }

    #[test]
    fn a_time_of_day_counts_its_microseconds(within in 0i64..86_400_000_000) {
        let shown = line(1, |out| out.timestamp(within));
        let (day, time) = shown.split_once(' ').expect("a day and a time");
        prop_assert_eq!(day, "2000-01-01");
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let parts: Vec<i64> = clock.split(':').map(|part| part.parse().expect("digits")).collect();
        let seconds = parts.iter().fold(0, |sum, part| sum * 60 + part);
        prop_assert_eq!(seconds * 1_000_000 + fraction.parse::<i64>().expect("digits"), within);
    }
}
