//! Draws random numbers from a stream for each row, so that any thread can make any row.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): one
//! word of state, so that beginning a stream costs a multiplication or two.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A well mixed word of a word.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The random numbers of one row of one table.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `row` in the table that `table` numbers.
    #[inline]
    pub fn of(seed: u64, table: u64, row: u64) -> Self {
        let place = mix(row.wrapping_add(mix(table.wrapping_add(1).wrapping_mul(GAMMA))));
        Self {
            state: mix(seed.wrapping_mul(GAMMA)) ^ place,
        }
    }

    #[inline]
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// Uniform from `low` to `high`, both possible (Lemire's multiplication; the bias is below
    /// 2⁻³² for every range used here).
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let range = (high - low + 1) as u64;
        low + ((u128::from(self.word()) * u128::from(range)) >> 64) as i64
    }

    /// Uniform over [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True once in `times`.
    #[inline]
    pub fn once_in(&mut self, times: i64) -> bool {
        self.between(1, times) == 1
    }

    /// TPC-C's NURand (clause 2.1.6): ((random(0, a) | random(x, y)) + c) mod (y − x + 1) + x.
    #[inline]
    pub fn skewed(&mut self, a: i64, x: i64, y: i64, c: i64) -> i64 {
        ((self.between(0, a) | self.between(x, y)) + c) % (y - x + 1) + x
    }

    /// Letters and digits, `low` to `high` of them, into `space`.
    #[inline]
    pub fn letters<'a>(&mut self, space: &'a mut [u8], low: usize, high: usize) -> &'a [u8] {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Zz";
        let length = self.between(low as i64, high as i64) as usize;
        for part in space[..length].chunks_mut(10) {
            let mut word = self.word();
            for letter in part {
                *letter = LETTERS[(word & 63) as usize];
                word >>= 6;
            }
        }
        &space[..length]
    }

    /// So many digits, into `space`.
    #[inline]
    pub fn digits<'a>(&mut self, space: &'a mut [u8], length: usize) -> &'a [u8] {
        for digit in &mut space[..length] {
            *digit = b'0' + self.between(0, 9) as u8;
        }
        &space[..length]
    }
}

/// The place of `at` in a permutation of `0 .. length` that `key` chooses.
///
/// A Feistel network over the next even number of bits, walked on until it falls inside
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
pub fn permuted(at: u64, length: u64, key: u64) -> u64 {
    let half = (64 - (length.max(2) - 1).leading_zeros()).div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut value = at;
    loop {
        let (mut left, mut right) = (value >> half, value & mask);
        for round in 0..4u64 {
            let turned = mix(right ^ mix(key.wrapping_add(round.wrapping_mul(GAMMA)))) & mask;
            (left, right) = (right, left ^ turned);
        }
        value = left << half | right;
        if value < length {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{permuted, Random};

    #[test]
    fn a_permutation_has_every_number_once() {
        for length in [1u64, 2, 3, 10, 3000, 4097] {
            let mut seen: Vec<u64> = (0..length).map(|at| permuted(at, length, 42)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..length), "{length}");
        }
    }

    #[test]
    fn ranges_are_met_at_both_ends_and_evenly() {
        let mut counted = [0u32; 10];
        let mut random = Random::of(1, 2, 3);
        for _ in 0..100_000 {
            counted[random.between(5, 14) as usize - 5] += 1;
        }
        assert!(
            counted.iter().all(|&n| (9_500..10_500).contains(&n)),
            "{counted:?}"
        );
    }

    #[test]
    fn rows_tables_and_seeds_have_streams_of_their_own() {
        let first = Random::of(1, 1, 1).word();
        for other in [(2, 1, 1), (1, 2, 1), (1, 1, 2)] {
            assert_ne!(first, Random::of(other.0, other.1, other.2).word());
        }
    }
}
