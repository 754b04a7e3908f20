//! Computes the sums with SSE2, AVX2 and AVX-512.
#![allow(unused_unsafe)] // newer compilers know more intrinsics to be safe

/// Baseline of the architecture. It has no 32-bit multiplication: two 64-bit ones make one.
pub mod sse2 {
    use crate::lanes::{first_row, write_folds, OFFSETS, PRIME, ROW_BYTES};
    use std::arch::x86_64::*;

    #[inline]
    unsafe fn zero() -> __m128i {
        unsafe { _mm_setzero_si128() }
    }

    #[inline]
    unsafe fn load(at: *const u8) -> __m128i {
        unsafe { _mm_loadu_si128(at.cast()) }
    }

    #[inline]
    unsafe fn step(sum: __m128i, words: __m128i) -> __m128i {
        const LOW_WORDS: i32 = 0b1000; // of both products, brought to the front
        unsafe {
            let prime = _mm_set1_epi32(PRIME as i32);
            let mixed = _mm_xor_si128(sum, words);
            let even = _mm_mul_epu32(mixed, prime);
            let odd = _mm_mul_epu32(_mm_srli_epi64(mixed, 32), prime);
            let product = _mm_unpacklo_epi32(
                _mm_shuffle_epi32(even, LOW_WORDS),
                _mm_shuffle_epi32(odd, LOW_WORDS),
            );
            _mm_xor_si128(product, _mm_srli_epi32(mixed, 17))
        }
    }

    unsafe fn fold_vectors(sums: &[__m128i]) -> u32 {
        let mut words = [0u32; 4];
        unsafe {
            let all = sums
                .iter()
                .fold(zero(), |all, sum| _mm_xor_si128(all, *sum));
            _mm_storeu_si128(words.as_mut_ptr().cast(), all);
        }
        words.iter().fold(0, |fold, word| fold ^ word)
    }

    write_folds!("sse2", __m128i, 4);
}

/// Four vectors a page.
pub mod avx2 {
    use crate::lanes::{first_row, write_folds, OFFSETS, PRIME, ROW_BYTES};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn zero() -> __m256i {
        unsafe { _mm256_setzero_si256() }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(at: *const u8) -> __m256i {
        unsafe { _mm256_loadu_si256(at.cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step(sum: __m256i, words: __m256i) -> __m256i {
        unsafe {
            let mixed = _mm256_xor_si256(sum, words);
            let product = _mm256_mullo_epi32(mixed, _mm256_set1_epi32(PRIME as i32));
            _mm256_xor_si256(product, _mm256_srli_epi32(mixed, 17))
        }
    }

    #[target_feature(enable = "avx2")]
    unsafe fn fold_vectors(sums: &[__m256i]) -> u32 {
        let mut words = [0u32; 8];
        unsafe {
            let mut all = zero();
            for sum in sums {
                all = _mm256_xor_si256(all, *sum);
            }
            _mm256_storeu_si256(words.as_mut_ptr().cast(), all);
        }
        words.iter().fold(0, |fold, word| fold ^ word)
    }

    write_folds!("avx2", __m256i, 8);
}

/// Two vectors a page.
#[cfg(stable_avx512)]
#[allow(clippy::incompatible_msrv)] // build.rs has checked the compiler
pub mod avx512 {
    use crate::lanes::{first_row, write_folds, OFFSETS, PRIME, ROW_BYTES};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> __m512i {
        unsafe { _mm512_setzero_si512() }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(at: *const u8) -> __m512i {
        unsafe { _mm512_loadu_si512(at.cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn step(sum: __m512i, words: __m512i) -> __m512i {
        unsafe {
            let mixed = _mm512_xor_si512(sum, words);
            let product = _mm512_mullo_epi32(mixed, _mm512_set1_epi32(PRIME as i32));
            _mm512_xor_si512(product, _mm512_srli_epi32::<17>(mixed))
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn fold_vectors(sums: &[__m512i]) -> u32 {
        let mut words = [0u32; 16];
        unsafe {
            let mut all = zero();
            for sum in sums {
                all = _mm512_xor_si512(all, *sum);
            }
            _mm512_storeu_si512(words.as_mut_ptr().cast(), all);
        }
        words.iter().fold(0, |fold, word| fold ^ word)
    }

    write_folds!("avx512f", __m512i, 16);
}
