//! Agrees on encryption before the login, and carries a TLS handshake inside packets.
//!
//! Up to version 7.4 TLS does not begin at once: both sides say in plain text whether they encrypt,
//! and the bytes of the handshake, but not those after it, go as the content of PRELOGIN packets.

use crate::error::WireError;
use crate::packet::{begin_message, end_message, first_message, Header, MessageKind};
use crate::packet::{HEADER_LENGTH, PACKET_SIZE};
use crate::reader::{Reader, Stop};

/// Most bytes of a server's answer that are looked at.
pub const PRELOGIN_LIMIT: usize = 4096;

// "PRELOGIN", options by their tokens.
const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD: u8 = 3;
const SEVERAL_RESULTS: u8 = 4;
const TERMINATOR: u8 = 0xff;

// Values of ENCRYPTION. ENCRYPT_OFF (0) would encrypt the login alone, and is never asked for.
const ENCRYPT_ON: u8 = 1;
const ENCRYPT_NOT_SUPPORTED: u8 = 2;
const ENCRYPT_REQUIRED: u8 = 3;
/// With these the others are combined where a client shows a certificate.
const ENCRYPT_BASE: u8 = 0x7f;

/// How a connection is kept from being read by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Not at all: everything, the password too, goes in plain text.
    None,
    /// TLS inside of PRELOGIN packets, for the login and all that follows.
    Encrypted,
    /// TLS was there before the first packet (version 8.0).
    Strict,
}

/// What a server said before the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prelogin {
    encryption: u8,
}

impl Prelogin {
    /// The message that begins a conversation.
    pub fn request(privacy: Privacy) -> Vec<u8> {
        let encryption = match privacy {
            Privacy::None => ENCRYPT_NOT_SUPPORTED,
            Privacy::Encrypted | Privacy::Strict => ENCRYPT_ON,
        };
        let options: [(u8, &[u8]); 5] = [
            (VERSION, &[0, 1, 0, 0, 0, 0]), // ours
            (ENCRYPTION, &[encryption]),
            (INSTANCE, &[0]),
            (THREAD, &std::process::id().to_be_bytes()),
            (SEVERAL_RESULTS, &[0]),
        ];
        let mut out = Vec::new();
        let start = begin_message(&mut out);
        let mut offset = (5 * options.len() + 1) as u16;
        for (token, value) in options {
            out.push(token);
            out.extend_from_slice(&offset.to_be_bytes());
            out.extend_from_slice(&(value.len() as u16).to_be_bytes());
            offset += value.len() as u16;
        }
        out.push(TERMINATOR);
        for (_, value) in options {
            out.extend_from_slice(value);
        }
        end_message(MessageKind::Prelogin, start, &mut out);
        out
    }

    /// Reads the server's answer; `None` while it is not whole. Nothing may follow it: bytes that
    /// come before the encryption could be injected.
    pub fn read(bytes: &[u8]) -> Result<Option<Prelogin>, WireError> {
        let Some((header, content, taken)) = first_message(bytes, PRELOGIN_LIMIT)? else {
            return Ok(None);
        };
        if header.kind != MessageKind::Reply as u8 || taken != bytes.len() {
            return Err(WireError::malformed("no answer to what precedes a login"));
        }
        let encryption = option(&content, ENCRYPTION)
            .map_err(|stop| stop.within("an answer to what precedes a login"))?;
        match encryption {
            Some(&[encryption]) => Ok(Some(Prelogin { encryption })),
            _ => Err(WireError::malformed("no word on encryption before a login")),
        }
    }

    /// Whether both sides agree on encryption. Err: the server requires what we do not, or lacks
    /// what we require; nothing secret has been sent by then.
    pub fn agree(self, privacy: Privacy) -> Result<(), WireError> {
        let base = self.encryption & ENCRYPT_BASE;
        let refused = match (privacy, base) {
            (Privacy::Strict, _) => return Ok(()), // of no meaning inside of TLS
            (Privacy::Encrypted, ENCRYPT_ON | ENCRYPT_REQUIRED) => return Ok(()),
            (Privacy::None, ENCRYPT_NOT_SUPPORTED) => return Ok(()),
            (Privacy::Encrypted, _) => {
                "the server does not encrypt, which `encrypt` requires; plain text goes with \
                 encrypt=disable alone"
            }
            (Privacy::None, _) => {
                "the server takes encrypted connections only, which encrypt=disable rules out"
            }
        };
        Err(WireError::Unsupported(refused.to_owned()))
    }
}

/// The value of an option; `None`: it is not there.
fn option(content: &[u8], wanted: u8) -> Result<Option<&[u8]>, Stop> {
    let mut reader = Reader::new(content);
    loop {
        let token = reader.u8()?;
        if token == TERMINATOR {
            return Ok(None);
        }
        let offset = usize::from(u16::from_be_bytes(reader.array()?));
        let length = usize::from(u16::from_be_bytes(reader.array()?));
        if token == wanted {
            return content
                .get(offset..offset + length)
                .map(Some)
                .ok_or(Stop::Early);
        }
    }
}

/// Appends bytes of a TLS handshake as the packets that carry them to a server.
pub fn wrap_handshake(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.chunks(PACKET_SIZE - HEADER_LENGTH) {
        let start = begin_message(out);
        out.extend_from_slice(part);
        end_message(MessageKind::Prelogin, start, out);
    }
}

/// Takes the bytes of a TLS handshake out of a server's packets.
#[derive(Debug, Default)]
pub struct HandshakeUnwrapper {
    /// The beginning of a header whose rest has not come.
    header: Vec<u8>,
    /// Bytes of the packet that are still to come.
    left: usize,
}

impl HandshakeUnwrapper {
    /// Takes the next bytes of the stream; appends what TLS is to see.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.left == 0 {
                let needed = (HEADER_LENGTH - self.header.len()).min(rest.len());
                self.header.extend_from_slice(&rest[..needed]);
                rest = &rest[needed..];
                let Some(header) = self.header.first_chunk::<HEADER_LENGTH>() else {
                    return Ok(());
                };
                let header = Header::parse(*header)?;
                // The specification says PRELOGIN; some servers call it a reply.
                let [prelogin, reply] = [MessageKind::Prelogin as u8, MessageKind::Reply as u8];
                if header.kind != prelogin && header.kind != reply {
                    return Err(WireError::malformed("no packet of a TLS handshake"));
                }
                self.left = header.length;
                self.header.clear();
            }
            let (part, after) = rest.split_at(self.left.min(rest.len()));
            out.extend_from_slice(part);
            self.left -= part.len();
            rest = after;
        }
        Ok(())
    }

    /// Whether the last packet was whole.
    pub fn is_between_packets(&self) -> bool {
        self.left == 0 && self.header.is_empty()
    }
}
