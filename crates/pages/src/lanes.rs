//! Computes the 32 sums of a page checksum with the vectors that the processor has.
//!
//! One page is 64 dependent steps, so a kernel takes several pages at a time: while one waits for
//! its multiplication, the next goes on.

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

pub const LANES: usize = 32;
/// Bytes of one row of the table that a page is read as.
pub const ROW_BYTES: usize = LANES * 4;
pub const PRIME: u32 = 16_777_619;
/// Bytes of the page header that hold `pd_checksum`; they count as zero.
pub const CHECKSUM_AT: usize = 8;
/// Pages that a kernel sums side by side.
pub const SIDE_BY_SIDE: usize = 4;

/// The start value of each lane (checksumBaseOffsets of storage/checksum_impl.h).
#[rustfmt::skip]
pub const OFFSETS: [u32; LANES] = [
    0x5B1F_36E9, 0xB852_5960, 0x02AB_50AA, 0x1DE6_6D2A, 0x79FF_467A, 0x9BB9_F8A3, 0x217E_7CD2,
    0x83E1_3D2C, 0xF8D4_474F, 0xE39E_B970, 0x42C6_AE16, 0x9932_16FA, 0x7B09_3B5D, 0x98DA_FF3C,
    0xF718_902A, 0x0B1C_9CDB, 0xE58F_764B, 0x1876_36BC, 0x5D7B_3BB1, 0xE73D_E7DE, 0x92BE_C979,
    0xCCA6_C0B2, 0x304A_0979, 0x85AA_43D4, 0x7831_25BB, 0x6CA8_EAA2, 0xE407_EAC6, 0x4B5C_FC3E,
    0x9FBF_8C76, 0x15CA_20BE, 0xF2CA_9FD3, 0x959B_D756,
];

/// A way to compute the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    Scalar,
    Sse2,
    Avx2,
    Avx512,
    Neon,
}

impl Kernel {
    pub const ALL: [Self; 5] = [
        Self::Scalar,
        Self::Sse2,
        Self::Avx2,
        Self::Avx512,
        Self::Neon,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse2 => "SSE2",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
            Self::Neon => "NEON",
        }
    }

    /// Whether this processor, and the compiler that built this, have it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(all(target_arch = "x86_64", stable_avx512))]
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    /// The widest that is available.
    pub fn best() -> Self {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(|| {
            let widest = [Self::Avx512, Self::Avx2, Self::Neon, Self::Sse2];
            let found = widest.into_iter().find(|kernel| kernel.is_available());
            found.unwrap_or(Self::Scalar)
        })
    }

    /// The 32 sums of each page folded into one word, before the block number is mixed in.
    ///
    /// Every page has a multiple of 128 bytes, at least one row. Panics when the kernel is not
    /// available here, or a page is shorter than the first.
    pub fn folds(self, pages: [&[u8]; SIDE_BY_SIDE]) -> [u32; SIDE_BY_SIDE] {
        assert!(self.is_available(), "{} is not available", self.name());
        let length = pages[0].len();
        assert!(length >= ROW_BYTES && length % ROW_BYTES == 0);
        assert!(pages.iter().all(|page| page.len() == length));
        match self {
            // SAFETY: the processor has the feature, and all pages have `length` bytes.
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => unsafe { x86::sse2::folds(pages) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::folds(pages) },
            #[cfg(all(target_arch = "x86_64", stable_avx512))]
            Self::Avx512 => unsafe { x86::avx512::folds(pages) },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { arm::folds(pages) },
            _ => pages.map(scalar_fold),
        }
    }

    /// The same of one page alone.
    pub fn fold(self, page: &[u8]) -> u32 {
        assert!(self.is_available(), "{} is not available", self.name());
        assert!(page.len() >= ROW_BYTES && page.len() % ROW_BYTES == 0);
        match self {
            // SAFETY: the processor has the feature, and the page has whole rows.
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => unsafe { x86::sse2::folds([page])[0] },
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::avx2::folds([page])[0] },
            #[cfg(all(target_arch = "x86_64", stable_avx512))]
            Self::Avx512 => unsafe { x86::avx512::folds([page])[0] },
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { arm::folds([page])[0] },
            _ => scalar_fold(page),
        }
    }
}

/// The first row of a page with its checksum counted as zero.
#[inline(always)]
pub(crate) fn first_row(page: &[u8]) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row.copy_from_slice(&page[..ROW_BYTES]);
    row[CHECKSUM_AT] = 0;
    row[CHECKSUM_AT + 1] = 0;
    row
}

/// One step of one lane: FNV-1a with a shift that lets high bits reach low ones.
#[inline(always)]
pub fn mix(sum: u32, word: u32) -> u32 {
    let mixed = sum ^ word;
    mixed.wrapping_mul(PRIME) ^ (mixed >> 17)
}

/// The textbook version: what all others must equal.
fn scalar_fold(page: &[u8]) -> u32 {
    let mut sums = OFFSETS;
    add_row(&mut sums, &first_row(page));
    for row in page[ROW_BYTES..].chunks_exact(ROW_BYTES) {
        add_row(&mut sums, row);
    }
    for _ in 0..2 {
        add_row(&mut sums, &[0; ROW_BYTES]);
    }
    sums.iter().fold(0, |fold, sum| fold ^ sum)
}

#[inline(always)]
fn add_row(sums: &mut [u32; LANES], row: &[u8]) {
    for (sum, word) in sums.iter_mut().zip(row.chunks_exact(4)) {
        *sum = mix(
            *sum,
            u32::from_ne_bytes([word[0], word[1], word[2], word[3]]),
        );
    }
}

/// Writes `folds` for one kind of vector; `load`, `step` and `fold` are its own.
macro_rules! write_folds {
    ($feature:literal, $vector:ty, $width:literal) => {
        /// Needs the processor's feature, and pages of one length, a multiple of 128 bytes.
        #[target_feature(enable = $feature)]
        pub unsafe fn folds<const PAGES: usize>(pages: [&[u8]; PAGES]) -> [u32; PAGES] {
            const VECTORS: usize = $crate::lanes::LANES / $width;
            const VECTOR_BYTES: usize = $width * 4;
            // SAFETY: loads stay inside OFFSETS, a row, or a page of `rows` rows.
            unsafe {
                let mut start: [$vector; VECTORS] = [zero(); VECTORS];
                for (v, vector) in start.iter_mut().enumerate() {
                    *vector = load(OFFSETS.as_ptr().cast::<u8>().add(v * VECTOR_BYTES));
                }
                let mut sums = [start; PAGES];
                for (page, sums) in pages.iter().zip(&mut sums) {
                    let row = first_row(page);
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = step(*sum, load(row.as_ptr().add(v * VECTOR_BYTES)));
                    }
                }
                for row in 1..pages[0].len() / ROW_BYTES {
                    for (page, sums) in pages.iter().zip(&mut sums) {
                        let at = page.as_ptr().add(row * ROW_BYTES);
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = step(*sum, load(at.add(v * VECTOR_BYTES)));
                        }
                    }
                }
                let mut folds = [0; PAGES];
                for (fold, sums) in folds.iter_mut().zip(&mut sums) {
                    for sum in sums.iter_mut() {
                        *sum = step(step(*sum, zero()), zero());
                    }
                    *fold = fold_vectors(sums);
                }
                folds
            }
        }
    };
}
pub(crate) use write_folds;
