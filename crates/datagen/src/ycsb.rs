//! Generates the table of YCSB: a key from a hash, and ten fields of a hundred bytes.
//!
//! Names, counts and the hash are those of YCSB's core workload; the rows are our own.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ROWS_PER_SCALE: u64 = 1_000;
const FIELDS: usize = 10;
const LENGTH: usize = 100;
/// Every field begins with a 1 and the last six digits of its key: a check finds values in the
/// wrong row.
const OF_KEY: u64 = 1_000_000;

/// FNV-1a over the eight bytes of a number, lowest first, without its sign (YCSB's Utils.hash).
fn hashed(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    (hash as i64).unsigned_abs()
}

/// The rows of `usertable`, in the order in which YCSB inserts them.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    if table != "usertable" {
        return None;
    }
    let seed = given.seed;
    Some(Box::new(ByRow {
        rows: given.scale.max(0) as u64 * ROWS_PER_SCALE,
        width: (FIELDS * LENGTH) as u64 + 80,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(seed, 1, row);
            let key = hashed(row);
            out.start_row(1 + FIELDS as i16);
            out.joined(&[b"user", key.to_string().as_bytes()]);
            let first = format!("{}-", OF_KEY + key % OF_KEY);
            for _ in 0..FIELDS {
                let mut space = [0u8; LENGTH];
                let rest = LENGTH - first.len();
                out.joined(&[first.as_bytes(), random.letters(&mut space, rest, rest)]);
            }
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::hashed;

    #[test]
    fn keys_are_those_of_ycsb() {
        // The first two that `ycsb load` inserts.
        assert_eq!(hashed(0), 6_284_781_860_667_377_211);
        assert_eq!(hashed(1), 8_517_097_267_634_966_620);
    }
}
