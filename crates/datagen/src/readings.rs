//! Generates keyed rows of one width, which the insert workloads load and read.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ROWS_PER_SCALE: u64 = 1_000;
/// Letters of the payload: with key, group and value a row of 128 bytes, 60 to a page of 8 kB.
const PAYLOAD: usize = 84;

/// `source_rows` and `measurements`: key, group, value, payload. Other tables start empty.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    let stream = match table {
        "source_rows" => 1,
        "measurements" => 2,
        _ => return None,
    };
    let seed = given.seed;
    let base = given.scale.max(0) as u64 * ROWS_PER_SCALE;
    let added = given.number("added").unwrap_or(0).max(0) as u64;
    let frozen = given.says("frozen", "True"); // what is added comes with the rest
    Some(Box::new(ByRow {
        rows: base + if frozen { base * added / 100 } else { 0 },
        width: PAYLOAD as u64 + 40,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(seed, stream, row);
            let mut space = [0u8; PAYLOAD];
            out.start_row(4);
            out.int8(row as i64 + 1);
            out.int4(random.between(0, 999) as i32);
            out.int4(random.between(0, i64::from(i32::MAX)) as i32);
            out.text(random.letters(&mut space, PAYLOAD, PAYLOAD));
        },
    }))
}
