//! Draws the random numbers of one client from streams of their own.
//!
//! Each has its own seed, so that a weight or a choice of scripts never moves the keys that a
//! script draws.

use steelyard_script::Random;

use crate::plan::Weight;

/// Four generators of one client; equal for the same client of every arm.
pub struct RandomStreams {
    script: Random,
    choice: Random,
    weight: Random,
    repeat: Random,
}

impl RandomStreams {
    /// The streams of a client under a plan's seed.
    pub fn new(seed: u64, client: usize) -> RandomStreams {
        let stream = |kind: u64| {
            let number = client as u64 * 4 + kind;
            Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        RandomStreams {
            script: stream(1),
            choice: stream(2),
            weight: stream(3),
            repeat: stream(4),
        }
    }

    /// Where a script draws its numbers; `repeating`: a second execution, which must not move the
    /// sequence of the first ones.
    #[inline]
    pub fn keys(&mut self, repeating: bool) -> &mut Random {
        if repeating {
            &mut self.repeat
        } else {
            &mut self.script
        }
    }

    /// The next script, by running sums of the scripts' weights.
    #[inline]
    pub fn choose(&mut self, cumulative: &[u64]) -> usize {
        let [_, .., total] = *cumulative else {
            return 0;
        };
        let drawn = self.choice.uniform_int(0, total as i64 - 1) as u64;
        cumulative.partition_point(|&sum| sum <= drawn)
    }

    /// Whether the next transaction is executed twice, and whether it is stalled.
    #[inline]
    pub fn draw(&mut self, weight: &Weight) -> (bool, bool) {
        let mut happens = |share: f64| share > 0.0 && self.weight.uniform_f64() < share;
        (happens(weight.double_work), happens(weight.stall))
    }
}
