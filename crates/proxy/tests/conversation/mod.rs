//! Messages of both sides, and what is noted of them.
#![allow(dead_code)] // each test program uses its part

use steelyard_proxy::Observer;

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn parse(name: &str, text: &str, types: &[u32]) -> Vec<u8> {
    let mut body = format!("{name}\0{text}\0").into_bytes();
    body.extend_from_slice(&(types.len() as u16).to_be_bytes());
    for one in types {
        body.extend_from_slice(&one.to_be_bytes());
    }
    message(b'P', &body)
}

pub fn bind(portal: &str, name: &str, values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = format!("{portal}\0{name}\0").into_bytes();
    body.extend_from_slice(&[0, 1, 0, 1]);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        let length = value.map_or(-1, |bytes| bytes.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

pub fn execute(portal: &str) -> Vec<u8> {
    message(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

pub fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{code}\0Mno\0\0").as_bytes())
}

pub const SYNC: &[u8] = b"S\0\0\0\x04";
pub const READY: &[u8] = b"Z\0\0\0\x05I";
pub const PARSED: &[u8] = b"1\0\0\0\x04";
pub const BOUND: &[u8] = b"2\0\0\0\x04";
pub const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

pub fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

pub fn done() -> Vec<u8> {
    message(b'C', b"SELECT 1\0")
}

/// A statement as it was noted: text or number, outcome, protocol, flags, time, values.
#[derive(Debug, PartialEq, Eq)]
pub struct Noted {
    pub text: String,
    pub number: u32,
    pub became: u8,
    pub sent: u8,
    pub flags: u8,
    pub took_ns: u64,
    pub values: Vec<Option<Vec<u8>>>,
}

pub fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

pub fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

pub fn read(notes: &[u8]) -> Vec<Noted> {
    let (mut at, mut all) = (0, Vec::new());
    while at < notes.len() {
        let (kind, length) = (notes[at], u32_at(notes, at + 1));
        let body = &notes[at + 5..at + 5 + length];
        at += 5 + length;
        if kind != b'Q' {
            continue;
        }
        let number = u32_at(body, 19);
        let (mut place, mut text) = (23, String::new());
        if number == 0 {
            place += 2 + 4 * u16_at(body, place);
            let length = u32_at(body, place);
            let bytes = &body[place + 4..place + 4 + length];
            text = String::from_utf8(bytes.to_vec()).unwrap();
            place += 4 + length;
        }
        let count = u16_at(body, place);
        place += 2;
        let mut values = Vec::new();
        for _ in 0..count {
            let length = u32_at(body, place + 1) as u32 as i32;
            place += 5;
            let bytes = usize::try_from(length).ok();
            values.push(bytes.map(|length| body[place..place + length].to_vec()));
            place += bytes.unwrap_or(0);
        }
        assert_eq!(place, body.len());
        all.push(Noted {
            text,
            number: number as u32,
            took_ns: u64::from_le_bytes(body[8..16].try_into().unwrap()),
            sent: body[16],
            became: body[17],
            flags: body[18],
            values,
        });
    }
    all
}

/// Both sides' bytes in turn, each at its own time, in pieces of so many bytes.
pub fn observed(turns: &[(bool, Vec<u8>)], piece: usize) -> Vec<Noted> {
    let mut observer = Observer::new(b"u\0d\0a\0");
    observer.from_server(WELCOME, 0);
    for (at, (is_client, bytes)) in turns.iter().enumerate() {
        for part in bytes.chunks(piece) {
            match is_client {
                true => observer.from_client(part, 100 * (at as u64 + 1)),
                false => observer.from_server(part, 100 * (at as u64 + 1)),
            }
        }
    }
    assert!(observer.is_readable());
    observer.end(10_000);
    read(&observer.take_notes().bytes)
}

pub fn shown(noted: &[Noted]) -> Vec<(&str, u8, u8)> {
    let each = noted.iter();
    each.map(|one| (one.text.as_str(), one.became, one.sent))
        .collect()
}

pub fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
