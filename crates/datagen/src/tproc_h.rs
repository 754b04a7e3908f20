//! Generates the eight tables of TPC-H: the rows are dbgen's, made by the crate `tpchgen`.
//!
//! The scale counts hundredths of the scale factor. A unit is a part of a table as dbgen cuts it:
//! rows do not depend on how many threads make them. `schema` chooses how they are written: keys as
//! bigint and days as date (`native`), or keys as numeric and days as timestamp (`hammerdb`).

use std::fmt::{Display, Write};
use std::ops::Range;

use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, NationGenerator, Order,
    OrderGenerator, Part, PartGenerator, PartSupp, PartSuppGenerator, RegionGenerator, Supplier,
    SupplierGenerator,
};

use crate::encoder::Encoder;
use crate::source::{Parameters, Source};

/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;
const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

#[derive(Clone, Copy)]
enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    PartSupp,
    Orders,
    LineItem,
}

struct Rows {
    table: Table,
    factor: f64,
    parts: i32,
    rows: u64,
    hammerdb: bool,
}

/// The rows of a table.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    let table = match table {
        "region" => Table::Region,
        "nation" => Table::Nation,
        "supplier" => Table::Supplier,
        "customer" => Table::Customer,
        "part" => Table::Part,
        "partsupp" => Table::PartSupp,
        "orders" => Table::Orders,
        "lineitem" => Table::LineItem,
        _ => return None,
    };
    let factor = given.scale.max(1) as f64 / 100.0;
    // So many parts that each is about a megabyte.
    let parts = |bytes_at_one: f64| ((factor * bytes_at_one / 1e6).ceil() as i32).max(1);
    let (parts, rows) = match table {
        Table::Region => (1, 5),
        Table::Nation => (1, 25),
        Table::Supplier => (
            parts(2e6),
            SupplierGenerator::calculate_row_count(factor, 1, 1),
        ),
        Table::Customer => (
            parts(30e6),
            CustomerGenerator::calculate_row_count(factor, 1, 1),
        ),
        Table::Part => (
            parts(35e6),
            PartGenerator::calculate_row_count(factor, 1, 1),
        ),
        Table::PartSupp => (
            parts(150e6),
            4 * PartGenerator::calculate_row_count(factor, 1, 1),
        ),
        Table::Orders => (
            parts(220e6),
            OrderGenerator::calculate_row_count(factor, 1, 1),
        ),
        Table::LineItem => (parts(1_200e6), lines(factor)),
    };
    Some(Box::new(Rows {
        table,
        factor,
        parts,
        rows: rows as u64,
        hammerdb: given.says("schema", "hammerdb"),
    }))
}

/// How many lines all orders have together.
fn lines(factor: f64) -> i64 {
    let orders = OrderGenerator::calculate_row_count(factor, 1, 1);
    let mut random = OrderGenerator::create_line_count_random();
    (0..orders)
        .map(|_| {
            let count = random.next_value();
            random.row_finished();
            i64::from(count)
        })
        .sum()
}

impl<E: Encoder> Source<E> for Rows {
    fn units(&self) -> u64 {
        self.parts as u64
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn units_a_chunk(&self) -> u64 {
        1
    }

    fn write(&self, units: Range<u64>, out: &mut E) {
        let mut writer = Writer {
            out,
            hammerdb: self.hammerdb,
            text: String::new(),
        };
        for unit in units {
            self.part(unit as i32 + 1, &mut writer);
        }
    }
}

impl Rows {
    fn part<E: Encoder>(&self, part: i32, out: &mut Writer<'_, E>) {
        let (factor, parts) = (self.factor, self.parts);
        match self.table {
            Table::Region => RegionGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| {
                    out.row(3);
                    out.key(row.r_regionkey);
                    out.text(row.r_name);
                    out.text(row.r_comment);
                }),
            Table::Nation => NationGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| {
                    out.row(4);
                    out.key(row.n_nationkey);
                    out.text(row.n_name);
                    out.key(row.n_regionkey);
                    out.text(row.n_comment);
                }),
            Table::Supplier => SupplierGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| supplier(&row, out)),
            Table::Customer => CustomerGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| customer(&row, out)),
            Table::Part => PartGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| item(&row, out)),
            Table::PartSupp => PartSuppGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| supply(&row, out)),
            Table::Orders => OrderGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| order(&row, out)),
            Table::LineItem => LineItemGenerator::new(factor, part, parts)
                .iter()
                .for_each(|row| line(&row, out)),
        }
    }
}

/// Writes fields as the chosen schema has them.
struct Writer<'a, E> {
    out: &'a mut E,
    hammerdb: bool,
    text: String,
}

impl<E: Encoder> Writer<'_, E> {
    fn row(&mut self, fields: i16) {
        self.out.start_row(fields);
    }

    fn key(&mut self, value: i64) {
        if self.hammerdb {
            self.out.numeric(value, 0);
        } else {
            self.out.int8(value);
        }
    }

    fn count(&mut self, value: i32) {
        if self.hammerdb {
            self.out.numeric(i64::from(value), 0);
        } else {
            self.out.int4(value);
        }
    }

    fn money(&mut self, value: TPCHDecimal) {
        self.out.numeric(value.0, 2);
    }

    fn day(&mut self, value: TPCHDate) {
        let days = value.to_unix_epoch() - EPOCH_DAYS;
        if self.hammerdb {
            self.out.timestamp(i64::from(days) * MICROSECONDS_A_DAY);
        } else {
            self.out.date(days);
        }
    }

    fn text(&mut self, value: &str) {
        self.out.text(value.as_bytes());
    }

    fn shown(&mut self, value: impl Display) {
        self.text.clear();
        let _ = write!(self.text, "{value}"); // into a String it cannot fail
        self.out.text(self.text.as_bytes());
    }
}

fn supplier<E: Encoder>(row: &Supplier, out: &mut Writer<'_, E>) {
    out.row(7);
    out.key(row.s_suppkey);
    out.shown(row.s_name);
    out.shown(&row.s_address);
    out.key(row.s_nationkey);
    out.shown(&row.s_phone);
    out.money(row.s_acctbal);
    out.text(&row.s_comment);
}

fn customer<E: Encoder>(row: &Customer<'_>, out: &mut Writer<'_, E>) {
    out.row(8);
    out.key(row.c_custkey);
    out.shown(row.c_name);
    out.shown(&row.c_address);
    out.key(row.c_nationkey);
    out.shown(&row.c_phone);
    out.money(row.c_acctbal);
    out.text(row.c_mktsegment);
    out.text(row.c_comment);
}

fn item<E: Encoder>(row: &Part<'_>, out: &mut Writer<'_, E>) {
    out.row(9);
    out.key(row.p_partkey);
    out.shown(&row.p_name);
    out.shown(row.p_mfgr);
    out.shown(row.p_brand);
    out.text(row.p_type);
    out.count(row.p_size);
    out.text(row.p_container);
    out.money(row.p_retailprice);
    out.text(row.p_comment);
}

fn supply<E: Encoder>(row: &PartSupp<'_>, out: &mut Writer<'_, E>) {
    out.row(5);
    out.key(row.ps_partkey);
    out.key(row.ps_suppkey);
    out.count(row.ps_availqty);
    out.money(row.ps_supplycost);
    out.text(row.ps_comment);
}

fn order<E: Encoder>(row: &Order<'_>, out: &mut Writer<'_, E>) {
    out.row(9);
    out.key(row.o_orderkey);
    out.key(row.o_custkey);
    out.text(row.o_orderstatus.as_str());
    out.money(row.o_totalprice);
    out.day(row.o_orderdate);
    out.text(row.o_orderpriority);
    out.shown(row.o_clerk);
    out.count(row.o_shippriority);
    out.text(row.o_comment);
}

fn line<E: Encoder>(row: &LineItem<'_>, out: &mut Writer<'_, E>) {
    out.row(16);
    out.key(row.l_orderkey);
    out.key(row.l_partkey);
    out.key(row.l_suppkey);
    out.count(row.l_linenumber);
    out.money(TPCHDecimal(row.l_quantity * 100));
    out.money(row.l_extendedprice);
    out.money(row.l_discount);
    out.money(row.l_tax);
    out.text(row.l_returnflag);
    out.text(row.l_linestatus);
    out.day(row.l_shipdate);
    out.day(row.l_commitdate);
    out.day(row.l_receiptdate);
    out.text(row.l_shipinstruct);
    out.text(row.l_shipmode);
    out.text(row.l_comment);
}
