//! Requests, as the documentation of the protocol lays them out.

use steelyard_mysql_wire::{
    begin_query, end_packet, execute, quit, simple_query, write_literal, write_text, ParameterType,
    PrepareText, LONGEST_REQUEST,
};

#[test]
fn a_text_is_sent_with_its_length() {
    assert_eq!(simple_query("DO 1").unwrap(), b"\x05\0\0\0\x03DO 1");
    assert_eq!(PrepareText::new("DO ?").unwrap().0, b"\x05\0\0\0\x16DO ?");
    assert_eq!(quit(), b"\x01\0\0\0\x01");
    assert!(simple_query(&"x".repeat(LONGEST_REQUEST)).is_err());
    assert!(simple_query(&"x".repeat(LONGEST_REQUEST - 1)).is_ok());
    let mut out = b"before".to_vec();
    let start = begin_query(&mut out);
    out.extend_from_slice(b"DO 1");
    end_packet(start, &mut out);
    assert_eq!(out, b"before\x05\0\0\0\x03DO 1");
}

/// Headers of the packets that `out` consists of, and their payloads one behind the other.
fn unpacked(mut out: &[u8]) -> (Vec<(usize, u8)>, Vec<u8>) {
    let (mut headers, mut payload) = (Vec::new(), Vec::new());
    while let [a, b, c, number, rest @ ..] = out {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        headers.push((length, *number));
        payload.extend_from_slice(&rest[..length]);
        out = &rest[length..];
    }
    assert!(out.is_empty());
    (headers, payload)
}

#[test]
fn what_is_longer_than_a_packet_goes_in_several() {
    const LONGEST: usize = 0x00ff_ffff;
    for (length, wanted) in [
        (LONGEST - 1, vec![(LONGEST - 1, 0)]),
        (LONGEST, vec![(LONGEST, 0), (0, 1)]),
        (LONGEST + 1, vec![(LONGEST, 0), (1, 1)]),
        (2 * LONGEST, vec![(LONGEST, 0), (LONGEST, 1), (0, 2)]),
    ] {
        let mut out = b"\x01\0\0\0\x01".to_vec(); // a request before it
        let start = begin_query(&mut out);
        out.resize(start + 4 + length, b'x');
        end_packet(start, &mut out);
        let (headers, payload) = unpacked(&out[start..]);
        assert_eq!(headers, wanted);
        assert_eq!((payload[0], payload.len()), (3, length));
        assert!(payload[1..].iter().all(|byte| *byte == b'x'));
        assert_eq!(out[..start], *b"\x01\0\0\0\x01");
    }
    let mut out = Vec::new();
    execute(1, 1, &mut out, |_, out| {
        write_text(&vec![b'x'; LONGEST], out);
        ParameterType::Text
    });
    let (headers, payload) = unpacked(&out);
    assert_eq!(headers.len(), 2);
    assert_eq!((payload[0], payload.len()), (0x17, LONGEST + 10 + 4 + 4));
}

/// The example of "COM_STMT_EXECUTE" in MySQL's documentation, with a second parameter that is
/// NULL and a third one that is an integer.
#[test]
fn an_execution_has_a_map_of_nulls_types_and_values() {
    let mut out = Vec::new();
    execute(1, 3, &mut out, |parameter, out| match parameter {
        0 => {
            write_text(b"foo", out);
            ParameterType::Text
        }
        1 => ParameterType::Null,
        _ => {
            out.extend_from_slice(&5_i64.to_le_bytes());
            ParameterType::Integer
        }
    });
    let body = [
        &[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0][..],
        &[0b010, 1, 0xfd, 0, 6, 0, 8, 0],
        b"\x03foo",
        &[5, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(out[..4], [body.len() as u8, 0, 0, 0]);
    assert_eq!(out[4..], body);
}

#[test]
fn an_execution_without_parameters_has_no_map() {
    let mut out = Vec::new();
    execute(0x0102_0304, 0, &mut out, |_, _| unreachable!());
    assert_eq!(out, [10, 0, 0, 0, 0x17, 4, 3, 2, 1, 0, 1, 0, 0, 0]);
}

#[test]
fn a_literal_means_the_same_in_every_sql_mode() {
    let literal = |text: &str| {
        let mut out = Vec::new();
        write_literal(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(literal("it's"), "'it''s'");
    assert_eq!(literal("a\\'b"), "_utf8mb4 X'615c2762'");
    assert_eq!(literal(""), "''");
}

#[test]
fn a_long_text_has_a_longer_length() {
    for (length, head) in [(250, 1), (251, 3), (0xffff, 3), (0x1_0000, 4)] {
        let mut out = Vec::new();
        write_text(&vec![b'x'; length], &mut out);
        assert_eq!(out.len(), length + head);
    }
}
