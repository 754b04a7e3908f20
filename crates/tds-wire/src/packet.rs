//! Splits messages into packets: a header of eight bytes, then a part of the message.

use crate::error::WireError;

/// The size of a packet with its header that a login asks for, and every server grants.
pub const PACKET_SIZE: usize = 4096;

/// Bytes before every payload ("Packet Header").
pub(crate) const HEADER_LENGTH: usize = 8;

/// What a message is (Type).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MessageKind {
    Batch = 0x01,
    Call = 0x03,
    Reply = 0x04,
    Attention = 0x06,
    Login = 0x10,
    Prelogin = 0x12,
}

/// Status: the last packet of its message.
const LAST: u8 = 1;

/// The header of a packet from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: u8,
    pub last: bool,
    /// Of the payload.
    pub length: usize,
    /// By which the server knows the connection.
    pub session: u16,
}

impl Header {
    #[inline]
    pub fn parse(bytes: [u8; HEADER_LENGTH]) -> Result<Header, WireError> {
        let [kind, status, high, low, session_high, session_low, ..] = bytes;
        let whole = usize::from(u16::from_be_bytes([high, low]));
        if whole < HEADER_LENGTH {
            return Err(WireError::malformed(format!("a packet of {whole} bytes")));
        }
        Ok(Header {
            kind,
            last: status & LAST != 0,
            length: whole - HEADER_LENGTH,
            session: u16::from_be_bytes([session_high, session_low]),
        })
    }
}

/// A part of a reply's content.
pub(crate) struct Part<'a> {
    pub content: &'a [u8],
    /// A packet begins with it.
    pub begins: bool,
    /// The message ends with it.
    pub ends: bool,
    /// What follows.
    pub rest: &'a [u8],
}

/// The packets of a stream of replies, wherever it is cut.
#[derive(Debug, Default)]
pub(crate) struct ReplyPackets {
    /// The beginning of a header, and how much of it is there.
    header: [u8; HEADER_LENGTH],
    there: usize,
    /// Bytes of the packet's content that are still to come.
    left: usize,
    /// It is the last one of its message.
    last: bool,
    /// The server's number of the connection.
    pub session: u16,
}

impl ReplyPackets {
    /// Takes the next part, at most up to the end of a packet, from the beginning of `bytes`.
    #[inline]
    pub fn next_part<'a>(&mut self, bytes: &'a [u8]) -> Result<Part<'a>, WireError> {
        let mut rest = bytes;
        let begins = self.left == 0;
        if begins {
            let taken = (HEADER_LENGTH - self.there).min(rest.len());
            self.header[self.there..self.there + taken].copy_from_slice(&rest[..taken]);
            self.there += taken;
            rest = &rest[taken..];
            if self.there < HEADER_LENGTH {
                return Ok(Part {
                    content: rest,
                    begins: false,
                    ends: false,
                    rest,
                });
            }
            self.there = 0;
            self.begin(Header::parse(self.header)?)?;
        }
        let (content, rest) = rest.split_at(self.left.min(rest.len()));
        self.left -= content.len();
        Ok(Part {
            content,
            begins,
            ends: self.left == 0 && self.last,
            rest,
        })
    }

    #[inline]
    fn begin(&mut self, header: Header) -> Result<(), WireError> {
        if header.kind != MessageKind::Reply as u8 {
            return Err(WireError::malformed(format!(
                "a packet of type {:#04x} as a reply",
                header.kind
            )));
        }
        self.session = header.session;
        self.left = header.length;
        self.last = header.last;
        Ok(())
    }
}

/// Begins a message, whose content is appended by the caller and ended by [`end_message`];
/// returns its start.
#[inline]
pub(crate) fn begin_message(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_LENGTH]);
    start
}

/// Ends the message that began at `start`: as one packet, unless it is too long for that.
#[inline]
pub(crate) fn end_message(kind: MessageKind, start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    if length <= PACKET_SIZE {
        out[start..start + HEADER_LENGTH].copy_from_slice(&header(kind, true, length, 1));
    } else {
        split(kind, start, out);
    }
}

#[cold]
fn split(kind: MessageKind, start: usize, out: &mut Vec<u8>) {
    let content = out.split_off(start + HEADER_LENGTH);
    out.truncate(start);
    let share = PACKET_SIZE - HEADER_LENGTH;
    let packets = content.len().div_ceil(share);
    for (number, part) in content.chunks(share).enumerate() {
        let last = number + 1 == packets;
        let length = HEADER_LENGTH + part.len();
        out.extend_from_slice(&header(kind, last, length, (number + 1) as u8));
        out.extend_from_slice(part);
    }
}

#[inline]
fn header(kind: MessageKind, last: bool, length: usize, number: u8) -> [u8; HEADER_LENGTH] {
    let [high, low] = (length as u16).to_be_bytes();
    [
        kind as u8,
        u8::from(last) * LAST,
        high,
        low,
        0,
        0,
        number,
        0,
    ]
}

/// The content of the first whole message of `bytes`, and how many bytes it took; `None` while it
/// is not whole yet.
pub(crate) fn first_message(
    bytes: &[u8],
    longest: usize,
) -> Result<Option<(Header, Vec<u8>, usize)>, WireError> {
    let mut content = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first_chunk::<HEADER_LENGTH>() {
        let header = Header::parse(*first)?;
        if content.len() + header.length > longest {
            return Err(WireError::malformed(format!(
                "a message of more than {longest} bytes"
            )));
        }
        let Some(part) = rest.get(HEADER_LENGTH..HEADER_LENGTH + header.length) else {
            return Ok(None);
        };
        content.extend_from_slice(part);
        rest = &rest[HEADER_LENGTH + header.length..];
        if header.last {
            return Ok(Some((header, content, bytes.len() - rest.len())));
        }
    }
    // Packets without content must not be read again and again.
    match bytes.len() > 8 * longest {
        true => Err(WireError::malformed("a message without an end")),
        false => Ok(None),
    }
}
