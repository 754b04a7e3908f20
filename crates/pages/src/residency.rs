//! Finds which parts of a file the page cache held before a scan, so that only the rest is dropped.
//!
//! Of a stretch alone: an archive of a terabyte has many thousands of them, and is looked at once.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;

use rustix::fs::{fadvise, Advice};

/// One byte a memory page of a stretch: bit 0 is set where the page was in the cache.
pub struct Residency {
    pages: Vec<u8>,
    /// Which memory page of the file the first one is.
    first: u64,
    page_bytes: u64,
}

impl Residency {
    /// Looks at a file between two offsets; None where the kernel gives no answer.
    ///
    /// mincore(2) answers truthfully only to the owner of the file and to users who may write to
    /// it; to others all of it seems to be cached, and then nothing is dropped.
    pub fn of(file: &File, from: u64, to: u64) -> Option<Self> {
        let page_bytes = rustix::param::page_size() as u64;
        let first = from / page_bytes;
        let begin = first * page_bytes;
        let bytes = to.checked_sub(begin).filter(|bytes| *bytes > 0)?;
        let length = usize::try_from(bytes).ok()?;
        let start = libc::off_t::try_from(begin).ok()?;
        if cached_pages(file, begin, bytes).is_some_and(|n| n >= bytes.div_ceil(page_bytes)) {
            return None; // all of it: nothing is to be dropped
        }
        let mut pages = vec![0u8; bytes.div_ceil(page_bytes) as usize];
        // SAFETY: a mapping of our own that is never touched, and a vector with a byte a page.
        let done = unsafe {
            let mapped = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                start,
            );
            if mapped == libc::MAP_FAILED {
                return None;
            }
            let done = libc::mincore(mapped, length, pages.as_mut_ptr().cast());
            libc::munmap(mapped, length);
            done
        };
        (done == 0).then_some(Self {
            pages,
            first,
            page_bytes,
        })
    }

    /// Whether nothing between two offsets was in the cache.
    pub fn is_absent(&self, from: u64, to: u64) -> bool {
        self.in_range(from, to).iter().all(|page| page & 1 == 0)
    }

    /// Drops from the cache what was not in it before, between two offsets.
    pub fn drop_behind(&self, file: &File, from: u64, to: u64) {
        let mut at = (from / self.page_bytes).max(self.first);
        for run in self.in_range(from, to).chunk_by(|a, b| a & 1 == b & 1) {
            let length = run.len() as u64;
            if run[0] & 1 == 0 {
                advise(
                    file,
                    at * self.page_bytes,
                    length * self.page_bytes,
                    Advice::DontNeed,
                );
            }
            at += length;
        }
    }

    fn in_range(&self, from: u64, to: u64) -> &[u8] {
        let inside = |page: u64| page.saturating_sub(self.first) as usize;
        let last = inside(to.div_ceil(self.page_bytes)).min(self.pages.len());
        let first = inside(from / self.page_bytes).min(last);
        &self.pages[first..last]
    }
}

/// How many pages of a stretch are cached, by cachestat(2) of Linux 6.5, which is quicker than
/// mincore(2); None where the kernel does not have it, or gives no answer.
fn cached_pages(file: &File, from: u64, bytes: u64) -> Option<u64> {
    // The same number on every architecture.
    const CACHESTAT: libc::c_long = 451;
    let range = [from, bytes];
    // Cached, dirty, under write-back, evicted, recently evicted.
    let mut counts = [0u64; 5];
    // SAFETY: both structures have the size that the kernel expects, and outlive the call.
    let done = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            counts.as_mut_ptr(),
            0,
        )
    };
    (done == 0).then_some(counts[0])
}

/// Tells the kernel what will be done with a part of a file; it is advice, and may be ignored.
pub fn advise(file: &File, offset: u64, length: u64, advice: Advice) {
    let _ = fadvise(file, offset, NonZeroU64::new(length), advice);
}
