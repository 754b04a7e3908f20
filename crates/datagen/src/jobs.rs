//! Generates the jobs that wait in a queue before its clients come.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ROWS_PER_SCALE: u64 = 1_000;
const PAYLOAD: usize = 200;

/// `jobs`: their number in the queue, the producer (0: none of the clients), the number that it
/// gave, and a payload. Other tables start empty.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    if table != "jobs" {
        return None;
    }
    let seed = given.seed;
    Some(Box::new(ByRow {
        rows: given.scale.max(0) as u64 * ROWS_PER_SCALE,
        width: PAYLOAD as u64 + 50,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(seed, 1, row);
            let mut space = [0u8; PAYLOAD];
            out.start_row(4);
            out.int8(row as i64 + 1);
            out.int4(0);
            out.int8(row as i64 + 1);
            out.text(random.letters(&mut space, PAYLOAD, PAYLOAD));
        },
    }))
}
