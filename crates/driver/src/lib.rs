//! The load driver: clock, connections, slices, histograms, the hot loop.
//!
//! [`session::drive`] is the whole of it: a plan comes in as JSON lines, slices go out as JSON
//! lines. Threads hold connections to every arm at once; a slice is one arm under load.

mod alarm;
mod answer;
mod arm;
mod arrivals;
pub mod ask;
mod beginning;
mod client;
mod clock;
mod connect;
mod connector;
mod course;
mod crew;
mod descriptors;
mod error;
mod failing;
mod hot;
mod interval;
mod keeping;
pub mod latency;
pub mod leaving;
mod lent;
mod link;
mod log;
mod message;
mod pace;
mod pin;
mod plan;
mod program;
mod progress;
mod ring;
mod server;
pub mod session;
mod socket;
mod steps;
mod stream;
mod streams;
mod tally;
mod tls;
mod way;
mod worker;

pub use error::DriveError;
