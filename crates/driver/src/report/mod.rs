//! Counts what a slice does, and writes it down: tallies, histograms, logs, JSON.

pub mod border_files;
mod encoded;
mod interval;
pub mod latency;
pub mod log;
pub mod progress;
pub mod response;
pub mod tally;
