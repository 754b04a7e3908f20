//! Puts the calling thread on one processor.

use std::io;
use std::mem;

/// Pins the calling thread to `processor`.
pub fn pin_thread(processor: usize) -> io::Result<()> {
    if processor >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: an all-zero cpu_set_t is an empty set; `processor` is below CPU_SETSIZE.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        set
    };
    // SAFETY: `set` is valid for its size; thread 0 is the calling one.
    let result = unsafe { libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &set) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
