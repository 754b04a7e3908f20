//! Results that are kept: their values and nulls, every row where that is wanted, within bounds.

mod built;

use built::*;
use steelyard_tds_wire::{row_values, Scanner};

#[test]
fn results_are_captured_whatever_statement_they_are_of() {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    scanner.capture_results();
    let chunked = [
        &[0xd1][..],
        &(-2_i64).to_le_bytes()[..0],
        &[8],
        &(-2_i64).to_le_bytes(),
        &6_u64.to_le_bytes(),
        &[2, 0, 0, 0, b'a', 0],
        &[4, 0, 0, 0, b'b', 0, b'c', 0],
        &[0; 4],
    ];
    let with_nulls = [vec![0xd2, 0b10, 8], 9_i64.to_le_bytes().to_vec()].concat();
    let content = [
        done(DONE, MORE, 0),
        columns(&[(BIGINT, "n"), (NVARCHAR_MAX, "t")]),
        with_nulls,
        chunked.concat(),
        done(DONE, COUNTED, 2),
    ];
    // In packets of five bytes, one byte at a time.
    for byte in packets(&content.concat(), 5) {
        scanner.scan(&[byte]).unwrap();
    }
    assert!(scanner.reply().complete);
    let [none, some] = &scanner.take_captured()[..] else {
        panic!("two results")
    };
    assert_eq!(none.columns, None);
    assert_eq!(some.columns, Some(vec!["n".to_owned(), "t".to_owned()]));
    assert!(none.texts.is_empty());
    assert_eq!(some.texts, [false, true]);
    assert_eq!(some.rows, 2);
    let values = row_values(&some.last).unwrap();
    assert_eq!(values, [Some(&b"-2"[..]), Some(b"abc")]);
}

#[test]
fn nulls_of_a_packed_row_are_those_of_their_bits() {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    scanner.capture_results();
    let value = [&[8][..], &5_i64.to_le_bytes()].concat();
    let packed = [vec![0xd2, 0b1000, 0b10], value.repeat(8)].concat();
    let content = [
        columns(&[(BIGINT, "n"); 10]),
        packed,
        done(DONE, COUNTED, 1),
    ];
    assert_eq!(scanner.scan(&packet(&content.concat())), Ok(true));
    let captured = scanner.take_captured();
    let values = row_values(&captured[0].last).unwrap();
    let nulls: Vec<_> = (0..10).filter(|&at| values[at].is_none()).collect();
    assert_eq!(nulls, [3, 9]);
}

#[test]
fn every_row_is_kept_where_that_is_wanted() {
    let mut scanner = Scanner::new();
    let content = [
        columns(&[(BIGINT, "n")]),
        row(1),
        row(2),
        row(3),
        done(DONE, COUNTED, 3),
    ];
    for _ in 0..2 {
        scanner.expect_reply();
        scanner.capture_every_row();
        assert_eq!(scanner.scan(&packet(&content.concat())), Ok(true));
        let [result] = &scanner.take_captured()[..] else {
            panic!("one result")
        };
        assert_eq!(result.rows, 3);
        let rows = result.earlier.iter().chain([&result.last]);
        let values: Vec<_> = rows.map(|row| row_values(row).unwrap().remove(0)).collect();
        assert_eq!(values, ["1", "2", "3"].map(|text| Some(text.as_bytes())));
    }
}

#[test]
fn a_result_that_would_fill_the_memory_is_refused() {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    scanner.capture_results();
    let begin = [columns(&[(NVARCHAR_MAX, "t")]), vec![0xd1]].concat();
    let content = [begin, (u64::MAX - 1).to_le_bytes().to_vec()].concat();
    let chunk = [&20_000_u32.to_le_bytes()[..], &[0; 20_000]].concat();
    let mut bytes = packet(&content);
    bytes[1] = 0;
    scanner.scan(&bytes).unwrap();
    let mut part = packet(&chunk);
    part[1] = 0;
    let ended = (0..100).find_map(|_| scanner.scan(&part).err());
    assert!(ended.unwrap().to_string().contains("would have to be kept"));
}

#[test]
fn rows_that_would_fill_the_memory_are_refused() {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    scanner.capture_every_row();
    let open = |content: &[u8]| {
        let mut bytes = packet(content);
        bytes[1] = 0;
        bytes
    };
    scanner
        .scan(&open(&columns(&[(NVARCHAR_MAX, "t")])))
        .unwrap();
    let row = [
        &[0xd1][..],
        &(u64::MAX - 1).to_le_bytes(),
        &20_000_u32.to_le_bytes(),
        &[b'a', 0].repeat(10_000),
        &[0; 4],
    ];
    let row = open(&row.concat());
    let ended = (0..2_000).find_map(|_| scanner.scan(&row).err());
    assert!(ended.unwrap().to_string().contains("would have to be kept"));
}
