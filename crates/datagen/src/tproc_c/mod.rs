//! Generates the nine tables of TPC-C, as clause 4.3.3.1 of its specification or HammerDB fills
//! them.
//!
//! Columns stand in HammerDB's order, since it decides how wide a row is.

mod customers;
mod orders;
mod places;
mod stock;

use crate::encoder::Encoder;
use crate::source::{Parameters, Source};

pub(crate) const DISTRICTS: u64 = 10;
pub(crate) const CUSTOMERS: u64 = 3_000; // of a district
pub(crate) const ITEMS: u64 = 100_000;
/// Orders from here on are not delivered yet: 900 of a district.
pub(crate) const FIRST_NEW_ORDER: u64 = 2_101;
/// 2026-01-01 00:00:00 UTC: a load's own clock would give every load other bytes.
pub(crate) const LOADED_AT: i64 = 9_497 * 86_400 * 1_000_000;

/// Numbers the random streams of a table's rows.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Item = 1,
    Warehouse,
    District,
    Customer,
    History,
    Stock,
    Order,
    OrderLine,
    Shuffle,
}

/// What the tables of one load share.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub warehouses: u64,
    pub seed: u64,
    /// With HammerDB's differences from the specification.
    pub hammerdb: bool,
}

/// The rows of a table.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    let shape = Shape {
        warehouses: given.scale.max(0) as u64,
        seed: given.seed,
        hammerdb: given.says("profile", "hammerdb"),
    };
    match table {
        "item" => Some(stock::items(shape)),
        "stock" => Some(stock::stock(shape)),
        "warehouse" => Some(places::warehouses(shape)),
        "district" => Some(places::districts(shape)),
        "customer" => Some(customers::customers(shape)),
        "history" => Some(customers::history(shape)),
        "orders" => Some(orders::orders(shape)),
        "new_order" => Some(orders::new_orders(shape)),
        "order_line" => Some(Box::new(orders::OrderLines::new(shape))),
        _ => None,
    }
}
