//! The PostgreSQL protocol 3.0 as bytes and messages: no sockets, no clock.
//!
//! Bytes from a server are never trusted: whatever comes, the answer is a message or a
//! [`WireError`], in bounded memory, without a panic. What each message looks like is said in the
//! PostgreSQL documentation, "Message Formats".

mod error;
mod frame;
mod kept;
mod methods;
mod reply;
mod request;
mod row;
mod scram;
mod startup;

pub use error::{ServerError, WireError};
pub use frame::{Frame, Header, HEADER_LENGTH};
pub use kept::Kept;
pub use methods::Methods;
pub use reply::{Reply, Scanner};
pub use request::{cancel, simple_query, sync, terminate, BindTemplate, Statement};
pub use row::{row_values, Row};
pub use scram::{Binding, Channel};
pub use startup::{Credentials, Session, Startup};
