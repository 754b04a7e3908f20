//! Times a scheme over many pages: how much of a core it takes to write and to read them.

use std::hint::black_box;
use std::time::Instant;

use crate::algorithm::{Place, Scheme};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// What is computed when a page is written.
    Write,
    /// What is computed when it is read.
    Read,
}

/// What the work on some bytes took.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub bytes: u64,
    pub nanoseconds: u64,
    /// Ticks of the processor's time stamp counter, which runs at its nominal frequency; 0 where
    /// there is none.
    pub ticks: u64,
}

/// Does the work once for every page of `buffer`, `rounds` times. The pages are sealed by it.
pub fn timed(
    scheme: Scheme,
    work: Work,
    buffer: &mut [u8],
    page_bytes: usize,
    rounds: u32,
) -> Cost {
    let place = |number: usize| Place {
        relation: 16_384,
        block: number as u32,
    };
    for (number, page) in buffer.chunks_exact_mut(page_bytes).enumerate() {
        // Torn-page bits are put back by a reader; these are what was there, so that every round
        // reads the same page.
        page.chunks_exact_mut(512)
            .for_each(|sector| sector[511] = sector[511] & !0b11 | 0b01);
        scheme.seal(page, place(number), 0);
    }
    let (began, ticks) = (Instant::now(), ticks_now());
    let mut accepted = 0u64;
    for round in 0..rounds {
        for (number, page) in buffer.chunks_exact_mut(page_bytes).enumerate() {
            match work {
                Work::Write => scheme.seal(black_box(page), place(number), round),
                Work::Read => accepted += u64::from(scheme.open(black_box(page), place(number))),
            }
        }
    }
    black_box(accepted);
    Cost {
        bytes: buffer.len() as u64 * u64::from(rounds),
        nanoseconds: began.elapsed().as_nanos() as u64,
        ticks: ticks_now().wrapping_sub(ticks),
    }
}

fn ticks_now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter that every such processor has.
    #[allow(unused_unsafe)]
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}
