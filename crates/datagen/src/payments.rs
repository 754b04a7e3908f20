//! Generates the tables of the payments workload: banks, their users and tokens, accounts and
//! cards.
//!
//! Counts and opening balances are those of Reserva's article of 2024; the rows are our own.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ACCOUNTS_PER_SCALE: u64 = 1_000;
const OPENING_BALANCE: i64 = 50_000_000;
const PERMISSIONS: u64 = 2;
/// 2036-01-01, in days since 2000-01-01: no card runs out while it is measured.
const EXPIRES: i32 = 13_149;

/// The token of a user: its number in decimal digits, so that a script can say it.
fn token(user: u64) -> [u8; 16] {
    let mut bytes = [0u8; 16];
    let mut rest = user;
    for byte in bytes.iter_mut().rev() {
        *byte = (rest / 10 % 10 * 16 + rest % 10) as u8;
        rest /= 100;
    }
    bytes
}

/// The rows of a table; `transfers` starts empty.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    let banks = given.number("banks").unwrap_or(50).max(1) as u64;
    let accounts = given.scale.max(0) as u64 * ACCOUNTS_PER_SCALE;
    let seed = given.seed;
    match table {
        "banks" => Some(by_row(banks, 8, |row, out: &mut E| {
            out.start_row(1);
            out.int2(row as i16 + 1);
        })),
        "users" => Some(by_row(banks, 20, |row, out: &mut E| {
            out.start_row(3);
            out.int2(row as i16 + 1);
            out.int2(row as i16 + 1);
            out.bool(false);
        })),
        "permissions" => Some(by_row(PERMISSIONS, 30, |row, out: &mut E| {
            out.start_row(2);
            out.int2(row as i16 + 1);
            let names: [&[u8]; 2] = [b"request transfer", b"create transfer"];
            out.text(names[row as usize]);
        })),
        "tokens" => Some(by_row(banks * PERMISSIONS, 50, |row, out: &mut E| {
            out.start_row(4);
            out.uuid(&token(row / PERMISSIONS + 1));
            out.int2((row % PERMISSIONS) as i16 + 1);
            out.int2((row / PERMISSIONS) as i16 + 1);
            out.timestamp(i64::from(EXPIRES) * 86_400_000_000);
        })),
        "accounts" => Some(by_row(accounts, 33, move |row, out: &mut E| {
            out.start_row(4);
            out.int4(row as i32 + 1);
            out.int2((row % banks) as i16 + 1); // in turn, so that a script can say whose it is
            out.int8(OPENING_BALANCE);
            out.bool(false);
        })),
        "cards" => Some(by_row(accounts, 40, move |row, out: &mut E| {
            let mut random = Random::of(seed, 1, row);
            out.start_row(5);
            out.int8(row as i64 + 1);
            out.int4(row as i32 + 1);
            out.date(EXPIRES);
            out.int2(random.between(0, 999) as i16);
            out.bool(false);
        })),
        _ => None,
    }
}

fn by_row<E: Encoder>(
    rows: u64,
    width: u64,
    row: impl Fn(u64, &mut E) + Send + Sync + 'static,
) -> Box<dyn Source<E>> {
    Box::new(ByRow { rows, width, row })
}
