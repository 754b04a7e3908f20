//! Generates the rows of all workloads, as a server's bulk load reads them: COPY's binary tuples,
//! or the lines of LOAD DATA.

mod copy;
mod documents;
mod encoder;
mod jobs;
mod payments;
pub mod pgbench;
mod random;
mod readings;
mod series;
mod source;
mod stream;
mod sysbench;
mod text;
mod tproc_c;
mod tproc_h;
mod ycsb;

pub use copy::{Tuples, HEADER, TRAILER};
pub use encoder::{Encoded, Encoder};
pub use source::{find, Parameters, Source};
pub use stream::{chunks, digest_of, Stream};
pub use text::Lines;
