//! Counts the bytes that are allocated and not freed, and lets the process open many files.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

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
    let files = files as u64;
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    if limit.current.map_or(true, |current| current >= files) {
        return true;
    }
    let raised = Rlimit {
        current: Some(files),
        maximum: limit.maximum.map(|maximum| maximum.max(files)),
    };
    let may = setrlimit(Resource::Nofile, raised).is_ok();
    if !may {
        eprintln!("skipped: this needs `ulimit -Hn {files}`");
    }
    may
}
