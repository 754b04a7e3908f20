//! Puts one arm under load for a while: when transactions start, and when no more do.

pub mod arrivals;
pub mod hot_loop;
pub mod limits;
pub mod schedule;
mod starts;
