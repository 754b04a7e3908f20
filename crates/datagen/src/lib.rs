//! Generates the rows of all workloads, as tuples of COPY's binary format.

mod copy;
mod payments;
pub mod pgbench;
mod random;
mod readings;
mod source;
mod stream;
mod tproc_c;
mod tproc_h;

pub use copy::{Tuples, HEADER, TRAILER};
pub use source::{find, Parameters, Source};
pub use stream::Stream;
