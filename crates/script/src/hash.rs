//! Computes pgbench's hash functions and its pseudorandom permutation, bit for bit.

use crate::random::Random;

const MURMUR_MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_ROTATION: u32 = 47;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a over the eight bytes of `value`, lowest first.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let mut result = FNV_OFFSET ^ seed as u64;
    for octet in (value as u64).to_le_bytes() {
        result = (result ^ u64::from(octet)).wrapping_mul(FNV_PRIME);
    }
    result as i64
}

/// MurmurHash2, 64-bit, over the eight bytes of `value`.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    let mut k = (value as u64).wrapping_mul(MURMUR_MULTIPLIER);
    k ^= k >> MURMUR_ROTATION;
    k = k.wrapping_mul(MURMUR_MULTIPLIER);

    let mut result = seed as u64 ^ MURMUR_MULTIPLIER.wrapping_mul(8);
    result = (result ^ k).wrapping_mul(MURMUR_MULTIPLIER);
    result = (result ^ (result >> MURMUR_ROTATION)).wrapping_mul(MURMUR_MULTIPLIER);
    (result ^ (result >> MURMUR_ROTATION)) as i64
}

/// Multiply, XOR and rotate by one within `mask`: one half-round of the permutation.
fn scramble(value: u64, multiplier: u64, flip: u64, mask: u64, bits: u32) -> u64 {
    let mixed = (value.wrapping_mul(multiplier) ^ flip) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}

/// A pseudorandom permutation of 0..size (pgbench.c, `permute`): six rounds over the lower and
/// the upper power-of-two half, each followed by a random offset.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::new(seed as u64);
    let size = size as u64;
    let mut v = value as u64 % size;
    let bits = size.ilog2();
    let mask = (1u64 << bits) - 1;
    for _ in 0..6 {
        let multiplier = (random.next_u64() & mask) | 1;
        let flip = random.next_u64() & mask;
        if v <= mask {
            v = scramble(v, multiplier, flip, mask, bits);
        }
        let multiplier = (random.next_u64() & mask) | 1;
        let flip = random.next_u64() & mask;
        let mirrored = size - 1 - v;
        if mirrored <= mask {
            v = size - 1 - scramble(mirrored, multiplier, flip, mask, bits);
        }
        v = (v + random.offset(size - 1)) % size;
    }
    v as i64
}
