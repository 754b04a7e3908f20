//! Row generators, one file a table or workload. Rows come as tuples of COPY's binary format.

mod copy;
pub mod pgbench;

pub use copy::{HEADER, TRAILER};
