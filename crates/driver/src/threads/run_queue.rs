//! Reads how long the calling thread was runnable without a processor, as the kernel counts it.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Time on a processor, time waiting for one, and how often: Documentation/scheduler/sched-stats.
const PATH: &str = "/proc/thread-self/schedstat";

/// The thread's own line of the scheduler's statistics, kept open.
pub struct RunQueue {
    file: Option<File>,
}

impl RunQueue {
    /// Of the thread that calls this.
    pub fn of_this_thread() -> RunQueue {
        RunQueue {
            file: File::open(PATH).ok(),
        }
    }

    /// Nanoseconds so far; None: this kernel does not count them.
    pub fn waited_ns(&self) -> Option<u64> {
        let mut line = [0; 80];
        let length = self.file.as_ref()?.read_at(&mut line, 0).ok()?;
        second(&line[..length])
    }
}

/// The second field of a line; None where it is missing, or where the first is 0: a kernel without
/// these statistics has only zeros.
fn second(line: &[u8]) -> Option<u64> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let ran_ns: u64 = fields.next()?.parse().ok()?;
    let waited_ns = fields.next()?.parse().ok()?;
    (ran_ns > 0).then_some(waited_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};

    #[test]
    fn the_second_field_is_the_time_without_a_processor() {
        assert_eq!(second(b"120 45 7\n"), Some(45));
        assert_eq!(second(b"120 0 7\n"), Some(0));
        assert_eq!(second(b"0 0 0\n"), None);
        assert_eq!(second(b""), None);
        assert_eq!(second(b"120"), None);
        assert_eq!(second(b"many 45 7"), None);
    }

    #[test]
    fn a_thread_that_shares_its_processor_waits_for_about_half_of_the_time() {
        let allowed = sched_getaffinity(None).unwrap();
        let one = (0..CpuSet::MAX_CPU).find(|&processor| allowed.is_set(processor));
        let mut processor = CpuSet::new();
        processor.set(one.unwrap());
        let done = AtomicBool::new(false);
        let waited_ns = thread::scope(|scope| {
            let busy = || {
                sched_setaffinity(None, &processor).unwrap();
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            scope.spawn(busy);
            let watched = scope.spawn(|| {
                sched_setaffinity(None, &processor).unwrap();
                let queue = RunQueue::of_this_thread();
                let before = queue.waited_ns();
                let until = Instant::now() + Duration::from_millis(300);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                done.store(true, Ordering::Relaxed);
                before.zip(queue.waited_ns())
            });
            watched.join().unwrap()
        });
        // Where the kernel does not count it there is nothing to hold it to.
        if let Some((before, after)) = waited_ns {
            assert!(after - before > 50_000_000, "{before} {after}");
        }
    }
}
