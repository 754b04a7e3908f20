//! Wakes an epoll instance or a ring at a time: set rarely, where a timeout would cost every wait.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags,
    Timespec,
};

const NEVER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A timerfd on the monotonic clock.
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Timer(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Expires once, at `at_ns` of the monotonic clock.
    pub fn set(&self, at_ns: u64) -> io::Result<()> {
        self.set_time(timespec(at_ns.max(1)))
    }

    /// Takes note of its expiry: its descriptor stays readable until then.
    pub fn acknowledge(&self) {
        // A timer that has not expired has nothing to read.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    /// Expires no more.
    pub fn disarm(&self) -> io::Result<()> {
        self.set_time(NEVER)
    }

    fn set_time(&self, it_value: Timespec) -> io::Result<()> {
        let time = Itimerspec {
            it_value,
            it_interval: NEVER,
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &time)?;
        Ok(())
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn timespec(nanoseconds: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    // Further away than a century is as good as never.
    let seconds = (nanoseconds / SECOND).min(1 << 32);
    Timespec {
        tv_sec: seconds as i64,
        tv_nsec: (nanoseconds % SECOND) as i64,
    }
}
