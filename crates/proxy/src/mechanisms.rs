//! Takes channel binding out of what a server offers to a client that does not encrypt.
//!
//! A server that is reached encrypted offers SCRAM-SHA-256-PLUS, and libpq gives up where that is
//! offered over a plain connection. Without it the client authenticates by SCRAM-SHA-256 and says
//! that it cannot bind, which the server accepts (RFC 5802, section 6).

const HEADER: usize = 5;
const BOUND: &[u8] = b"SCRAM-SHA-256-PLUS";
const SASL: [u8; 4] = [0, 0, 0, 10];
/// More than a server sends before it requests authentication.
const MOST_HELD: usize = 64 << 10;

/// Holds back what a server sends first until it requests an authentication.
#[derive(Default)]
pub struct Mechanisms {
    held: Vec<u8>,
    done: bool,
}

impl Mechanisms {
    /// Replaces bytes of the server by those that the client is to get now.
    pub fn replace(&mut self, bytes: &mut Vec<u8>) {
        if self.done {
            return;
        }
        self.held.append(bytes);
        let mut at = 0;
        while let Some(length) = whole(&self.held[at..]) {
            let message = &self.held[at..at + length];
            at += length;
            match message[0] {
                b'R' => {
                    bytes.extend_from_slice(&without_binding(message));
                    self.done = true;
                }
                b'E' => {
                    bytes.extend_from_slice(message);
                    self.done = true;
                }
                _ => bytes.extend_from_slice(message),
            }
            if self.done {
                break;
            }
        }
        self.held.drain(..at);
        if self.done || self.held.len() > MOST_HELD {
            self.done = true;
            bytes.append(&mut self.held);
        }
    }
}

/// The length of the first message, where all of it is there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let (_, length) = bytes.get(..HEADER)?.split_first()?;
    let length = u32::from_be_bytes(length.try_into().ok()?) as usize + 1;
    (length >= HEADER && length <= bytes.len()).then_some(length)
}

fn without_binding(message: &[u8]) -> Vec<u8> {
    let Some(names) = message[HEADER..].strip_prefix(&SASL) else {
        return message.to_vec();
    };
    let others = names.split(|&byte| byte == 0);
    let others = others.filter(|name| !name.is_empty() && *name != BOUND);
    let mut body = SASL.to_vec();
    for name in others {
        body.extend_from_slice(name);
        body.push(0);
    }
    body.push(0);
    let mut replaced = vec![b'R'];
    replaced.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    replaced.extend_from_slice(&body);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn through(bytes: &[u8], piece: usize) -> Vec<u8> {
        let (mut mechanisms, mut all) = (Mechanisms::default(), Vec::new());
        for part in bytes.chunks(piece) {
            let mut part = part.to_vec();
            mechanisms.replace(&mut part);
            all.extend_from_slice(&part);
        }
        all
    }

    #[test]
    fn only_channel_binding_is_taken_out_and_all_else_stays() {
        let offered = message(b'R', b"\0\0\0\nSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
        let kept = message(b'R', b"\0\0\0\nSCRAM-SHA-256\0\0");
        let before = message(b'v', &[0; 8]);
        let behind = message(b'R', b"\0\0\0\nSCRAM-SHA-256-PLUS\0\0");
        let sent = [&before[..], &offered, &behind, b"half"].concat();
        for piece in 1..sent.len() {
            assert_eq!(
                through(&sent, piece),
                [&before[..], &kept, &behind, b"half"].concat()
            );
        }
        for other in [
            message(b'R', &[0, 0, 0, 0]),
            message(b'R', &[0, 0, 0, 5, 1, 2, 3, 4]),
            message(b'E', b"SFATAL\0\0"),
        ] {
            assert_eq!(
                through(&[&other[..], &offered].concat(), 3),
                [&other[..], &offered].concat()
            );
        }
    }

    #[test]
    fn what_is_no_message_passes_in_the_end() {
        let garbage = vec![0xff; MOST_HELD + 10];
        assert_eq!(through(&garbage, 1000).len(), garbage.len());
    }
}
