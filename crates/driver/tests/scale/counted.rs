//! Counts the bytes that are allocated and not freed, and lets the process open many files.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
pub struct Counted;

// SAFETY: every call is handed on to the system's allocator; counting touches no memory of its own.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes that are allocated now.
pub fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Lets this process open so many files, where it may: the server of the tests lives in it too.
/// False: it may not, which is printed.
pub fn may_open(files: usize) -> bool {
    let files = files as libc::rlim_t;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if limit.rlim_cur >= files {
        return true;
    }
    limit.rlim_cur = files;
    limit.rlim_max = limit.rlim_max.max(files);
    // SAFETY: as above.
    let raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0;
    if !raised {
        eprintln!("skipped: this needs `ulimit -Hn {files}`");
    }
    raised
}
