//! The checksum of a data page (PostgreSQL's storage/checksum_impl.h).
//!
//! 32 FNV-1a-like sums run side by side over the columns of a 64 × 32 table of words; two rounds
//! of zeroes mix the last words; the sums and the block number are folded by XOR and brought
//! into 1 … 65535. A stored 0 therefore means "written without checksums", or damage.

/// The page size every common build has, and the only one read here.
pub const PAGE_BYTES: usize = 8192;

const LANES: usize = 32;
const PRIME: u32 = 16_777_619;
/// Bytes of the page header that hold `pd_checksum`; they count as zero.
const CHECKSUM_AT: usize = 8;

/// The start value of each lane (checksumBaseOffsets).
const OFFSETS: [u32; LANES] = [
    0x5B1F_36E9,
    0xB852_5960,
    0x02AB_50AA,
    0x1DE6_6D2A,
    0x79FF_467A,
    0x9BB9_F8A3,
    0x217E_7CD2,
    0x83E1_3D2C,
    0xF8D4_474F,
    0xE39E_B970,
    0x42C6_AE16,
    0x9932_16FA,
    0x7B09_3B5D,
    0x98DA_FF3C,
    0xF718_902A,
    0x0B1C_9CDB,
    0xE58F_764B,
    0x1876_36BC,
    0x5D7B_3BB1,
    0xE73D_E7DE,
    0x92BE_C979,
    0xCCA6_C0B2,
    0x304A_0979,
    0x85AA_43D4,
    0x7831_25BB,
    0x6CA8_EAA2,
    0xE407_EAC6,
    0x4B5C_FC3E,
    0x9FBF_8C76,
    0x15CA_20BE,
    0xF2CA_9FD3,
    0x959B_D756,
];

#[inline(always)]
fn mix(sum: u32, word: u32) -> u32 {
    let mixed = sum ^ word;
    mixed.wrapping_mul(PRIME) ^ (mixed >> 17)
}

/// The checksum `page` should carry as block `block` of its relation fork: 1 … 65535.
///
/// `block` counts over all segments: segment × 131072 + index, with the usual 1 GiB segments.
pub fn page_checksum(page: &[u8; PAGE_BYTES], block: u32) -> u16 {
    let mut sums = OFFSETS;
    for (row, words) in page.chunks_exact(LANES * 4).enumerate() {
        for (lane, (sum, word)) in sums.iter_mut().zip(words.chunks_exact(4)).enumerate() {
            let mut value = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            if row == 0 && lane == CHECKSUM_AT / 4 {
                value = u32::from_ne_bytes([0, 0, word[2], word[3]]);
            }
            *sum = mix(*sum, value);
        }
    }
    for _ in 0..2 {
        for sum in &mut sums {
            *sum = mix(*sum, 0);
        }
    }
    let folded = sums.iter().fold(0, |fold, sum| fold ^ sum);
    ((folded ^ block) % 65_535 + 1) as u16
}

/// The checksum that stands in the header of `page`.
pub fn stored_checksum(page: &[u8; PAGE_BYTES]) -> u16 {
    u16::from_ne_bytes([page[CHECKSUM_AT], page[CHECKSUM_AT + 1]])
}
