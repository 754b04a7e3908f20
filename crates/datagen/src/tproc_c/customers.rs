//! Generates customers, 3,000 a district, and the one payment that each of them has made.

use super::{places, Shape, Stream, CUSTOMERS, DISTRICTS, LOADED_AT};
use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Source};

const SYLLABLES: [&[u8]; 10] = [
    b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING",
];
/// NURand's constant for last names. HammerDB has one for loading and running; by clause 2.1.6.1
/// the scripts of the spec profile have another, 87 further on.
const NAME_CONSTANT: i64 = 123;

/// Where a row stands: warehouse, district and customer, from 1.
fn place(row: u64) -> (i32, i16, i32) {
    let district = row / CUSTOMERS;
    (
        (district / DISTRICTS) as i32 + 1,
        (district % DISTRICTS) as i16 + 1,
        (row % CUSTOMERS) as i32 + 1,
    )
}

pub fn customers<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * DISTRICTS * CUSTOMERS,
        width: 650,
        row: move |row: u64, out: &mut E| customer(shape, row, out),
    })
}

fn customer<E: Encoder>(shape: Shape, row: u64, out: &mut E) {
    let mut random = Random::of(shape.seed, Stream::Customer as u64, row);
    let mut space = [0u8; 512];
    let (warehouse, district, number) = place(row);
    let name = if number <= 1_000 {
        i64::from(number) - 1
    } else {
        random.skewed(255, 0, 999, NAME_CONSTANT)
    } as usize;
    let bad = random.once_in(if shape.hammerdb { 2 } else { 10 });
    out.start_row(21);
    out.timestamp(LOADED_AT);
    out.int4(number);
    out.int4(warehouse);
    out.int2(district);
    out.int2(1);
    out.int2(0);
    out.text(random.letters(&mut space, 8, 16));
    out.text(b"OE");
    out.joined(&[
        SYLLABLES[name / 100],
        SYLLABLES[name / 10 % 10],
        SYLLABLES[name % 10],
    ]);
    places::address(&mut random, out);
    out.text(random.digits(&mut space, 16));
    out.text(if bad { b"BC" } else { b"GC" });
    out.numeric(5_000_000, 2);
    out.numeric(random.between(0, 5_000), 4);
    out.numeric(-1_000, 2);
    out.numeric(1_000, 2);
    out.text(random.letters(&mut space, 300, 500));
}

pub fn history<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * DISTRICTS * CUSTOMERS,
        width: 90,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(shape.seed, Stream::History as u64, row);
            let mut space = [0u8; 32];
            let (warehouse, district, number) = place(row);
            out.start_row(8);
            out.timestamp(LOADED_AT);
            out.int4(number);
            out.int4(warehouse);
            out.int4(warehouse);
            out.int2(district);
            out.int2(district);
            out.numeric(1_000, 2);
            out.text(random.letters(&mut space, 12, 24));
        },
    })
}
