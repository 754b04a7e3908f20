//! Generates a time series: at each tick a reading of every device, in the order of time.

use crate::encoder::Encoder;
use crate::source::{ByRow, Parameters, Source};

const TICKS_PER_SCALE: u64 = 100;
/// 2026-01-01, in microseconds since 2000-01-01: the first tick.
const BEGIN: i64 = 9_497 * 86_400 * MICROSECONDS;
const SECONDS_A_TICK: i64 = 10;
const MICROSECONDS: i64 = 1_000_000;

/// What a device reads at a tick: a script and a check compute the same.
fn value(tick: u64, device: u64) -> f64 {
    ((tick * 7_919 + device * 104_729) % 10_000) as f64 / 100.0
}

/// `readings`: time, device, value. Other tables start empty.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    if table != "readings" {
        return None;
    }
    let devices = given.number("devices").unwrap_or(100).max(1) as u64;
    Some(Box::new(ByRow {
        rows: given.scale.max(0) as u64 * TICKS_PER_SCALE * devices,
        width: 40,
        row: move |row: u64, out: &mut E| {
            let (tick, device) = (row / devices, row % devices + 1);
            out.start_row(3);
            out.timestamp(BEGIN + tick as i64 * SECONDS_A_TICK * MICROSECONDS);
            out.int4(device as i32);
            out.float8(value(tick, device));
        },
    }))
}
