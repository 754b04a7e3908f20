//! Puts one arm under load for a while: when transactions start, and when no more do.

pub mod arrivals;
mod client_loss;
pub mod hot_loop;
pub mod limits;
pub mod replay;
pub mod schedule;
mod starts;
