//! Finds the generator of a table by the names of generator and table.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::encoder::Encoder;
use crate::{
    documents, jobs, payments, pgbench, readings, series, sysbench, tproc_c, tproc_h, ycsb,
};

/// What decides the rows: the same parameters give the same bytes.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    pub scale: i64,
    pub seed: u64,
    /// Options of the workload by name, as text.
    pub options: BTreeMap<String, String>,
}

impl Parameters {
    /// Whether an option has this value.
    pub fn says(&self, option: &str, value: &str) -> bool {
        self.options.get(option).is_some_and(|given| given == value)
    }

    /// An option that is a number.
    pub fn number(&self, option: &str) -> Option<i64> {
        self.options.get(option)?.parse().ok()
    }
}

/// The rows of one table, made in any order, a unit at a time, for an encoder.
pub trait Source<E>: Send + Sync {
    /// How many units there are; each is a row, or rows that belong together.
    fn units(&self) -> u64;
    /// Rows of all units.
    fn rows(&self) -> u64;
    /// About a megabyte of rows: how many units are sent at once.
    fn units_a_chunk(&self) -> u64;
    /// Write the rows of these units.
    fn write(&self, units: Range<u64>, out: &mut E);
}

/// The source of a table; in words why there is none.
pub fn find<E: Encoder>(
    generator: &str,
    table: &str,
    given: &Parameters,
) -> Result<Box<dyn Source<E>>, String> {
    let found = match generator {
        "pgbench" => pgbench::source(table, given)?,
        "tproc-c" => tproc_c::source(table, given),
        "tproc-h" => tproc_h::source(table, given),
        "reserva" => payments::source(table, given),
        "keyed" => readings::source(table, given),
        "sysbench" => sysbench::source(table, given)?,
        "ycsb" => ycsb::source(table, given),
        "queue" => jobs::source(table, given),
        "jsonb" => documents::source(table, given),
        "time-series" => series::source(table, given),
        _ => return Err(format!("there is no generator \"{generator}\"")),
    };
    found.ok_or_else(|| format!("no rows are generated for table \"{table}\""))
}

/// A table whose rows do not depend on each other: every unit is a row.
pub struct ByRow<F> {
    pub rows: u64,
    /// Bytes of a row, about.
    pub width: u64,
    pub row: F,
}

impl<E, F: Fn(u64, &mut E) + Send + Sync> Source<E> for ByRow<F> {
    fn units(&self) -> u64 {
        self.rows
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn units_a_chunk(&self) -> u64 {
        (1_000_000 / self.width).max(1)
    }

    fn write(&self, units: Range<u64>, out: &mut E) {
        for row in units {
            (self.row)(row, out);
        }
    }
}
