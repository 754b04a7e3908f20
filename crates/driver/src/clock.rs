//! Reads the two clocks of the driver: monotonic time, and the processor time of this process.

use rustix::time::{clock_gettime, ClockId};

#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CLOCK_MONOTONIC in nanoseconds: what Python's `time.monotonic_ns` reads too.
#[inline]
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// User and system time of all threads of this process, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}
