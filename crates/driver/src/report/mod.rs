//! What a slice counts, and how it is written down: tallies, histograms, logs, JSON.

mod interval;
pub mod latency;
pub mod log;
pub mod progress;
pub mod response;
pub mod tally;
