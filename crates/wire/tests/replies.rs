//! Tests replies of a server: whole, cut anywhere, and malformed.

use proptest::prelude::*;
use steelyard_wire::{row_values, Reply, Scanner, ServerError, WireError};

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn error_report(severity: &str, sqlstate: &str, text: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{sqlstate}\0M{text}\0DFacts.\0\0");
    message(b'E', fields.as_bytes())
}

fn select_reply(rows: usize) -> Vec<u8> {
    let mut bytes = [message(b'1', b""), message(b'2', b"")].concat();
    for _ in 0..rows {
        bytes.extend(message(b'D', b"\0\x01\0\0\0\x02-7"));
    }
    bytes.extend(message(b'C', b"SELECT 1\0"));
    bytes.extend(message(b'Z', b"I"));
    bytes
}

fn seen(reply: &Reply) -> (u64, bool, u8, Option<String>) {
    let state = reply.error.as_ref().map(|error| error.sqlstate.clone());
    (reply.rows, reply.parsed, reply.status, state)
}

#[test]
fn a_reply_is_complete_at_ready_for_query() {
    let mut scanner = Scanner::new();
    let bytes = select_reply(3);
    assert!(!scanner.scan(&bytes[..bytes.len() - 1]).unwrap());
    assert!(scanner.scan(&bytes[bytes.len() - 1..]).unwrap());
    assert_eq!(seen(scanner.reply()), (3, true, b'I', None));
}

#[test]
fn a_new_request_forgets_the_last_reply() {
    let mut scanner = Scanner::new();
    scanner
        .scan(&[error_report("ERROR", "40001", "no"), message(b'Z', b"E")].concat())
        .unwrap();
    scanner.expect_reply();
    assert_eq!(seen(scanner.reply()), (0, false, 0, None));
}

#[test]
fn the_first_error_is_kept_in_the_servers_words() {
    let mut scanner = Scanner::new();
    let bytes = [
        error_report("ERROR", "23505", "duplicate"),
        message(b'Z', b"E"),
    ]
    .concat();
    assert!(scanner.scan(&bytes).unwrap());
    let error = scanner.take_error().unwrap();
    assert_eq!(
        (error.sqlstate.as_str(), error.message.as_str()),
        ("23505", "duplicate")
    );
    assert_eq!(error.detail.as_deref(), Some("Facts."));
    assert!(!error.is_fatal());
}

#[test]
fn an_error_that_ends_the_session_is_fatal() {
    for severity in ["FATAL", "PANIC"] {
        let mut scanner = Scanner::new();
        scanner
            .scan(&error_report(severity, "57P02", "crash"))
            .unwrap();
        assert!(scanner.take_error().unwrap().is_fatal(), "{severity}");
    }
}

#[test]
fn a_second_ready_for_query_is_a_violation() {
    let bytes = [select_reply(1), message(b'Z', b"I")].concat();
    assert!(matches!(
        Scanner::new().scan(&bytes),
        Err(WireError::Malformed(_))
    ));
}

#[test]
fn a_notice_between_requests_is_no_reply() {
    let mut scanner = Scanner::new();
    scanner.scan(&select_reply(1)).unwrap();
    assert!(scanner.scan(&message(b'N', b"SNOTICE\0\0")).unwrap());
    assert_eq!(scanner.reply().rows, 1);
}

#[test]
fn the_servers_end_between_requests_keeps_its_sqlstate() {
    let mut scanner = Scanner::new();
    scanner.scan(&select_reply(1)).unwrap();
    let refused = scanner
        .scan(&error_report("FATAL", "57P01", "shutting down"))
        .unwrap_err();
    assert_eq!(refused.sqlstate(), "57P01");
}

#[test]
fn impossible_lengths_and_kinds_are_violations() {
    for bytes in [
        &b"Z\0\0\0\x05X"[..],
        b"Z\0\0\0\x06II",
        b"Z\0\0\0\0",
        b"D\0\0\0\x03",
        b"D\xff\xff\xff\xff\0",
        b"E\x7f\xff\xff\xff",
        b"1\0\0\0\x05\0",
        b"G\0\0\0\x07\0\0\0",
        b"R\0\0\0\x08\0\0\0\0",
        b"\0\0\0\0\x04",
    ] {
        assert!(
            matches!(Scanner::new().scan(bytes), Err(WireError::Malformed(_))),
            "{bytes:?} was accepted"
        );
    }
}

#[test]
fn a_row_of_a_gigabyte_is_skipped_without_being_kept() {
    let mut scanner = Scanner::new();
    let length: u32 = 0x3fff_ffff;
    let mut left = length as usize - 4;
    scanner
        .scan(&[&b"D"[..], &length.to_be_bytes()].concat())
        .unwrap();
    let chunk = vec![b'Z'; 1 << 20];
    while left > 0 {
        let taken = left.min(chunk.len());
        assert!(!scanner.scan(&chunk[..taken]).unwrap());
        left -= taken;
    }
    assert!(scanner.scan(&message(b'Z', b"I")).unwrap());
    assert_eq!(scanner.reply().rows, 1);
}

#[test]
fn row_values_are_text_or_null() {
    let row = row_values(b"\0\x02\0\0\0\x0242\xff\xff\xff\xff").unwrap();
    assert_eq!(row, vec![Some(&b"42"[..]), None]);
    assert!(row_values(b"\0\x02\0\0\0\x0242").is_err());
    assert!(row_values(b"\0\x01\x80\0\0\0").is_err());
}

proptest! {
    #[test]
    fn a_reply_reads_the_same_however_it_is_cut(
        rows in 0usize..5,
        fails in any::<bool>(),
        cuts in prop::collection::vec(1usize..9, 0..60),
    ) {
        let mut bytes = select_reply(rows);
        if fails {
            let end = bytes.len() - 6;
            bytes.splice(end..end, error_report("ERROR", "40P01", "deadlock detected"));
        }
        let mut whole = Scanner::new();
        prop_assert!(whole.scan(&bytes).unwrap());
        let mut cut = Scanner::new();
        let mut rest = bytes.as_slice();
        for length in cuts {
            let (head, tail) = rest.split_at(length.min(rest.len()));
            cut.scan(head).unwrap();
            rest = tail;
        }
        prop_assert!(cut.scan(rest).unwrap());
        prop_assert_eq!(seen(whole.reply()), seen(cut.reply()));
    }

    #[test]
    fn any_bytes_end_in_a_reply_or_an_error(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..8),
    ) {
        let mut scanner = Scanner::new();
        for chunk in chunks {
            if scanner.scan(&chunk).is_err() {
                break;
            }
        }
    }

    #[test]
    fn a_damaged_reply_ends_in_a_reply_or_an_error(
        place in 0usize..60,
        byte in any::<u8>(),
        cut in 1usize..60,
    ) {
        let mut bytes = [select_reply(1), error_report("ERROR", "40001", "x")].concat();
        let place = place % bytes.len();
        bytes[place] = byte;
        let mut scanner = Scanner::new();
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        if scanner.scan(head).is_ok() {
            let _ = scanner.scan(tail);
        }
    }

    #[test]
    fn error_reports_and_rows_of_any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = ServerError::parse(&bytes);
        let _ = row_values(&bytes);
    }
}
