//! Replies: what is counted, what is kept, what ends them, and that any bytes are survived.

use mysql_common::constants::{ColumnFlags, ColumnType};
use mysql_common::packets::Column;
use mysql_common::proto::MySerialize;
use mysql_common::value::Value;
use proptest::prelude::*;
use steelyard_mysql_wire::{row_values, Scanner, WireError};

const AUTOCOMMIT: u16 = 2;
const IN_TRANSACTION: u16 = 1;
const MORE: u16 = 8;

fn packet(payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(1);
    out.extend_from_slice(payload);
    out
}

fn ok(status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    packet(&[0, 1, 0, low, high, 0, 0])
}

fn end(status: u16) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    packet(&[0xfe, 0, 0, low, high])
}

fn error(code: u16, words: &str) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    packet(&[&[0xff, low, high][..], b"#40001", words.as_bytes()].concat())
}

fn column(name: &str, kind: ColumnType, flags: ColumnFlags) -> Vec<u8> {
    let mut payload = Vec::new();
    Column::new(kind)
        .with_name(name.as_bytes())
        .with_flags(flags)
        .serialize(&mut payload);
    packet(&payload)
}

fn number(name: &str) -> Vec<u8> {
    column(name, ColumnType::MYSQL_TYPE_LONGLONG, ColumnFlags::empty())
}

/// A result of one column and these rows.
fn result(rows: &[&[u8]], status: u16) -> Vec<u8> {
    let rows: Vec<u8> = rows.iter().flat_map(|row| packet(row)).collect();
    [packet(&[1]), number("n"), end(status), rows, end(status)].concat()
}

fn scanned(bytes: &[u8]) -> Scanner {
    let mut scanner = Scanner::new();
    scanner.expect_result(false);
    assert_eq!(scanner.scan(bytes), Ok(true));
    scanner
}

#[test]
fn rows_are_counted_and_the_status_is_read() {
    let scanner = scanned(&result(&[b"\x011", b"\x012", b"\xfb"], IN_TRANSACTION));
    assert_eq!(scanner.reply().rows, 3);
    assert!(scanner.reply().in_transaction);
    assert!(!scanned(&ok(AUTOCOMMIT)).reply().in_transaction);
    assert!(scanned(&ok(IN_TRANSACTION)).reply().in_transaction);
}

#[test]
fn several_results_are_one_reply() {
    let bytes = [ok(MORE), result(&[b"\x011"], MORE), ok(AUTOCOMMIT)].concat();
    let mut scanner = Scanner::new();
    scanner.expect_result(false);
    assert_eq!(scanner.scan(&bytes[..11]), Ok(false));
    assert_eq!(scanner.scan(&bytes[11..]), Ok(true));
    assert_eq!(scanner.reply().rows, 1);
}

#[test]
fn an_error_ends_a_reply_wherever_it_comes() {
    let within = [
        packet(&[1]),
        number("n"),
        end(0),
        packet(b"\x011"),
        error(1317, "stopped"),
    ];
    for bytes in [error(1064, "syntax"), within.concat()] {
        let mut scanner = scanned(&bytes);
        let error = scanner.take_error().unwrap();
        assert_eq!(error.sqlstate, "40001");
        assert!(!error.is_fatal());
    }
    assert!(scanned(&error(1053, "shutdown"))
        .take_error()
        .unwrap()
        .is_fatal());
}

#[test]
fn a_deadlock_takes_the_transaction_back_and_another_error_may_leave_one_open() {
    for (code, open) in [(1213, false), (1205, true), (1062, true)] {
        // Before it there was one, or a procedure has begun one of its own.
        for before in [IN_TRANSACTION, AUTOCOMMIT] {
            let mut scanner = scanned(&ok(before));
            scanner.expect_result(false);
            scanner.scan(&error(code, "")).unwrap();
            assert_eq!(scanner.reply().in_transaction, open, "{code}");
        }
    }
    // A statement that cannot be prepared is executed, and its status is read.
    let mut scanner = Scanner::new();
    scanner.expect_prepared(1, true);
    let bytes = [error(1064, "syntax"), ok(AUTOCOMMIT)].concat();
    assert_eq!(scanner.scan(&bytes), Ok(true));
    assert!(!scanner.reply().in_transaction);
}

#[test]
fn what_is_prepared_has_the_servers_number_and_what_is_refused_none() {
    let first = packet(&[0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
    let parts = [number("?"), number("?"), end(0), number("n"), end(0)].concat();
    let bare = packet(&[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let replies = [first, parts, error(1146, "no table"), bare].concat();
    let mut scanner = Scanner::new();
    scanner.expect_prepared(3, false);
    assert_eq!(scanner.scan(&replies), Ok(true));
    assert_eq!(scanner.reply().prepared, [Some(7), None, Some(9)]);
    assert_eq!(scanner.take_error().unwrap().code, 1146);

    scanner.expect_prepared(3, true);
    assert_eq!(scanner.scan(&replies), Ok(false));
    assert_eq!(scanner.scan(&result(&[b"\x011"], 0)), Ok(true));
    assert_eq!(scanner.reply().rows, 1);
}

#[test]
fn a_row_of_more_than_a_packet_is_skipped_in_little_memory() {
    let longest = 0xff_ffff_usize;
    let mut scanner = Scanner::new();
    scanner.expect_result(false);
    let head = [packet(&[1]), number("n"), end(0)].concat();
    scanner.scan(&head).unwrap();
    let mut row = vec![0xfd, 0xff, 0xff];
    row.resize(longest, b'x');
    let mut bytes = packet(&row);
    bytes.extend(packet(b"the rest of it"));
    bytes.extend(packet(b"\x011"));
    bytes.extend(end(0));
    for chunk in bytes.chunks(4096) {
        scanner.scan(chunk).unwrap();
    }
    assert!(scanner.reply().complete);
    assert_eq!(scanner.reply().rows, 2);
}

#[test]
fn a_captured_row_is_the_last_one_with_its_columns() {
    let mut scanner = Scanner::new();
    scanner.expect_result(false);
    scanner.capture_results();
    let two = [packet(&[2]), number("a"), number("b"), end(0)].concat();
    let rows = [packet(b"\x011\x012"), packet(b"\xfb\x03abc"), end(MORE)].concat();
    assert_eq!(scanner.scan(&[two, rows, ok(0)].concat()), Ok(true));
    let [rows, none] = &scanner.take_captured()[..] else {
        panic!("two results");
    };
    assert_eq!(rows.columns.as_ref().unwrap(), &["a", "b"]);
    assert_eq!(rows.rows, 2);
    let values = row_values(&rows.last).unwrap();
    assert_eq!(values, [None, Some(&b"abc"[..])]);
    assert_eq!((none.columns.as_ref(), none.rows), (None, 0));
    scanner.expect_result(false);
    assert!(scanner.reply().captured.is_empty());
}

#[test]
fn a_binary_row_is_kept_as_the_text_protocol_has_it() {
    let cases = [
        (ColumnType::MYSQL_TYPE_LONGLONG, Value::Int(-5), "-5"),
        (ColumnType::MYSQL_TYPE_DOUBLE, Value::Double(1.5), "1.5"),
        (ColumnType::MYSQL_TYPE_FLOAT, Value::Float(0.25), "0.25"),
        (
            ColumnType::MYSQL_TYPE_NEWDECIMAL,
            Value::Bytes(b"12.30".to_vec()),
            "12.30",
        ),
        (
            ColumnType::MYSQL_TYPE_DATE,
            Value::Date(2026, 3, 4, 0, 0, 0, 0),
            "2026-03-04",
        ),
        (
            ColumnType::MYSQL_TYPE_DATETIME,
            Value::Date(2026, 3, 4, 5, 6, 7, 89),
            "2026-03-04 05:06:07.000089",
        ),
        (
            ColumnType::MYSQL_TYPE_TIMESTAMP,
            Value::Date(0, 0, 0, 0, 0, 0, 0),
            "0000-00-00 00:00:00",
        ),
        (
            ColumnType::MYSQL_TYPE_TIME,
            Value::Time(true, 1, 2, 3, 4, 5),
            "-26:03:04.000005",
        ),
        (
            ColumnType::MYSQL_TYPE_TIME,
            Value::Time(false, 0, 0, 0, 0, 0),
            "00:00:00",
        ),
        (ColumnType::MYSQL_TYPE_LONGLONG, Value::NULL, "NULL"),
    ];
    let mut row = vec![0; 1 + (cases.len() + 2).div_ceil(8)];
    let mut bytes = packet(&[cases.len() as u8]);
    for (number, (kind, value, _)) in cases.iter().enumerate() {
        bytes.extend(column("v", *kind, ColumnFlags::empty()));
        if *value == Value::NULL {
            row[1 + (number + 2) / 8] |= 1 << ((number + 2) % 8);
        }
        value.serialize(&mut row);
    }
    bytes.extend([end(0), packet(&row), end(0)].concat());
    let mut scanner = Scanner::new();
    scanner.expect_result(true);
    scanner.capture_results();
    assert_eq!(scanner.scan(&bytes), Ok(true));
    let [result] = &scanner.take_captured()[..] else {
        panic!("one result");
    };
    assert!(result.texts.iter().all(|&is_text| !is_text));
    let values = row_values(&result.last).unwrap();
    for ((_, _, wanted), found) in cases.iter().zip(&values) {
        assert_eq!(found.unwrap_or(b"NULL"), wanted.as_bytes());
    }
}

#[test]
fn columns_of_texts_are_told_from_those_of_numbers() {
    for (kind, is_text) in [
        (ColumnType::MYSQL_TYPE_VAR_STRING, true),
        (ColumnType::MYSQL_TYPE_STRING, true),
        (ColumnType::MYSQL_TYPE_VARCHAR, true),
        (ColumnType::MYSQL_TYPE_BLOB, true),
        (ColumnType::MYSQL_TYPE_LONGLONG, false),
        (ColumnType::MYSQL_TYPE_NEWDECIMAL, false),
        (ColumnType::MYSQL_TYPE_DATE, false),
    ] {
        let head = [
            packet(&[1]),
            column("v", kind, ColumnFlags::empty()),
            end(0),
        ]
        .concat();
        let mut scanner = Scanner::new();
        scanner.expect_result(false);
        scanner.capture_results();
        let reply = [head, packet(b"\x0242"), end(0)].concat();
        assert_eq!(scanner.scan(&reply), Ok(true));
        assert_eq!(scanner.take_captured()[0].texts, [is_text], "{kind:?}");
    }
}

#[test]
fn small_integers_have_their_sign_and_their_width() {
    for (kind, unsigned, bytes, wanted) in [
        (ColumnType::MYSQL_TYPE_TINY, false, &[0xff][..], "-1"),
        (ColumnType::MYSQL_TYPE_TINY, true, &[0xff], "255"),
        (ColumnType::MYSQL_TYPE_SHORT, false, &[0, 0x80], "-32768"),
        (ColumnType::MYSQL_TYPE_YEAR, true, &[0xea, 0x07], "2026"),
        (ColumnType::MYSQL_TYPE_LONG, false, &[1, 0, 0, 0], "1"),
        (
            ColumnType::MYSQL_TYPE_LONGLONG,
            true,
            &[0xff; 8],
            "18446744073709551615",
        ),
    ] {
        let flags = match unsigned {
            true => ColumnFlags::UNSIGNED_FLAG,
            false => ColumnFlags::empty(),
        };
        let row = [&[0, 0][..], bytes].concat();
        let head = [packet(&[1]), column("v", kind, flags), end(0)].concat();
        let mut scanner = Scanner::new();
        scanner.expect_result(true);
        scanner.capture_results();
        let reply = [head, packet(&row), end(0)].concat();
        assert_eq!(scanner.scan(&reply), Ok(true));
        let captured = scanner.take_captured();
        assert_eq!(
            row_values(&captured[0].last).unwrap(),
            [Some(wanted.as_bytes())]
        );
    }
}

#[test]
fn what_nobody_asked_for_is_an_error_and_a_farewell_is_told() {
    let mut scanner = scanned(&ok(0));
    assert!(matches!(scanner.scan(&ok(0)), Err(WireError::Malformed(_))));
    let mut scanner = scanned(&ok(0));
    let Err(WireError::Refused(error)) = scanner.scan(&error(4031, "idle for too long")) else {
        panic!("a farewell");
    };
    assert!(error.is_fatal());
}

#[test]
fn bytes_that_the_protocol_does_not_allow_are_refused() {
    let torn = |bytes: &[u8]| {
        let mut scanner = Scanner::new();
        scanner.expect_result(false);
        scanner.scan(bytes).unwrap_err().to_string()
    };
    for (bytes, said) in [
        (packet(b""), "without a payload"),
        (packet(b"\xfbfile.txt"), "a file of the client's"),
        (packet(&[0, 1]), "lengths do not fit"),
        (packet(&[1, 1]), "lengths do not fit"),
        (packet(&[0xff, 1]), "lengths do not fit"),
        (
            packet(b"\xff\x15\x04#\x01\x02\x03\x04\x05"),
            "without a SQLSTATE",
        ),
        (
            [packet(&[1]), number("n"), ok(0)].concat(),
            "columns without an end",
        ),
        (vec![0xff, 0xff, 0x7f, 0, 0], "would have to be kept"),
    ] {
        let found = torn(&bytes);
        assert!(found.contains(said), "{found}");
    }
    assert!(row_values(b"\x05ab").is_err());
}

/// What a caller sees.
fn seen(bytes: &[u8], flags: u8, size: usize) -> Result<String, ()> {
    let mut scanner = Scanner::new();
    match flags & 3 {
        0 => scanner.expect_result(false),
        1 => scanner.expect_result(true),
        2 => scanner.expect_prepared(usize::from(flags >> 4), false),
        _ => scanner.expect_prepared(usize::from(flags >> 4), true),
    }
    if flags & 4 != 0 {
        scanner.capture_results();
    }
    for chunk in bytes.chunks(size) {
        scanner.scan(chunk).map_err(drop)?;
    }
    Ok(format!("{:?}", scanner.reply()))
}

proptest! {
    #[test]
    fn a_reply_reads_the_same_however_it_is_cut(
        rows in prop::collection::vec(prop::collection::vec(1_u8..250, 1..40), 0..20),
        flags in any::<u8>(),
        size in 1_usize..64,
    ) {
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let prepared = packet(&[0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        let bytes = match flags & 2 {
            0 => [result(&rows, MORE), ok(1)].concat(),
            _ => [prepared, number("n"), end(0)].concat(),
        };
        prop_assert_eq!(seen(&bytes, flags, bytes.len()), seen(&bytes, flags, size));
    }

    #[test]
    fn any_bytes_are_survived_and_read_the_same_however_they_are_cut(
        bytes in prop::collection::vec(any::<u8>(), 1..200),
        flags in any::<u8>(),
        size in 1_usize..64,
    ) {
        let whole = seen(&bytes, flags, bytes.len());
        let cut = seen(&bytes, flags, size);
        prop_assert_eq!(whole.is_ok(), cut.is_ok());
        if let (Ok(whole), Ok(cut)) = (whole, cut) {
            prop_assert_eq!(whole, cut);
        }
    }
}
