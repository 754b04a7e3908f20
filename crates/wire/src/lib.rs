//! Encodes and decodes the messages of the PostgreSQL protocol 3.0, without sockets or clocks.
//!
//! Bytes from a server are never trusted: whatever comes, the result is a message or a
//! [`WireError`], in bounded memory, without a panic. The layout of each message is in the
//! PostgreSQL documentation, "Message Formats".

mod error;
mod frame;
mod methods;
mod reply;
mod request;
mod row;
mod scram;
mod startup;

pub use error::{ServerError, WireError};
pub use frame::{Frame, Header, HEADER_LENGTH};
pub use methods::Methods;
pub use reply::{CapturedResult, Reply, Scanner};
pub use request::{cancel, simple_query, sync, terminate, BindTemplate, Statement};
pub use row::{row_values, Row};
pub use scram::{Binding, Channel};
pub use startup::{Credentials, Session, Startup};
