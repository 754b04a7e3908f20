//! Encodes and decodes the client protocol of MySQL and MariaDB, without sockets or clocks.
//!
//! Bytes from a server are never trusted: whatever comes, the result is a message or a
//! [`WireError`], in bounded memory, without a panic. The layout of each packet is in MySQL's
//! documentation of its source, "Client/Server Protocol", and in MariaDB's, "Clientserver
//! Protocol"; both are spoken as they were before `CLIENT_DEPRECATE_EOF`, which both still know.

mod authentication;
mod capture;
mod column;
mod error;
mod packet;
mod reader;
mod reply;
mod request;
mod row;
mod startup;

pub use authentication::Channel;
pub use capture::CapturedResult;
pub use error::{ServerError, WireError};
pub use reply::{Reply, Scanner};
pub use request::{
    begin_query, end_packet, execute, quit, simple_query, write_literal, write_text, ParameterType,
    PrepareText, LONGEST_REQUEST,
};
pub use row::{row_values, Row};
pub use startup::{Credentials, Greeting, Session, Startup, GREETING_LIMIT};
