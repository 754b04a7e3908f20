//! Passes PostgreSQL connections through to a server, and notes what their clients execute.
//!
//! One thread a connection forwards its bytes first and reads them afterwards; what it reads goes,
//! in small pieces, to one thread that writes them to a file. No message of an authentication is
//! kept; of what a server offers, channel binding is taken out where the client does not encrypt.

mod client_tls;
mod end;
mod mechanisms;
mod message;
mod notes;
mod noting;
mod observer;
mod opening;
mod passage;
mod proxy;
mod request;
mod spool;

pub use message::{Cutter, Message};
pub use notes::{Notes, Record};
pub use observer::Observer;
pub use proxy::{Proxy, ProxyOptions, Status};
