//! Computes CRC-32C (Castagnoli) as PostgreSQL's port/pg_crc32c does: initial value and final XOR
//! all ones.

use std::sync::OnceLock;

const POLYNOMIAL_REFLECTED: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL_REFLECTED
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The CRC-32C of `bytes`. A table by bytes is enough for a control file of 300 bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.add(bytes);
    crc.finish()
}

/// The CRC-32C of the bytes behind `crc`, by the processor's own instruction where it has one.
pub fn crc32c_after(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return !unsafe { by_instruction(!crc, bytes) };
    }
    let mut sum = Crc32c(!crc);
    sum.add(bytes);
    sum.finish()
}

/// Three stretches side by side: the instruction takes three cycles, and one can begin in each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
unsafe fn by_instruction(crc: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u64, _mm_crc32_u8};
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut crc = u64::from(crc);
    let mut rest = bytes;
    while rest.len() >= 3 * STRETCH_BYTES {
        let (first, more) = rest.split_at(STRETCH_BYTES);
        let (second, more) = more.split_at(STRETCH_BYTES);
        let (third, more) = more.split_at(STRETCH_BYTES);
        let (mut b, mut c) = (0, 0);
        let words = first
            .chunks_exact(8)
            .zip(second.chunks_exact(8))
            .zip(third.chunks_exact(8));
        for ((x, y), z) in words {
            crc = _mm_crc32_u64(crc, word(x));
            b = _mm_crc32_u64(b, word(y));
            c = _mm_crc32_u64(c, word(z));
        }
        let tables = behind_a_stretch();
        crc = u64::from(moved(tables, moved(tables, crc as u32) ^ b as u32)) ^ c;
        rest = more;
    }
    let mut words = rest.chunks_exact(8);
    for bytes in &mut words {
        crc = _mm_crc32_u64(crc, word(bytes));
    }
    let last = words.remainder().iter();
    last.fold(crc as u32, |crc, byte| _mm_crc32_u8(crc, *byte))
}

/// A third of what of an 8 kB page lies behind its header's first 16 bytes, in words of 8 bytes.
const STRETCH_BYTES: usize = 2720;

/// What each byte of a CRC becomes when a stretch of zeroes follows it.
fn behind_a_stretch() -> &'static [[u32; 256]; 4] {
    static TABLES: OnceLock<[[u32; 256]; 4]> = OnceLock::new();
    TABLES.get_or_init(|| {
        let zeroes = |crc: u32| {
            (0..STRETCH_BYTES).fold(crc, |crc, _| (crc >> 8) ^ TABLE[(crc & 0xff) as usize])
        };
        let bits: [u32; 32] = std::array::from_fn(|bit| zeroes(1 << bit));
        std::array::from_fn(|place| {
            std::array::from_fn(|byte| {
                let set = (0..8).filter(|bit| byte >> bit & 1 == 1);
                set.fold(0, |sum, bit| sum ^ bits[place * 8 + bit])
            })
        })
    })
}

fn moved(tables: &[[u32; 256]; 4], crc: u32) -> u32 {
    let bytes = crc.to_le_bytes();
    (0..4).fold(0, |sum, place| {
        sum ^ tables[place][usize::from(bytes[place])]
    })
}

/// A CRC-32C of bytes that come one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Crc32c(u32);

impl Crc32c {
    pub fn new() -> Self {
        Self(u32::MAX)
    }

    pub fn add(&mut self, bytes: &[u8]) {
        let fold =
            |crc: u32, byte: &u8| (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize];
        self.0 = bytes.iter().fold(self.0, fold);
    }

    pub fn finish(&self) -> u32 {
        !self.0
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}
