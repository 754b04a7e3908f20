//! Builds replies as a server would send them.
#![allow(dead_code)] // each test program uses its part

/// Cuts content into packets with so many bytes of it.
pub fn packets(content: &[u8], share: usize) -> Vec<u8> {
    let parts: Vec<&[u8]> = content.chunks(share).collect();
    let mut out = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let last = u8::from(number + 1 == parts.len());
        let [high, low] = (part.len() as u16 + 8).to_be_bytes();
        out.extend([4, last, high, low, 0, 51, (number as u8).wrapping_add(1), 0]);
        out.extend_from_slice(part);
    }
    out
}

/// One packet.
pub fn packet(content: &[u8]) -> Vec<u8> {
    packets(content, 30_000)
}

pub const DONE: u8 = 0xfd;
pub const DONE_PROCEDURE: u8 = 0xfe;
pub const DONE_IN_PROCEDURE: u8 = 0xff;
pub const MORE: u16 = 1;
pub const IN_TRANSACTION: u16 = 4;
pub const COUNTED: u16 = 16;
pub const ATTENTION: u16 = 32;

pub fn done(token: u8, status: u16, rows: u64) -> Vec<u8> {
    let [low, high] = status.to_le_bytes();
    let mut out = vec![token, low, high, 0xc1, 0];
    out.extend(rows.to_le_bytes());
    out
}

pub fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// A text after its length of one byte.
pub fn short(text: &str) -> Vec<u8> {
    [vec![text.encode_utf16().count() as u8], wide(text)].concat()
}

/// A text after its length of two bytes.
pub fn long(text: &str) -> Vec<u8> {
    let length = text.encode_utf16().count() as u16;
    [length.to_le_bytes().to_vec(), wide(text)].concat()
}

/// A token with the length of its body.
pub fn sized(token: u8, body: &[u8]) -> Vec<u8> {
    let [low, high] = (body.len() as u16).to_le_bytes();
    [&[token, low, high], body].concat()
}

pub fn error(number: u32, class: u8, words: &str) -> Vec<u8> {
    let body = [
        number.to_le_bytes().to_vec(),
        vec![1, class],
        long(words),
        short("server"),
        short(""),
        1_u32.to_le_bytes().to_vec(),
    ];
    sized(0xaa, &body.concat())
}

/// A transaction began, under this number.
pub fn began(number: u64) -> Vec<u8> {
    sized(0xe3, &[&[8, 8][..], &number.to_le_bytes(), &[0]].concat())
}

/// It was committed (9) or rolled back (10).
pub fn ended(how: u8, number: u64) -> Vec<u8> {
    sized(0xe3, &[&[how, 0, 8][..], &number.to_le_bytes()].concat())
}

/// Columns of these types, as TYPE_INFO has them, with their names.
pub fn columns(types: &[(&[u8], &str)]) -> Vec<u8> {
    let mut out = vec![0x81];
    out.extend((types.len() as u16).to_le_bytes());
    for (kind, name) in types {
        out.extend([0, 0, 0, 0, 9, 0]);
        out.extend_from_slice(kind);
        if matches!(kind[0], 0x22 | 0x23 | 0x63) {
            out.push(1);
            out.extend(long("dbo"));
        }
        out.extend(short(name));
    }
    out
}

pub const BIGINT: &[u8] = &[0x26, 8];
pub const NVARCHAR: &[u8] = &[0xe7, 200, 0, 9, 4, 0xd0, 0, 0x34];
pub const NVARCHAR_MAX: &[u8] = &[0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34];

/// A row of one `bigint`.
pub fn row(value: i64) -> Vec<u8> {
    [&[0xd1, 8][..], &value.to_le_bytes()].concat()
}

/// RETURNVALUE of an `int`, as sp_prepexec answers its handle.
pub fn handle(number: i32) -> Vec<u8> {
    let mut out = vec![0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4];
    out.extend(number.to_le_bytes());
    out
}

/// What lets a client in.
pub fn let_in(version: u32) -> Vec<u8> {
    let body = [
        vec![1],
        version.to_be_bytes().to_vec(),
        short("Microsoft SQL Server"),
        vec![16, 0, 0x03, 0xe8],
    ];
    sized(0xad, &body.concat())
}

pub fn packet_size(size: &str) -> Vec<u8> {
    sized(0xe3, &[vec![4], short(size), short("4096")].concat())
}
