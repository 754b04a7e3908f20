//! Connections to servers: sockets, streams, and what a client keeps of its own.

pub mod connector;
pub mod file_limit;
pub mod link;
pub mod socket;
pub mod stream;
