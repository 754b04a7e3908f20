//! Encodes and decodes TDS, the client protocol of SQL Server, without sockets or clocks.
//!
//! Bytes from a server are never trusted: whatever comes, the result is a message or a
//! [`WireError`], in bounded memory, without a panic. The layout of each message is in Microsoft's
//! open specification \[MS-TDS\], by whose names the sections are cited; versions 7.2 to 7.4 are
//! spoken, and 8.0, which is 7.4 inside TLS from the first byte.

mod capture;
mod column;
mod error;
mod login;
mod packet;
mod prelogin;
mod reader;
mod reply;
mod request;
mod row;
mod token;
mod value;

pub use capture::{row_values, CapturedResult, Row};
pub use error::{ServerError, WireError};
pub use login::{Credentials, Session, Startup};
pub use packet::PACKET_SIZE;
pub use prelogin::{wrap_handshake, HandshakeUnwrapper, Prelogin, Privacy, PRELOGIN_LIMIT};
pub use reply::{Reply, Scanner};
pub use request::{
    attention, begin_batch, begin_call, end_batch, end_call, widen, write_bit, write_double,
    write_handle, write_integer, write_text, write_text_null, write_wide, Procedure,
    LONGEST_SHORT_TEXT,
};
