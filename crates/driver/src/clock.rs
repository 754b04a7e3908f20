//! Reads the two clocks of the driver, monotonic time and the processor time of this process, and
//! waits for a time.

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to fill. Both clocks exist on Linux, so the
    // result needs no look: it is 0 for a valid clock and a valid address.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds: what Python's `time.monotonic_ns` reads too.
#[inline]
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// User and system time of all threads of this process, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// How long before its time a thread wakes up; the rest is spun, since timers expire late.
const SPUN_NS: u64 = 50_000;

/// Returns at `time_ns` of CLOCK_MONOTONIC, or at once where that is past.
pub fn wait_until(time_ns: u64) {
    let wake_ns = time_ns.saturating_sub(SPUN_NS);
    let wake = libc::timespec {
        tv_sec: (wake_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (wake_ns % 1_000_000_000) as libc::c_long,
    };
    while now_ns() < wake_ns {
        // SAFETY: `wake` is a valid timespec, and no remaining time is asked for. A signal ends the
        // call early, which the loop sees.
        unsafe {
            let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
            libc::clock_nanosleep(clock, absolute, &wake, std::ptr::null_mut());
        }
    }
    while now_ns() < time_ns {
        std::hint::spin_loop();
    }
}
