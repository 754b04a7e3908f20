//! Encodes what is noted of one connection: records of a kind, a length and a body.
//!
//! All numbers are little-endian. `Q`, a statement: u64 when it ended and u64 how long it took, in
//! ns; u8 protocol, u8 outcome, u8 flags, u32 number of its prepared statement or 0; without one,
//! its types and its text; u16 parameters, each u8 format, i32 length (−1: NULL), bytes. `P`, a
//! prepared statement: u32 number, its types, its text. `O`: u32 number and the types that the
//! server found; with 0 of the unnamed ones that follow, until the next such. `T`: a transaction
//! begins; statements that are not simple are of the latest one. `S`, a session: user, database and
//! application, then name and value of what it set when it began, all ended by 0. `E`: its
//! encoding. `X`: its end. Types are a u16 and so many u32; a text is a u32 and its bytes.

/// How a statement was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sent {
    Simple = 0,
    /// By the unnamed prepared statement.
    Extended = 1,
    Prepared = 2,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Became {
    Executed = 0,
    Failed = 1,
    /// A further execution of a portal.
    Fetched = 2,
    FastPath = 3,
    /// Skipped by the server after an error.
    Skipped = 4,
    /// It had no answer when the connection or the recording ended.
    Running = 5,
}

/// The text was longer than is kept.
pub const TEXT_CUT: u8 = 1;
/// The values were longer than is kept.
pub const VALUES_CUT: u8 = 2;
/// The server warned that a transaction was in progress.
pub const NESTED: u8 = 4;

/// A kind, and the place of a length that is not known yet.
pub struct Record {
    at: usize,
}

/// What is noted and not handed on yet.
#[derive(Default)]
pub struct Notes {
    pub bytes: Vec<u8>,
    /// Statements among them, and the sum of their times.
    pub statements: u64,
    pub time_ns: u64,
}

impl Notes {
    pub fn begin(&mut self, kind: u8) -> Record {
        self.bytes.push(kind);
        let at = self.bytes.len();
        self.u32(0);
        Record { at }
    }

    pub fn end(&mut self, record: &Record) {
        let length = self.bytes.len() - record.at - 4;
        let place = &mut self.bytes[record.at..record.at + 4];
        place.copy_from_slice(&(length as u32).to_le_bytes());
    }

    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn i32(&mut self, value: i32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn text(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.raw(bytes);
    }

    pub fn types(&mut self, types: &[u32]) {
        self.u16(types.len() as u16);
        for one in types {
            self.u32(*one);
        }
    }
}
