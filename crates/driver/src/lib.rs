//! The load driver: clock, connections, slices, histograms, the hot loop.
//!
//! [`session::drive`] is the whole of it: a plan comes in as JSON lines, slices go out as JSON
//! lines. Threads hold connections to every arm at once; a slice is one arm under load.

mod alarm;
mod answer;
mod arm;
pub mod ask;
mod client;
mod clock;
mod connect;
mod course;
mod crew;
mod error;
mod hot;
pub mod latency;
mod lent;
mod link;
mod pin;
mod plan;
mod program;
mod ring;
pub mod session;
mod socket;
mod streams;
mod tally;
mod worker;

pub use error::DriveError;
