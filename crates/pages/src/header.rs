//! Reads the header of a page, and checks whether it could be one (PostgreSQL's storage/bufpage.h).

/// Bytes of a page header (SizeOfPageHeaderData).
pub const HEADER_BYTES: usize = 24;
/// `PD_VALID_FLAG_BITS`.
const VALID_FLAGS: u16 = 0x0007;
/// `MAXIMUM_ALIGNOF` of every 64-bit platform.
const ALIGNMENT: usize = 8;

/// The fields of a page header that a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub lsn: u64,
    pub checksum: u16,
    pub flags: u16,
    pub lower: u16,
    pub upper: u16,
    pub special: u16,
    pub size_and_version: u16,
}

impl Header {
    /// Reads the header at the beginning of `page`, which has at least 24 bytes.
    pub fn of(page: &[u8]) -> Self {
        let half = |at: usize| u16::from_ne_bytes([page[at], page[at + 1]]);
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 2)) << 16;
        // An LSN on a page is two words, the high one first, whatever the byte order.
        let (high, low) = if cfg!(target_endian = "little") {
            (word(0), word(4))
        } else {
            (word(0).rotate_left(16), word(4).rotate_left(16))
        };
        Self {
            lsn: (high & 0xffff_ffff) << 32 | (low & 0xffff_ffff),
            checksum: half(8),
            flags: half(10),
            lower: half(12),
            upper: half(14),
            special: half(16),
            size_and_version: half(18),
        }
    }

    /// `PageIsNew`: nothing was ever put on the page, by its header.
    pub fn is_new(&self) -> bool {
        self.upper == 0
    }

    /// What the server would find insane in it (PageIsVerified); None: it is sane.
    pub fn insanity(&self, page_bytes: usize) -> Option<&'static str> {
        let special = usize::from(self.special);
        if self.flags & !VALID_FLAGS != 0 {
            Some("unknown flags")
        } else if self.lower > self.upper {
            Some("free space ends before it begins")
        } else if self.upper > self.special {
            Some("special space begins within the tuples")
        } else if special > page_bytes {
            Some("special space begins behind the page")
        } else if special % ALIGNMENT != 0 {
            Some("special space is not aligned")
        } else {
            None
        }
    }
}

/// Whether every byte is zero.
pub fn is_all_zero(bytes: &[u8]) -> bool {
    // SAFETY: any bytes are a valid u64.
    let (head, words, tail) = unsafe { bytes.align_to::<u64>() };
    head.iter().chain(tail).all(|byte| *byte == 0)
        && words
            .chunks(64)
            .all(|chunk| chunk.iter().fold(0, |any, word| any | word) == 0)
}
