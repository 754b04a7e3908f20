//! The tables of pgbench, row for row as `pgbench -i` fills them.
//!
//! Source: pgbench.c, initGenerateDataClientSide and initBranch/initTeller/initAccount: balances
//! are 0; `filler` is NULL but in accounts, where it is an empty string padded with spaces.

use crate::copy::{empty, int4, null, start_row};

pub const ACCOUNTS_PER_BRANCH: i64 = 100_000;
pub const TELLERS_PER_BRANCH: i64 = 10;
/// Past this scale pgbench makes account numbers bigint (SCALE_32BIT_THRESHOLD): another schema.
pub const MAX_SCALE: i64 = 19_999;

/// A table with rows; `pgbench_history` starts empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Accounts,
    Branches,
    Tellers,
}

impl Table {
    /// The table a name stands for.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "pgbench_accounts" => Some(Self::Accounts),
            "pgbench_branches" => Some(Self::Branches),
            "pgbench_tellers" => Some(Self::Tellers),
            _ => None,
        }
    }

    /// How many rows the table has at `scale`.
    pub fn rows(self, scale: i64) -> i64 {
        match self {
            Self::Accounts => scale * ACCOUNTS_PER_BRANCH,
            Self::Branches => scale,
            Self::Tellers => scale * TELLERS_PER_BRANCH,
        }
    }
}

/// The tuples `first .. first + count` (from 0) of `table`; those past its end are left out.
/// `scale` is at most [`MAX_SCALE`].
pub fn rows(table: Table, scale: i64, first: i64, count: i64) -> Vec<u8> {
    let end = first.saturating_add(count).min(table.rows(scale));
    let start = first.max(0);
    let present = usize::try_from(end - start).unwrap_or(0);
    let mut out = Vec::with_capacity(present * 34);
    match table {
        Table::Accounts => (start..end).for_each(|row| {
            start_row(&mut out, 4);
            int4(&mut out, (row + 1) as i32);
            int4(&mut out, (row / ACCOUNTS_PER_BRANCH + 1) as i32);
            int4(&mut out, 0);
            empty(&mut out);
        }),
        Table::Branches => (start..end).for_each(|row| {
            start_row(&mut out, 3);
            int4(&mut out, (row + 1) as i32);
            int4(&mut out, 0);
            null(&mut out);
        }),
        Table::Tellers => (start..end).for_each(|row| {
            start_row(&mut out, 4);
            int4(&mut out, (row + 1) as i32);
            int4(&mut out, (row / TELLERS_PER_BRANCH + 1) as i32);
            int4(&mut out, 0);
            null(&mut out);
        }),
    }
    out
}
