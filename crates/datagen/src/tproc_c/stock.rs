//! Generates items and their stock: 100,000 of them, and as many rows of stock in every warehouse.

use super::{Shape, Stream, ITEMS};
use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Source};

pub fn items<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: ITEMS,
        width: 100,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(shape.seed, Stream::Item as u64, row);
            let mut space = [0u8; 64];
            out.start_row(5);
            out.int4(row as i32 + 1);
            out.int4(random.between(1, 10_000) as i32);
            out.text(random.letters(&mut space, 14, 24));
            out.numeric(random.between(100, 10_000), 2);
            out.text(with_original(&mut random, &mut space));
        },
    })
}

/// All items of a warehouse, then those of the next.
pub fn stock<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * ITEMS,
        width: 400,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(shape.seed, Stream::Stock as u64, row);
            let mut space = [0u8; 64];
            out.start_row(17);
            out.int4((row % ITEMS) as i32 + 1);
            out.int4((row / ITEMS) as i32 + 1);
            out.int4(0);
            out.int2(random.between(10, 100) as i16);
            out.int2(0);
            out.int2(0);
            for _ in 0..10 {
                out.text(random.letters(&mut space, 24, 24));
            }
            out.text(with_original(&mut random, &mut space));
        },
    })
}

/// 26 to 50 letters; one in ten holds "ORIGINAL" somewhere.
fn with_original<'a>(random: &mut Random, space: &'a mut [u8; 64]) -> &'a [u8] {
    let length = random.letters(space, 26, 50).len();
    if random.once_in(10) {
        let at = random.between(0, length as i64 - 8) as usize;
        space[at..at + 8].copy_from_slice(b"ORIGINAL");
    }
    &space[..length]
}
