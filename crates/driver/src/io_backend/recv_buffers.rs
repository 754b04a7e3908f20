//! Shares receive buffers among all connections of a ring: the kernel fills them and gets them
//! back.
//!
//! A ring of buffer descriptors in memory that both sides see (linux/io_uring.h,
//! io_uring_buf_ring); the kernel takes a buffer only when bytes have come, so few buffers serve
//! many idle connections.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::Submitter;
use memmap2::{MmapMut, MmapOptions};
use steelyard_buffer::on_a_page;

/// Bytes of one buffer; longer replies take several.
pub const SIZE: usize = 4 << 10;
/// The name of the ring's only group of buffers.
pub const GROUP: u16 = 0;

/// The buffers, and the descriptors by which the kernel finds them.
pub struct RecvBuffers {
    /// Descriptors, page-aligned.
    descriptors: MmapMut,
    count: u16,
    /// How many descriptors were ever filled, as the kernel reads it.
    tail: u16,
    bytes: MmapMut,
}

impl RecvBuffers {
    /// `count` buffers, a power of two, all given to the ring of `submitter`.
    pub fn new(count: u16, submitter: &Submitter<'_>) -> io::Result<RecvBuffers> {
        let length = usize::from(count) * size_of::<BufRingEntry>();
        let mut buffers = RecvBuffers {
            descriptors: MmapOptions::new().len(length).populate().map_anon()?,
            count,
            tail: 0,
            bytes: on_a_page(usize::from(count) * SIZE),
        };
        let start = buffers.descriptors.as_mut_ptr() as u64;
        // SAFETY: the descriptors and the buffers live as long as the value returned, which its
        // owner drops after the ring.
        unsafe { submitter.register_buf_ring_with_flags(start, count, GROUP, 0)? };
        for number in 0..count {
            buffers.give_back(number);
        }
        Ok(buffers)
    }

    /// What was received into a buffer.
    #[inline]
    pub fn bytes(&self, number: u16, length: usize) -> &[u8] {
        &self.bytes[usize::from(number) * SIZE..][..length]
    }

    /// Gives a buffer to the kernel again.
    #[inline]
    pub fn give_back(&mut self, number: u16) {
        let buffer = self.bytes[usize::from(number) * SIZE..].as_mut_ptr();
        let free = usize::from(self.tail & (self.count - 1));
        self.tail = self.tail.wrapping_add(1);
        let descriptors: *mut BufRingEntry = self.descriptors.as_mut_ptr().cast();
        // SAFETY: there are `count` descriptors, page-aligned, zeroed by the kernel and written by
        // this thread alone; the tail lies in the reserved field of the first one, and what it
        // covers is written before it is.
        unsafe {
            let descriptor = &mut *descriptors.add(free);
            descriptor.set_addr(buffer as u64);
            descriptor.set_len(SIZE as u32);
            descriptor.set_bid(number);
            let tail = BufRingEntry::tail(descriptors);
            (*tail.cast::<AtomicU16>()).store(self.tail, Ordering::Release);
        }
    }
}
