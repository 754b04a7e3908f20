//! Generates the tables of pgbench, row for row as `pgbench -i` fills them.
//!
//! Source: pgbench.c, initGenerateDataClientSide and initBranch/initTeller/initAccount: balances
//! are 0; `filler` is NULL but in accounts, where it is an empty string padded with spaces.

use crate::encoder::Encoder;
use crate::source::{ByRow, Parameters, Source};

pub const ACCOUNTS_PER_BRANCH: i64 = 100_000;
pub const TELLERS_PER_BRANCH: i64 = 10;
/// Past this scale pgbench makes account numbers bigint (SCALE_32BIT_THRESHOLD): another schema.
pub const MAX_SCALE: i64 = 19_999;

/// The rows of a table; `pgbench_history` starts empty.
pub fn source<E: Encoder>(
    table: &str,
    given: &Parameters,
) -> Result<Option<Box<dyn Source<E>>>, String> {
    let scale = given.scale;
    if !(1..=MAX_SCALE).contains(&scale) {
        return Err(format!("scale must be 1 to {MAX_SCALE}, not {scale}"));
    }
    Ok(match table {
        "pgbench_accounts" => Some(Box::new(ByRow {
            rows: (scale * ACCOUNTS_PER_BRANCH) as u64,
            width: 30,
            row: account::<E>,
        })),
        "pgbench_branches" => Some(Box::new(ByRow {
            rows: scale as u64,
            width: 22,
            row: branch::<E>,
        })),
        "pgbench_tellers" => Some(Box::new(ByRow {
            rows: (scale * TELLERS_PER_BRANCH) as u64,
            width: 30,
            row: teller::<E>,
        })),
        _ => None,
    })
}

fn account<E: Encoder>(row: u64, out: &mut E) {
    out.start_row(4);
    out.int4((row + 1) as i32);
    out.int4((row / ACCOUNTS_PER_BRANCH as u64 + 1) as i32);
    out.int4(0);
    out.text(b""); // the server pads a char(n) with spaces itself
}

fn branch<E: Encoder>(row: u64, out: &mut E) {
    out.start_row(3);
    out.int4((row + 1) as i32);
    out.int4(0);
    out.null();
}

fn teller<E: Encoder>(row: u64, out: &mut E) {
    out.start_row(4);
    out.int4((row + 1) as i32);
    out.int4((row / TELLERS_PER_BRANCH as u64 + 1) as i32);
    out.int4(0);
    out.null();
}
