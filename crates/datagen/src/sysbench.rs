//! Generates the table of sysbench's oltp_* scripts: a key, an indexed number, and two texts.
//!
//! Counts, types and distributions are those of sysbench 1.0; the rows are our own.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ROWS_PER_SCALE: i64 = 1_000;
/// Numbers are `integer` in sysbench's table.
const MAX_SCALE: i64 = 2_000_000;
/// Groups of eleven digits with a dash between each two.
const LENGTH_OF_C: usize = 10 * 12 - 1;
const LENGTH_OF_PAD: usize = 5 * 12 - 1;

/// How sysbench draws numbers (--rand-type), with the parameters that it has by default.
#[derive(Debug, Clone, Copy)]
enum Distribution {
    Uniform,
    Gaussian,
    Special,
    Pareto,
}

impl Distribution {
    fn of(given: &Parameters) -> Result<Self, String> {
        match given.options.get("rand").map_or("special", String::as_str) {
            "uniform" => Ok(Self::Uniform),
            "gaussian" => Ok(Self::Gaussian),
            "special" => Ok(Self::Special),
            "pareto" => Ok(Self::Pareto),
            other => Err(format!("there is no distribution \"{other}\"")),
        }
    }

    /// From 1 to `high`.
    fn draw(self, random: &mut Random, high: i64) -> i64 {
        match self {
            Self::Uniform => random.between(1, high),
            Self::Gaussian => bell(random, high),
            Self::Special if random.once_in(4) => bell(random, high),
            Self::Special => {
                // The hundredth of all numbers that is in the middle: --rand-spec-pct, -res.
                let width = (high / 100).max(1);
                let first = (high - width) / 2 + 1;
                random.between(first, first + width - 1)
            }
            Self::Pareto => {
                let power = 0.2f64.ln() / 0.8f64.ln();
                1 + (random.unit().powf(power) * high as f64) as i64
            }
        }
    }
}

/// The mean of twelve uniform numbers (--rand-spec-iter).
fn bell(random: &mut Random, high: i64) -> i64 {
    let sum: f64 = (0..12).map(|_| random.unit()).sum();
    1 + (sum / 12.0 * high as f64) as i64
}

/// Digits with a dash after each eleven, into `space`.
fn groups<'a>(random: &mut Random, space: &'a mut [u8]) -> &'a [u8] {
    for group in space.chunks_mut(12) {
        let mut rest = random.between(0, 99_999_999_999);
        let (digits, dash) = group.split_at_mut(11);
        for digit in digits {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        dash.fill(b'-');
    }
    space
}

/// The rows of `sbtest1`.
pub fn source<E: Encoder>(
    table: &str,
    given: &Parameters,
) -> Result<Option<Box<dyn Source<E>>>, String> {
    if table != "sbtest1" {
        return Ok(None);
    }
    let (seed, scale) = (given.seed, given.scale);
    if !(1..=MAX_SCALE).contains(&scale) {
        return Err(format!("scale must be 1 to {MAX_SCALE}, not {scale}"));
    }
    let distribution = Distribution::of(given)?;
    let high = scale * ROWS_PER_SCALE;
    Ok(Some(Box::new(ByRow {
        rows: high as u64,
        width: 200,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(seed, 1, row);
            out.start_row(4);
            out.int4(row as i32 + 1);
            out.int4(distribution.draw(&mut random, high) as i32);
            out.text(groups(&mut random, &mut [0; LENGTH_OF_C]));
            out.text(groups(&mut random, &mut [0; LENGTH_OF_PAD]));
        },
    })))
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Random};

    #[test]
    fn three_quarters_and_more_of_special_numbers_are_in_the_middle_hundredth() {
        let mut random = Random::of(1, 2, 3);
        let drawn: Vec<i64> = (0..100_000)
            .map(|_| Distribution::Special.draw(&mut random, 10_000))
            .collect();
        assert!(drawn.iter().all(|n| (1..=10_000).contains(n)));
        let middle = drawn.iter().filter(|n| (4_951..=5_050).contains(*n));
        // A bell of standard deviation 1/12 has 4.8 % of its quarter there as well.
        let share = middle.count() as f64 / drawn.len() as f64;
        assert!((0.755..0.77).contains(&share), "{share}");
    }

    #[test]
    fn four_fifths_of_pareto_numbers_are_in_the_first_fifth() {
        let mut random = Random::of(1, 2, 3);
        let first = (0..100_000)
            .filter(|_| Distribution::Pareto.draw(&mut random, 10_000) <= 2_000)
            .count();
        assert!((79_000..81_000).contains(&first), "{first}");
    }
}
