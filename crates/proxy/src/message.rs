//! Cuts a stream of bytes into messages: one kind byte, a length, a body, of which a limited part
//! is kept.

/// A kind and a length that counts itself.
const HEADER: usize = 5;

/// A message, or as much of it as is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u8,
    pub body: &'a [u8],
    /// Whether the body is all of it.
    pub whole: bool,
}

/// How much of a message's body is kept.
pub type Kept = fn(u8) -> usize;

/// Where a stream stands between two pieces of it.
pub struct Cutter {
    kept: Kept,
    header: [u8; HEADER],
    header_length: usize,
    /// The part of the body that is kept, where it came in pieces.
    body: Vec<u8>,
    /// Bytes of the body that are still to come.
    left: usize,
    /// Of these, how many are kept.
    wanted: usize,
    whole: bool,
}

/// A length that no message has: what comes is another protocol, and cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Cutter {
    pub fn new(kept: Kept) -> Cutter {
        Cutter {
            kept,
            header: [0; HEADER],
            header_length: 0,
            body: Vec::new(),
            left: 0,
            wanted: 0,
            whole: true,
        }
    }

    /// Gives each message that ends in these bytes to `take`.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut take: impl FnMut(Message<'_>),
    ) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            if self.header_length < HEADER {
                let taken = bytes.len().min(HEADER - self.header_length);
                let end = self.header_length + taken;
                self.header[self.header_length..end].copy_from_slice(&bytes[..taken]);
                self.header_length = end;
                bytes = &bytes[taken..];
                if end < HEADER {
                    return Ok(());
                }
                self.begin()?;
            }
            let here = bytes.len().min(self.left);
            let is_in_one_piece = self.body.is_empty() && here == self.left;
            if is_in_one_piece {
                let body = &bytes[..here.min(self.wanted)];
                take(self.message(body));
                self.header_length = 0;
            } else {
                let kept = here.min(self.wanted);
                self.body.extend_from_slice(&bytes[..kept]);
                self.wanted -= kept;
                self.left -= here;
                if self.left == 0 {
                    take(self.message(&self.body));
                    self.body.clear();
                    self.body.shrink_to(64 << 10);
                    self.header_length = 0;
                }
            }
            bytes = &bytes[here..];
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Unreadable> {
        let [kind, length @ ..] = self.header;
        let length = u32::from_be_bytes(length) as usize;
        if !(4..=0x7fff_ffff).contains(&length) {
            return Err(Unreadable);
        }
        self.left = length - 4;
        let most = (self.kept)(kind);
        self.whole = self.left <= most;
        self.wanted = self.left.min(most);
        Ok(())
    }

    fn message<'a>(&self, body: &'a [u8]) -> Message<'a> {
        Message {
            kind: self.header[0],
            body,
            whole: self.whole,
        }
    }
}

/// Reads the fields of a body from its beginning; `None` past its end.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Bytes up to a zero, which is passed.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(text)
    }

    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn u16(&mut self) -> Option<u16> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*bytes))
    }

    pub fn i32(&mut self) -> Option<i32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &[u8], piece: usize, kept: Kept) -> (Vec<(u8, Vec<u8>, bool)>, bool) {
        let (mut cutter, mut all, mut readable) = (Cutter::new(kept), Vec::new(), true);
        for part in bytes.chunks(piece) {
            let fed = cutter.feed(part, |message| {
                all.push((message.kind, message.body.to_vec(), message.whole));
            });
            readable = readable && fed.is_ok();
        }
        (all, readable)
    }

    #[test]
    fn pieces_of_any_length_give_the_same_messages() {
        let stream = b"Q\0\0\0\x09abcd\0S\0\0\0\x04D\0\0\0\x0azzzzzzX\0\0\0\x04";
        let kept: Kept = |kind| if kind == b'D' { 2 } else { 100 };
        let whole = cut(stream, stream.len(), kept);
        assert_eq!(whole.0.len(), 4);
        assert_eq!(whole.0[0], (b'Q', b"abcd\0".to_vec(), true));
        assert_eq!(whole.0[2], (b'D', b"zz".to_vec(), false));
        for piece in 1..stream.len() {
            assert_eq!(cut(stream, piece, kept), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn an_impossible_length_is_refused_and_half_a_message_is_none() {
        let kept: Kept = |_| 100;
        assert!(
            !cut(b"GET / HTTP/1.1", 3, |_| 100).1 || cut(b"GET / HTTP/1.1", 3, kept).0.is_empty()
        );
        assert!(!cut(b"Q\0\0\0\x03", 5, kept).1);
        assert!(!cut(b"Q\xff\xff\xff\xff", 5, kept).1);
        assert_eq!(cut(b"Q\0\0\0\x09ab", 4, kept), (Vec::new(), true));
    }
}
