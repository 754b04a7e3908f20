//! Draws pgbench's random numbers: xoroshiro128** and the distributions of its functions.
//!
//! Source: PostgreSQL's common/pg_prng.c and pgbench.c. Same seed, same numbers, so pgbench
//! itself is the oracle of the tests.

use std::f64::consts::PI;

/// A seedable generator; one a client, so that every arm sees the same sequence of keys.
#[derive(Debug, Clone)]
pub struct Random {
    s0: u64,
    s1: u64,
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Random {
    /// The generator `pg_prng_seed(seed)` makes.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let s0 = splitmix64(&mut state);
        let s1 = splitmix64(&mut state);
        if s0 == 0 && s1 == 0 {
            // The one state a xoroshiro cannot leave.
            return Self {
                s0: 0x5851_F42D_4C95_7F2D,
                s1: 0x1405_7B7E_F767_814F,
            };
        }
        Self { s0, s1 }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s0 = self.s0;
        let sx = self.s1 ^ s0;
        let value = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        self.s0 = s0.rotate_left(24) ^ sx ^ (sx << 16);
        self.s1 = sx.rotate_left(37);
        value
    }

    /// Uniform over 0..=range, by bitmask with rejection.
    #[inline]
    pub(crate) fn offset(&mut self, range: u64) -> u64 {
        if range == 0 {
            return 0;
        }
        let shift = range.leading_zeros();
        loop {
            let value = self.next_u64() >> shift;
            if value <= range {
                return value;
            }
        }
    }

    /// Uniform over lo..=hi; `lo` when the range is empty.
    #[inline]
    pub fn uniform_int(&mut self, lo: i64, hi: i64) -> i64 {
        if hi <= lo {
            return lo;
        }
        lo.wrapping_add(self.offset(hi.wrapping_sub(lo) as u64) as i64)
    }

    /// Uniform over [0, 1) with 52 bits.
    #[inline]
    pub fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 * (1.0 / (1u64 << 52) as f64)
    }

    /// Box–Muller, as `pg_prng_double_normal`.
    fn normal(&mut self) -> f64 {
        let u1 = 1.0 - self.uniform_f64();
        let u2 = 1.0 - self.uniform_f64();
        (-2.0 * u1.ln()).sqrt() * (2.0 * PI * u2).sin()
    }

    /// Truncated normal over lo..=hi; `parameter` standard deviations fit on each side.
    pub(crate) fn gaussian(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        let deviate = loop {
            let deviate = self.normal();
            if deviate >= -parameter && deviate < parameter {
                break deviate;
            }
        };
        within(lo, hi, (deviate + parameter) / (parameter * 2.0))
    }

    /// Truncated exponential over lo..=hi.
    pub(crate) fn exponential(&mut self, lo: i64, hi: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.uniform_f64();
        within(lo, hi, -(cut + (1.0 - cut) * uniform).ln() / parameter)
    }

    /// Zipf over lo..=hi by rejection (Devroye, Non-Uniform Random Variate Generation, p. 550).
    pub(crate) fn zipfian(&mut self, lo: i64, hi: i64, s: f64) -> i64 {
        let n = hi - lo + 1;
        if n <= 1 {
            return lo;
        }
        let b = 2.0_f64.powf(s - 1.0);
        loop {
            let u = self.uniform_f64();
            let v = self.uniform_f64();
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= n as f64 {
                return lo - 1 + x as i64;
            }
        }
    }
}

fn within(lo: i64, hi: i64, fraction: f64) -> i64 {
    lo + ((hi - lo + 1) as f64 * fraction) as i64
}
