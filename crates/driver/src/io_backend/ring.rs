//! Sends requests and receives replies by io_uring: one system call for many clients.
//!
//! Beside epoll it saves a client two system calls a request (Axboe, "Efficient IO with io_uring",
//! 2019). Containers often forbid it, and kernels before 6.1 lack operations that are used here:
//! then the driver waits by epoll.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{cqueue, opcode, squeue, types, IoUring};

use crate::io_backend::recv_buffers::{RecvBuffers, GROUP};

/// Marks of operations that belong to no client: a cancellation, and wake-ups by their number.
const CANCEL: u64 = u64::MAX;
const WAKEUP: u64 = u64::MAX - 8;
/// A client's mark: its index, the length of what it sends, and whether it sends.
const INDEX_SHIFT: u32 = 33;
const SENDS: u64 = 1;
/// Clears the slot of a registered descriptor.
const NO_SOCKET: RawFd = -1;
/// Receive buffers of one ring, at least and at most.
const BUFFERS: (usize, usize) = (16, 4096);

/// What one completed operation led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// One of the descriptors that wake the ring is readable.
    Woken,
    /// Index of a client whose request did not go out whole.
    Unsent(usize),
    /// Index of a client, and the buffer and number of the bytes received for it.
    Received(usize, u16, usize),
    /// Index of a client, and the error number by which its stream ended; 0: in order.
    Ended(usize, i32),
}

/// Operations of a client that the kernel has not completed.
#[derive(Clone, Copy, Default)]
struct InFlight {
    sends: u8,
    receives: bool,
}

/// The operations of one client group.
pub struct Ring {
    /// Dropped first: operations of the kernel point into `buffers`.
    ring: IoUring,
    buffers: RecvBuffers,
    in_flight: Vec<InFlight>,
    wake_fds: Vec<RawFd>,
    /// One bit for each of them that is polled.
    watched: u8,
    completions: Vec<Completion>,
    next: usize,
    /// Clients whose bytes found no free buffer.
    without_buffer: Vec<usize>,
}

impl Ring {
    /// An instance for `clients` connections, to be used by the calling thread alone; an error
    /// where the kernel or a container does not permit it.
    pub fn new(clients: usize, wake_fds: &[RawFd]) -> io::Result<Ring> {
        // One send and one receive a client, the wake-ups, and room for cancellations.
        let entries = (2 * clients + 4).next_power_of_two();
        let ring = IoUring::builder()
            .setup_clamp()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries as u32)?;
        let count = (2 * clients)
            .next_power_of_two()
            .clamp(BUFFERS.0, BUFFERS.1);
        let submitter = ring.submitter();
        submitter.register_files_sparse(clients.max(1) as u32)?;
        let buffers = RecvBuffers::new(count as u16, &submitter)?;
        Ok(Ring {
            ring,
            buffers,
            in_flight: vec![InFlight::default(); clients],
            wake_fds: wake_fds.to_vec(),
            watched: 0,
            completions: Vec::with_capacity(2 * entries),
            next: 0,
            without_buffer: Vec::new(),
        })
    }

    /// Takes the connection of a client.
    pub fn adopt(&mut self, index: usize, socket: &impl AsRawFd) -> io::Result<()> {
        self.register(index, socket.as_raw_fd())
    }

    /// Sends a request whole and receives its reply, from the next `wait` on. `request` must
    /// stay as it is until its reply is whole or the client is released; less than 4 GiB.
    #[inline]
    pub fn exchange(&mut self, index: usize, request: &[u8]) -> io::Result<()> {
        let connection = types::Fixed(index as u32);
        let send = opcode::Send::new(connection, request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(mark(index) | (request.len() as u64) << 1 | SENDS);
        self.in_flight[index].sends += 1;
        self.push(&send)?;
        self.receive_next(index)
    }

    /// Receives for a client until it is released, unless that is under way already.
    #[inline]
    pub fn receive_next(&mut self, index: usize) -> io::Result<()> {
        if self.in_flight[index].receives {
            return Ok(());
        }
        self.in_flight[index].receives = true;
        let receive = opcode::RecvMulti::new(types::Fixed(index as u32), GROUP)
            .build()
            .user_data(mark(index));
        self.push(&receive)
    }

    /// What was received into a buffer, which is to be given back.
    #[inline]
    pub fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        self.buffers.bytes(buffer, length)
    }

    /// The bytes in a buffer have been read.
    #[inline]
    pub fn give_back(&mut self, buffer: u16) {
        self.buffers.give_back(buffer);
    }

    /// Submits all operations, and waits until there is a completion.
    #[inline]
    pub fn wait(&mut self) -> io::Result<()> {
        if self.next < self.completions.len() {
            return Ok(());
        }
        if u32::from(self.watched).count_ones() as usize != self.wake_fds.len() {
            self.watch_wakeups()?;
        }
        while let Some(index) = self.without_buffer.pop() {
            self.receive_next(index)?;
        }
        self.completions.clear();
        self.next = 0;
        self.submit_and_gather()
    }

    fn watch_wakeups(&mut self) -> io::Result<()> {
        for number in 0..self.wake_fds.len() {
            if self.watched & 1 << number == 0 {
                self.watched |= 1 << number;
                let fd = types::Fd(self.wake_fds[number]);
                let poll = opcode::PollAdd::new(fd, libc::POLLIN as u32)
                    .build()
                    .user_data(WAKEUP + number as u64);
                self.push(&poll)?;
            }
        }
        Ok(())
    }

    /// The next completion, until there is no more.
    #[inline]
    pub fn next_completion(&mut self) -> Option<Completion> {
        let next = self.completions.get(self.next).copied();
        self.next += usize::from(next.is_some());
        next
    }

    /// Cancels the operations of a client and gives its connection up: no completion of it follows.
    #[cold]
    pub fn release(&mut self, index: usize) -> io::Result<()> {
        if self.has_operations(index) {
            let all = types::CancelBuilder::fd(types::Fixed(index as u32)).all();
            self.push(&opcode::AsyncCancel2::new(all).build().user_data(CANCEL))?;
        }
        while self.has_operations(index) {
            self.submit_and_gather()?;
        }
        self.forget(index);
        self.register(index, NO_SOCKET)
    }

    fn has_operations(&self, index: usize) -> bool {
        let InFlight { sends, receives } = self.in_flight[index];
        sends > 0 || receives
    }

    /// Removes the completions of a client.
    fn forget(&mut self, index: usize) {
        self.without_buffer.retain(|&waiting| waiting != index);
        let waiting = self.completions.split_off(self.next);
        for completion in waiting {
            match completion {
                Completion::Received(to, buffer, _) if to == index => {
                    self.buffers.give_back(buffer)
                }
                Completion::Unsent(to) | Completion::Ended(to, _) if to == index => {}
                other => self.completions.push(other),
            }
        }
    }

    fn register(&self, index: usize, fd: RawFd) -> io::Result<()> {
        let submitter = self.ring.submitter();
        submitter
            .register_files_update(index as u32, &[fd])
            .map(drop)
    }

    #[inline]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: what an entry points to lives as long as its operation: a client's request until
        // `release` or the end of its reply, by `exchange`; buffers as long as the ring.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    #[inline]
    fn submit_and_gather(&mut self) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            // Busy: the completions that are there have to be taken first.
            Err(error)
                if error.kind() != io::ErrorKind::Interrupted
                    && error.raw_os_error() != Some(libc::EBUSY) =>
            {
                return Err(error)
            }
            _ => {}
        }
        for entry in self.ring.completion() {
            let in_flight = &mut self.in_flight;
            match entry.user_data() {
                CANCEL => {}
                mark if mark >= WAKEUP => {
                    self.watched &= !(1 << (mark - WAKEUP));
                    self.completions.push(Completion::Woken);
                }
                mark if mark & SENDS != 0 => {
                    let index = (mark >> INDEX_SHIFT) as usize;
                    in_flight[index].sends -= 1;
                    if u32::try_from(entry.result()) != Ok((mark >> 1) as u32) {
                        self.completions.push(Completion::Unsent(index));
                    }
                }
                mark => {
                    let index = (mark >> INDEX_SHIFT) as usize;
                    in_flight[index].receives = cqueue::more(entry.flags());
                    match (entry.result(), cqueue::buffer_select(entry.flags())) {
                        (length @ 1.., Some(buffer)) => {
                            self.completions.push(Completion::Received(
                                index,
                                buffer,
                                length as usize,
                            ));
                        }
                        (result, _) if result == -libc::ENOBUFS => self.without_buffer.push(index),
                        (result, _) => self
                            .completions
                            .push(Completion::Ended(index, -result.min(0))),
                    }
                }
            }
        }
        Ok(())
    }
}

fn mark(index: usize) -> u64 {
    (index as u64) << INDEX_SHIFT
}
