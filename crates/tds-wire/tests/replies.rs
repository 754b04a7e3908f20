//! Replies: what is counted, what is kept, what ends them, and that any bytes are survived.

mod built;

use built::*;
use bytes::Bytes;
use proptest::prelude::*;
use steelyard_tds_wire::{Scanner, WireError};
use tds_protocol::token::{Token, TokenParser};

fn scanned(content: &[Vec<u8>]) -> Scanner {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    assert_eq!(scanner.scan(&packet(&content.concat())), Ok(true));
    scanner
}

#[test]
fn rows_are_counted_and_not_changes() {
    let rows = [columns(&[(BIGINT, "n")]), row(1), row(2)];
    let ends = [done(DONE, COUNTED | MORE, 2), done(DONE, COUNTED, 7)];
    let scanner = scanned(&[&rows[..], &ends[..]].concat());
    assert_eq!(scanner.reply().rows, 2);
    assert!(!scanner.reply().in_transaction);
    assert_eq!(scanner.session(), 51);
}

#[test]
fn a_transaction_is_open_from_its_begin_to_its_end() {
    let mut scanner = scanned(&[began(0x77), done(DONE, 0, 0)]);
    assert!(scanner.reply().in_transaction);
    assert_eq!(scanner.transaction(), 0x77);
    for how in [9, 10] {
        scanner.expect_reply();
        let content = [ended(how, 0x77), done(DONE, 0, 0)].concat();
        assert_eq!(scanner.scan(&packet(&content)), Ok(true));
        assert!(!scanner.reply().in_transaction);
        assert_eq!(scanner.transaction(), 0);
    }
    let claimed = scanned(&[done(DONE, IN_TRANSACTION, 0)]);
    assert!(claimed.reply().in_transaction);
}

#[test]
fn a_deadlock_takes_the_transaction_back_and_another_error_does_not() {
    for (number, open) in [(1205, false), (1222, true), (2627, true)] {
        let mut scanner = scanned(&[began(5), done(DONE, 0, 0)]);
        scanner.expect_reply();
        let content = [error(number, 13, "no"), done(DONE, 2, 0)].concat();
        assert_eq!(scanner.scan(&packet(&content)), Ok(true));
        assert_eq!(scanner.reply().in_transaction, open, "{number}");
        assert_eq!(scanner.take_error().unwrap().number, number);
    }
}

#[test]
fn the_error_that_ends_the_connection_goes_before_the_first() {
    let mut scanner = scanned(&[
        error(8134, 16, "divide by zero"),
        error(596, 21, "killed"),
        error(50_000, 20, "later"),
        done(DONE, 2, 0),
    ]);
    let error = scanner.take_error().unwrap();
    assert!(error.is_fatal());
    assert_eq!(error.number, 50_000);
    let first = scanned(&[error_of(1), error_of(2), done(DONE, 2, 0)]).take_error();
    assert_eq!(first.unwrap().number, 1);
}

fn error_of(number: u32) -> Vec<u8> {
    error(number, 16, "")
}

#[test]
fn what_was_prepared_has_the_servers_number() {
    let scanner = scanned(&[
        columns(&[(BIGINT, "n")]),
        row(1),
        done(DONE_IN_PROCEDURE, COUNTED | MORE, 1),
        vec![0x79, 0, 0, 0, 0],
        handle(42),
        done(DONE_PROCEDURE, 0, 0),
    ]);
    assert_eq!(scanner.reply().handle, Some(42));
    assert_eq!(scanner.reply().rows, 1);
}

#[test]
fn an_attention_is_answered_after_the_reply_or_within_it() {
    let whole = [packet(&done(DONE, 0, 0)), packet(&done(DONE, ATTENTION, 0))];
    let within = [error(3617, 16, "cancelled"), done(DONE, ATTENTION, 0)];
    for bytes in [whole.concat(), packet(&within.concat())] {
        let mut scanner = Scanner::new();
        scanner.expect_reply();
        scanner.expect_attention();
        assert_eq!(scanner.scan(&bytes), Ok(true));
    }
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    scanner.expect_attention();
    assert_eq!(scanner.scan(&packet(&done(DONE, 0, 0))), Ok(false));
}

#[test]
fn malformed_replies_are_errors() {
    // After the list of go-mssqldb's bad_server_test.go, and more of the kind.
    let good = columns(&[(BIGINT, "n")]);
    let cases: [(&str, Vec<u8>); 14] = [
        ("no token at all", vec![0]),
        ("an unknown token", vec![0x42, 1, 2]),
        ("a row without columns", row(1)),
        ("a reply without an end", good.clone()),
        ("an end with more to come", done(DONE, MORE, 0)),
        (
            "a token after the end",
            [done(DONE, 0, 0), good.clone()].concat(),
        ),
        (
            "a row that is cut",
            [good.clone(), row(1)[..5].to_vec()].concat(),
        ),
        ("an unknown type", columns(&[(&[0x99], "n")])),
        ("a scale of times", columns(&[(&[0x2a, 8], "n")])),
        ("a scale of numbers", columns(&[(&[0x6a, 17, 38, 39], "n")])),
        (
            "char of any length",
            columns(&[(&[0xaf, 255, 255, 0, 0, 0, 0, 0], "n")]),
        ),
        ("an error without its words", sized(0xaa, &[0; 7])),
        (
            "a transaction without its number",
            sized(0xe3, &[8, 3, 1, 2, 3, 0]),
        ),
        ("a change without a type", sized(0xe3, &[])),
    ];
    for (name, content) in cases {
        let mut scanner = Scanner::new();
        scanner.expect_reply();
        let scanned = scanner.scan(&packet(&content));
        assert!(matches!(scanned, Err(WireError::Malformed(_))), "{name}");
    }
    for (name, bytes) in [
        (
            "a packet that is shorter than its header",
            vec![4, 1, 0, 7, 0, 0, 0, 0],
        ),
        ("a request as a reply", vec![1, 1, 0, 9, 0, 0, 0, 0, 0]),
        ("an empty reply", vec![4, 1, 0, 8, 0, 0, 0, 0]),
    ] {
        let mut scanner = Scanner::new();
        scanner.expect_reply();
        assert!(scanner.scan(&bytes).is_err(), "{name}");
    }
}

#[test]
fn what_nobody_asked_for_is_the_reason_for_an_end_or_nothing() {
    let mut scanner = scanned(&[done(DONE, 0, 0)]);
    let why = [error(6005, 20, "shutdown"), done(DONE, 2, 0)].concat();
    match scanner.scan(&packet(&why)) {
        Err(WireError::Refused(error)) => assert_eq!(error.number, 6005),
        other => panic!("{other:?}"),
    }
    let mut scanner = scanned(&[done(DONE, 0, 0)]);
    assert!(matches!(
        scanner.scan(&packet(&done(DONE, 0, 0))),
        Err(WireError::Malformed(_))
    ));
}

/// A type, a value of it, and one that is NULL where the type has it.
type Typed = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

fn typed() -> impl Strategy<Value = Typed> {
    fn pick(
        kind: &[u8],
        value: impl Strategy<Value = Vec<u8>> + 'static,
        null: Option<&[u8]>,
    ) -> BoxedStrategy<Typed> {
        let (kind, null) = (kind.to_vec(), null.map(<[u8]>::to_vec));
        value
            .prop_map(move |value| (kind.clone(), value, null.clone()))
            .boxed()
    }
    let bytes = |most| proptest::collection::vec(any::<u8>(), 1..most);
    let after = |bytes: Vec<u8>| [vec![bytes.len() as u8], bytes].concat();
    let after_two = |bytes: Vec<u8>| [(bytes.len() as u16).to_le_bytes().to_vec(), bytes].concat();
    let chunks = proptest::collection::vec(bytes(30), 0..4).prop_map(|chunks| {
        let total: usize = chunks.iter().map(Vec::len).sum();
        let mut out = (total as u64).to_le_bytes().to_vec();
        for chunk in chunks {
            out.extend((chunk.len() as u32).to_le_bytes());
            out.extend(chunk);
        }
        [out, vec![0; 4]].concat()
    });
    let text = bytes(40).prop_map(|bytes| {
        let length = (bytes.len() as u32).to_le_bytes();
        [&[16][..], &[7; 16], &[8; 8], &length, &bytes].concat()
    });
    let fixed = |kind: u8, length| {
        pick(
            &[kind],
            proptest::collection::vec(any::<u8>(), length),
            None,
        )
    };
    prop_oneof![
        fixed(0x38, 4),
        fixed(0x7f, 8),
        fixed(0x32, 1),
        pick(
            BIGINT,
            any::<i64>().prop_map(|n| [&[8][..], &n.to_le_bytes()].concat()),
            Some(&[0])
        ),
        pick(&[0x6a, 17, 38, 4], bytes(17).prop_map(after), Some(&[0])),
        pick(&[0x28], Just(vec![3, 1, 2, 3]), Some(&[0])),
        pick(&[0x2a, 7], bytes(9).prop_map(after), Some(&[0])),
        pick(NVARCHAR, bytes(60).prop_map(after_two), Some(&[255, 255])),
        pick(
            &[0xa5, 200, 0],
            bytes(60).prop_map(after_two),
            Some(&[255, 255])
        ),
        pick(NVARCHAR_MAX, chunks.clone(), Some(&[255; 8])),
        pick(&[0xf1, 0], chunks, Some(&[255; 8])),
        pick(&[0x23, 0, 0, 1, 0, 9, 4, 0xd0, 0, 0x34], text, Some(&[0])),
    ]
}

/// A result: its columns, then rows of these values, each plain or with a map of NULLs.
fn result() -> impl Strategy<Value = (Vec<u8>, usize)> {
    let column = (typed(), any::<u8>());
    let shape = (proptest::collection::vec(column, 1..6), 0_usize..9);
    shape.prop_map(|(types, rows)| {
        let kinds: Vec<(&[u8], &str)> = types
            .iter()
            .map(|((kind, ..), _)| (&kind[..], "c"))
            .collect();
        let mut out = columns(&kinds);
        for number in 0..rows {
            let is_null =
                |at: usize| types[at].1 >> (number % 8) & 1 == 1 && types[at].0 .2.is_some();
            let mapped = number % 2 == 1;
            out.push(if mapped { 0xd2 } else { 0xd1 });
            if mapped {
                let mut map = vec![0; types.len().div_ceil(8)];
                for at in (0..types.len()).filter(|&at| is_null(at)) {
                    map[at / 8] |= 1 << (at % 8);
                }
                out.extend(map);
            }
            for (at, ((_, value, null), _)) in types.iter().enumerate() {
                match (is_null(at), mapped) {
                    (false, _) => out.extend(value),
                    (true, false) => out.extend(null.as_ref().unwrap()),
                    (true, true) => {}
                }
            }
        }
        out.extend(done(DONE, COUNTED, rows as u64));
        (out, rows)
    })
}

proptest! {
    #[test]
    fn rows_are_found_as_tds_protocol_finds_them(
        (content, rows) in result(), share in 1_usize..200, cut in 1_usize..300,
    ) {
        let mut parser = TokenParser::new(Bytes::from(content.clone()));
        let mut metadata = None;
        let mut found = 0;
        while let Some(token) = parser.next_token_with_metadata(metadata.as_ref()).unwrap() {
            match token {
                Token::ColMetaData(columns) => metadata = Some(columns),
                Token::Row(_) | Token::NbcRow(_) => found += 1,
                _ => {}
            }
        }
        prop_assert_eq!(found, rows);
        let mut scanner = Scanner::new();
        scanner.expect_reply();
        let mut complete = false;
        for part in packets(&content, share).chunks(cut) {
            complete = scanner.scan(part).unwrap();
        }
        prop_assert!(complete);
        prop_assert_eq!(scanner.reply().rows, rows as u64);
    }

    #[test]
    fn any_bytes_read_the_same_however_they_are_cut(
        content in proptest::collection::vec(prop_oneof![
            any::<u8>(), Just(0xd1), Just(0xd2), Just(0x81), Just(0xfd), Just(0xaa), Just(0xe3),
            Just(0)
        ], 0..200),
        begin in any::<bool>(), share in 1_usize..60, cut in 1_usize..60,
        capturing in any::<bool>(),
    ) {
        let begin = if begin { columns(&[(BIGINT, "a"), (NVARCHAR_MAX, "b")]) } else { vec![] };
        let bytes = packets(&[begin, content].concat(), share);
        let scan = |size: usize| {
            let mut scanner = Scanner::new();
            scanner.expect_reply();
            if capturing {
                scanner.capture_results();
            }
            for part in bytes.chunks(size) {
                scanner.scan(part).map_err(drop)?;
            }
            Ok::<_, ()>(format!("{:?}", scanner.reply()))
        };
        prop_assert_eq!(scan(bytes.len().max(1)), scan(cut));
    }
}
