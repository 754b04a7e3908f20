//! Computes the sums with NEON, which every 64-bit ARM processor has.
#![allow(unused_unsafe)] // newer compilers know more intrinsics to be safe

use crate::lanes::{first_row, write_folds, OFFSETS, PRIME, ROW_BYTES};
use std::arch::aarch64::*;

#[inline]
#[target_feature(enable = "neon")]
unsafe fn zero() -> uint32x4_t {
    unsafe { vdupq_n_u32(0) }
}

#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(at: *const u8) -> uint32x4_t {
    unsafe { vreinterpretq_u32_u8(vld1q_u8(at)) }
}

#[inline]
#[target_feature(enable = "neon")]
unsafe fn step(sum: uint32x4_t, words: uint32x4_t) -> uint32x4_t {
    unsafe {
        let mixed = veorq_u32(sum, words);
        veorq_u32(
            vmulq_u32(mixed, vdupq_n_u32(PRIME)),
            vshrq_n_u32::<17>(mixed),
        )
    }
}

#[target_feature(enable = "neon")]
unsafe fn fold_vectors(sums: &[uint32x4_t]) -> u32 {
    let mut words = [0u32; 4];
    unsafe {
        let mut all = zero();
        for sum in sums {
            all = veorq_u32(all, *sum);
        }
        vst1q_u32(words.as_mut_ptr(), all);
    }
    words.iter().fold(0, |fold, word| fold ^ word)
}

write_folds!("neon", uint32x4_t, 4);
