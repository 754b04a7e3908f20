//! Generates warehouses and districts, and the addresses that customers have too.

use super::{Shape, Stream, CUSTOMERS, DISTRICTS};
use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Source};

pub fn warehouses<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses,
        width: 150,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(shape.seed, Stream::Warehouse as u64, row);
            let mut space = [0u8; 32];
            out.start_row(9);
            out.int4(row as i32 + 1);
            out.text(random.letters(&mut space, 6, 10));
            address(&mut random, out);
            out.numeric(tax(&mut random, shape), 4);
            out.numeric(30_000_000, 2);
        },
    })
}

pub fn districts<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * DISTRICTS,
        width: 150,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(shape.seed, Stream::District as u64, row);
            let mut space = [0u8; 32];
            out.start_row(11);
            out.int4((row / DISTRICTS) as i32 + 1);
            out.int4(CUSTOMERS as i32 + 1); // the next order: every customer has one
            out.int2((row % DISTRICTS) as i16 + 1);
            out.numeric(3_000_000, 2);
            out.numeric(tax(&mut random, shape), 4);
            out.text(random.letters(&mut space, 6, 10));
            address(&mut random, out);
        },
    })
}

/// Two streets, city, state, zip.
pub fn address<E: Encoder>(random: &mut Random, out: &mut E) {
    let mut space = [0u8; 32];
    for _ in 0..3 {
        out.text(random.letters(&mut space, 10, 20));
    }
    let state = [0, 0].map(|_: u8| b'A' + random.between(0, 25) as u8);
    out.text(&state);
    let zip = random.digits(&mut space, 4);
    out.joined(&[zip, b"11111"]);
}

/// Ten-thousandths: 0 to 0.2 by the specification, 0.1 to 0.2 in HammerDB.
fn tax(random: &mut Random, shape: Shape) -> i64 {
    random.between(if shape.hammerdb { 1_000 } else { 0 }, 2_000)
}
