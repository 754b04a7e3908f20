//! A timer that wakes an epoll instance: armed once a slice, where a timeout would cost every wait.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A timerfd on the monotonic clock.
pub struct Alarm(OwnedFd);

impl Alarm {
    pub fn new() -> io::Result<Alarm> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no pointers are passed; a negative result is an error.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor to us alone.
        Ok(Alarm(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Rings at `at_ns` of the monotonic clock, and then every `again_ns` until silenced.
    pub fn set(&self, at_ns: u64, again_ns: u64) -> io::Result<()> {
        self.set_time(timespec(at_ns.max(1)), timespec(again_ns))
    }

    /// Hears it: the kernel starts a repeated timer again only when it is read.
    pub fn hear(&self) {
        let mut times = 0_u64;
        let start = std::ptr::from_mut(&mut times).cast();
        // SAFETY: eight bytes are there to be filled. A timer that has not rung fills none, and
        // then nothing is to be done.
        unsafe { libc::read(self.0.as_raw_fd(), start, size_of::<u64>()) };
    }

    /// Rings no more.
    pub fn silence(&self) -> io::Result<()> {
        self.set_time(timespec(0), timespec(0))
    }

    fn set_time(&self, it_value: libc::timespec, it_interval: libc::timespec) -> io::Result<()> {
        let time = libc::itimerspec {
            it_value,
            it_interval,
        };
        let old = std::ptr::null_mut();
        // SAFETY: `time` is valid for the call; the old value is not asked for.
        let result = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &time, old)
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

impl AsRawFd for Alarm {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn timespec(nanoseconds: u64) -> libc::timespec {
    const SECOND: u64 = 1_000_000_000;
    // Further away than a century is as good as never.
    let seconds = (nanoseconds / SECOND).min(1 << 32);
    libc::timespec {
        tv_sec: seconds as libc::time_t,
        tv_nsec: (nanoseconds % SECOND) as libc::c_long,
    }
}
