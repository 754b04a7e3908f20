//! Holds what connections need: sockets, streams, TLS under load, connecting on other threads.

pub mod connector;
pub mod file_limit;
pub mod link;
pub mod refusal;
pub mod socket;
pub mod stream;
