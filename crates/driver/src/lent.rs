//! Receive buffers lent to the kernel: shared by all connections of a ring, given back when read.
//!
//! A ring of buffer descriptors in memory that both sides see (linux/io_uring.h,
//! io_uring_buf_ring); the kernel takes a buffer only when bytes have come, so few buffers serve
//! many idle connections.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::Submitter;

/// Bytes of one buffer; longer replies take several.
pub const SIZE: usize = 4 << 10;
/// The name of the ring's only group of buffers.
pub const GROUP: u16 = 0;

/// The buffers, and the descriptors by which the kernel finds them.
pub struct Lent {
    descriptors: NonNull<BufRingEntry>,
    count: u16,
    /// How many descriptors were ever filled, as the kernel reads it.
    tail: u16,
    bytes: Vec<u8>,
}

impl Lent {
    /// `count` buffers, a power of two, all lent to the ring of `submitter`.
    pub fn new(count: u16, submitter: &Submitter<'_>) -> io::Result<Lent> {
        let length = usize::from(count) * size_of::<BufRingEntry>();
        // SAFETY: a new anonymous mapping; a failure is an error.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_ANONYMOUS | libc::MAP_PRIVATE | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let descriptors = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut lent = Lent {
            descriptors,
            count,
            tail: 0,
            bytes: vec![0; usize::from(count) * SIZE],
        };
        // SAFETY: the descriptors and the buffers live as long as `lent`, which its owner drops
        // after the ring.
        unsafe { submitter.register_buf_ring_with_flags(start as u64, count, GROUP, 0)? };
        for number in 0..count {
            lent.give_back(number);
        }
        Ok(lent)
    }

    /// What was received into a buffer.
    #[inline]
    pub fn bytes(&self, number: u16, length: usize) -> &[u8] {
        &self.bytes[usize::from(number) * SIZE..][..length]
    }

    /// Lends a buffer again.
    #[inline]
    pub fn give_back(&mut self, number: u16) {
        let buffer = self.bytes[usize::from(number) * SIZE..].as_mut_ptr();
        let free = usize::from(self.tail & (self.count - 1));
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: there are `count` descriptors, page-aligned, zeroed by the kernel and written by
        // this thread alone; the tail lies in the reserved field of the first one, and what it
        // covers is written before it is.
        unsafe {
            let descriptor = &mut *self.descriptors.as_ptr().add(free);
            descriptor.set_addr(buffer as u64);
            descriptor.set_len(SIZE as u32);
            descriptor.set_bid(number);
            let tail = BufRingEntry::tail(self.descriptors.as_ptr());
            (*tail.cast::<AtomicU16>()).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let length = usize::from(self.count) * size_of::<BufRingEntry>();
        // SAFETY: the mapping of `new`, unmapped once.
        unsafe { libc::munmap(self.descriptors.as_ptr().cast(), length) };
    }
}
