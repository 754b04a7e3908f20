//! Generates orders, one of every customer (not so in HammerDB), their lines, and undelivered
//! orders.

use std::ops::Range;

use super::{Shape, Stream, CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, LOADED_AT};
use crate::encoder::Encoder;
use crate::random::{permuted, Random};
use crate::source::{ByRow, Source};

const ORDERS: u64 = CUSTOMERS; // of a district
const NEW_ORDERS: u64 = ORDERS + 1 - FIRST_NEW_ORDER;

/// Warehouse, district and number of an order, from 1.
fn place(row: u64, of_district: u64) -> (i32, i16, u64) {
    let district = row / of_district;
    (
        (district / DISTRICTS) as i32 + 1,
        (district % DISTRICTS) as i16 + 1,
        row % of_district + 1,
    )
}

/// The random numbers of an order: the first one gives how many lines it has.
fn begin(shape: Shape, row: u64) -> (Random, i64) {
    let mut random = Random::of(shape.seed, Stream::Order as u64, row);
    let lines = random.between(5, 15);
    (random, lines)
}

pub fn orders<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * DISTRICTS * ORDERS,
        width: 62,
        row: move |row: u64, out: &mut E| {
            let (mut random, lines) = begin(shape, row);
            let (warehouse, district, number) = place(row, ORDERS);
            let carrier = random.between(1, 10) as i16;
            let customer = if shape.hammerdb {
                // Its shuffle keeps no permutation: order n is of a customer drawn from n to 3,000.
                // The last of them have many orders, and half of all have none.
                random.between(number as i64, CUSTOMERS as i64) as i32
            } else {
                let key = Random::of(shape.seed, Stream::Shuffle as u64, row / ORDERS).word();
                permuted(number - 1, CUSTOMERS, key) as i32 + 1
            };
            out.start_row(8);
            out.timestamp(LOADED_AT);
            out.int4(number as i32);
            out.int4(warehouse);
            out.int4(customer);
            out.int2(district);
            if number < FIRST_NEW_ORDER {
                out.int2(carrier);
            } else {
                out.null();
            }
            out.int2(lines as i16);
            out.int2(1);
        },
    })
}

pub fn new_orders<E: Encoder>(shape: Shape) -> Box<dyn Source<E>> {
    Box::new(ByRow {
        rows: shape.warehouses * DISTRICTS * NEW_ORDERS,
        width: 24,
        row: move |row: u64, out: &mut E| {
            let (warehouse, district, number) = place(row, NEW_ORDERS);
            out.start_row(3);
            out.int4(warehouse);
            out.int4((number + FIRST_NEW_ORDER - 1) as i32);
            out.int2(district);
        },
    })
}

/// The lines of all orders; a unit is an order.
pub struct OrderLines {
    shape: Shape,
    orders: u64,
    rows: u64,
}

impl OrderLines {
    pub fn new(shape: Shape) -> Self {
        let orders = shape.warehouses * DISTRICTS * ORDERS;
        let rows = (0..orders).map(|row| begin(shape, row).1 as u64).sum();
        Self {
            shape,
            orders,
            rows,
        }
    }
}

impl<E: Encoder> Source<E> for OrderLines {
    fn units(&self) -> u64 {
        self.orders
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn units_a_chunk(&self) -> u64 {
        1_000
    }

    fn write(&self, units: Range<u64>, out: &mut E) {
        for row in units {
            let (_, lines) = begin(self.shape, row);
            let (warehouse, district, number) = place(row, ORDERS);
            let mut random = Random::of(self.shape.seed, Stream::OrderLine as u64, row);
            for line in 1..=lines {
                let order = (warehouse, district, number);
                order_line(order, line, self.shape.hammerdb, &mut random, out);
            }
        }
    }
}

fn order_line<E: Encoder>(
    (warehouse, district, order): (i32, i16, u64),
    line: i64,
    hammerdb: bool,
    random: &mut Random,
    out: &mut E,
) {
    let mut space = [0u8; 32];
    let delivered = order < FIRST_NEW_ORDER;
    out.start_row(10);
    if delivered {
        out.timestamp(LOADED_AT);
    } else {
        out.null();
    }
    out.int4(order as i32);
    out.int4(warehouse);
    out.int4(random.between(1, ITEMS as i64) as i32);
    out.int4(warehouse);
    out.int2(district);
    out.int2(line as i16);
    out.int2(5);
    // What is delivered has an amount in HammerDB, what is not has one by the specification.
    let drawn = random.between(1, 999_999);
    out.numeric(
        match (hammerdb, delivered) {
            (false, false) => drawn,
            (true, true) => 10 + drawn % 9_991,
            _ => 0,
        },
        2,
    );
    out.text(random.letters(&mut space, 24, 24));
}
