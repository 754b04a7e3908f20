//! Tests the bytes of requests.

use steelyard_wire::{cancel, simple_query, terminate, Statement};

/// Kinds and bodies of the messages in `bytes`.
fn messages(mut bytes: &[u8]) -> Vec<(char, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize;
        found.push((bytes[0] as char, bytes[5..=length].to_vec()));
        bytes = &bytes[length + 1..];
    }
    found
}

#[test]
fn a_statement_is_bound_in_text_with_untyped_parameters() {
    let statement = Statement::new("s1", "SELECT $1, $2", 2).unwrap();
    assert_eq!(
        messages(&statement.parse),
        vec![('P', b"s1\0SELECT $1, $2\0\0\0".to_vec())]
    );
    let mut out = Vec::new();
    statement.bind.fill(&mut out, 2, |parameter, out| {
        out.extend_from_slice(b"4711");
        if parameter == 1 {
            out.truncate(out.len() - 4);
        }
        parameter == 0
    });
    let bind = b"\0s1\0\0\0\0\x02\0\0\0\x044711\xff\xff\xff\xff\0\0";
    assert_eq!(
        messages(&out),
        vec![
            ('B', bind.to_vec()),
            ('E', b"\0\0\0\0\0".to_vec()),
            ('S', vec![])
        ]
    );
}

#[test]
fn a_statement_is_closed_by_its_name() {
    for name in ["s1", "", "named longer than most are"] {
        let mut out = b"before".to_vec();
        Statement::new(name, "SELECT 1", 0).unwrap().close(&mut out);
        let expected = [&b"S"[..], name.as_bytes(), b"\0"].concat();
        assert_eq!(messages(&out[6..]), vec![('C', expected)]);
    }
}

#[test]
fn a_filled_template_takes_no_memory_the_second_time() {
    let statement = Statement::new("s1", "SELECT $1", 1).unwrap();
    let mut out = Vec::with_capacity(64);
    for _ in 0..1000 {
        out.clear();
        statement.bind.fill(&mut out, 1, |_, out| {
            out.extend_from_slice(b"12345");
            true
        });
    }
    assert_eq!(out.capacity(), 64);
}

#[test]
fn text_with_a_nul_byte_is_refused() {
    assert!(simple_query("SELECT '\0'").is_err());
    assert!(Statement::new("", "SELECT '\0'", 0).is_err());
}

#[test]
fn small_requests_are_what_the_protocol_says() {
    assert_eq!(simple_query("BEGIN").unwrap(), b"Q\0\0\0\x0aBEGIN\0");
    assert_eq!(terminate(), b"X\0\0\0\x04");
    assert_eq!(
        cancel(1, 2),
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02"
    );
}
