//! Puts scripts of SQL on servers as load, slice by slice, and measures how they do.
//!
//! [`drive`] is the whole of it: a plan comes in as JSON lines, slices go out as JSON lines.
//! Threads hold connections to every arm at once; a slice is one arm under load. Everything but
//! `postgres/`, `mysql/` and `sqlserver/` is generic over the trait in `protocol.rs`.

mod cancellation;
mod client;
mod clock;
mod connection;
mod error;
mod io_backend;
mod mysql;
mod plan;
mod postgres;
mod protocol;
mod report;
#[cfg(test)]
mod second_protocol;
mod server_arm;
mod slice;
mod sqlserver;
mod threads;
mod tls;

pub use cancellation::cancel_everything;
pub use clock::now_ns;
pub use connection::socket::Socket;
pub use error::DriveError;
pub use postgres::query::query;
pub use postgres::upstream::{Upstream, UpstreamError};
pub use report::latency::{Latencies, Summary};
pub use sqlserver::control::{ControlSession, ResultRows};
pub use tls::{certificates, private_key, TlsSession};

use std::io::{BufRead, Read, Write};

use mysql::Mysql;
use plan::{ProtocolName, Spoken};
use postgres::Postgres;
use sqlserver::SqlServer;
use threads::coordinator;

/// Drives servers from the first line of the input to `{"end": true}` or its end; an error is the
/// last line of the output too.
pub fn drive(input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), DriveError> {
    let mut first = Vec::new();
    input
        .read_until(b'\n', &mut first)
        .map_err(|error| DriveError::new("could not read the plan").detail(error))?;
    // What is wrong with it is found, and said, where all of it is read.
    let Spoken { protocol } = serde_json::from_slice(&first).unwrap_or_default();
    let mut input = first.as_slice().chain(input);
    match protocol {
        ProtocolName::Postgres => coordinator::drive::<Postgres>(&mut input, output),
        ProtocolName::Mysql => coordinator::drive::<Mysql>(&mut input, output),
        ProtocolName::SqlServer => coordinator::drive::<SqlServer>(&mut input, output),
    }
}
