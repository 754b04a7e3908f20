//! Judges a page as it lies on disk: sound, or what is wrong with it.

use crate::checksum::page_checksums;
use crate::header::{is_all_zero, Header};
use crate::lanes::Kernel;

/// What is wrong with a block, or with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The checksum of the content is not the one in the header.
    Checksum,
    /// The checksum is right or not checked, but the server would refuse the header.
    Header,
    /// The page is empty by its header, and it is not.
    NotEmpty,
    /// The file ends within the page.
    Short,
    /// The operating system could not read it.
    Unreadable,
    /// The page's LSN is lower than the one it had at an earlier scrub.
    Backwards,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Header => "header",
            Self::NotEmpty => "not empty",
            Self::Short => "short",
            Self::Unreadable => "unreadable",
            Self::Backwards => "backwards",
        }
    }
}

/// A page that is not sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    pub fault: Fault,
    /// The checksum of its content.
    pub expected: u16,
    /// The checksum in its header.
    pub found: u16,
    pub lsn: u64,
    /// The LSN at an earlier scrub, of a page that went backwards.
    pub before: u64,
}

/// How pages of a cluster are judged.
#[derive(Debug, Clone, Copy)]
pub struct Judge {
    pub kernel: Kernel,
    pub page_bytes: usize,
    /// Whether the pages carry checksums.
    pub checksums: bool,
}

impl Judge {
    /// Judges one page as block `block` of its fork; None: it is sound, or empty.
    pub fn page(&self, page: &[u8], block: u32) -> Option<Wrong> {
        let mut computed = Vec::with_capacity(1);
        if self.checksums {
            page_checksums(self.kernel, page, self.page_bytes, block, &mut computed);
        }
        self.compared(page, computed.first().copied())
    }

    /// Judges the whole pages of `buffer`, which begins with block `first`; `wrong` gets (index of
    /// the page in the buffer, what is wrong). `computed` is room for checksums. Returns how many
    /// are all zeroes: sound, and not to be told from pages that were lost.
    pub fn pages(
        &self,
        buffer: &[u8],
        first: u32,
        computed: &mut Vec<u16>,
        mut wrong: impl FnMut(usize, Wrong),
    ) -> u64 {
        computed.clear();
        if self.checksums {
            page_checksums(self.kernel, buffer, self.page_bytes, first, computed);
        }
        let mut empty = 0;
        for (index, page) in buffer.chunks_exact(self.page_bytes).enumerate() {
            match self.compared(page, computed.get(index).copied()) {
                Some(found) => wrong(index, found),
                None => empty += u64::from(Header::of(page).is_new()),
            }
        }
        empty
    }

    fn compared(&self, page: &[u8], computed: Option<u16>) -> Option<Wrong> {
        let header = Header::of(page);
        let wrong = |fault| Wrong {
            fault,
            expected: computed.unwrap_or(header.checksum),
            found: header.checksum,
            lsn: header.lsn,
            before: 0,
        };
        if header.is_new() {
            return (!is_all_zero(page)).then(|| wrong(Fault::NotEmpty));
        }
        if computed.is_some_and(|checksum| checksum != header.checksum) {
            return Some(wrong(Fault::Checksum));
        }
        header
            .insanity(self.page_bytes)
            .map(|_| wrong(Fault::Header))
    }
}
