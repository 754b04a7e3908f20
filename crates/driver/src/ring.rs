//! An io_uring instance: requests go out and replies come in, one system call for many clients.
//!
//! Beside epoll it saves a client two system calls a request (Axboe, "Efficient IO with io_uring",
//! 2019). Containers often forbid it, and kernels before 6.1 lack what is asked of it here: then
//! the driver waits by epoll.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use io_uring::{cqueue, opcode, squeue, types, IoUring};

use crate::lent::{Lent, GROUP};

/// Marks of what belongs to no client: a cancellation, and alarms by their number.
const CANCEL: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 8;
/// A client's mark: its place, the length of what it sends, and whether it sends.
const PLACE: u32 = 33;
const SENDS: u64 = 1;
/// A descriptor that takes another one's place: none.
const NOBODY: RawFd = -1;
/// Receive buffers of one ring, at least and at most.
const BUFFERS: (usize, usize) = (16, 4096);

/// What the kernel told about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Alarm,
    /// Place of a client whose request did not go out whole.
    Unsent(usize),
    /// Place of a client, and the buffer and number of the bytes received for it.
    Received(usize, u16, usize),
    /// Place of a client, and the error number by which its stream ended; 0: in order.
    Ended(usize, i32),
}

/// What the kernel still does for a client.
#[derive(Clone, Copy, Default)]
struct Under {
    sends: u8,
    hears: bool,
}

/// The operations of one crew of clients.
pub struct Ring {
    /// Ends first: what the kernel still works on points into `lent`.
    ring: IoUring,
    lent: Lent,
    under: Vec<Under>,
    alarms: Vec<RawFd>,
    /// One bit for each alarm that is listened for.
    awaited: u8,
    told: Vec<Told>,
    next: usize,
    /// Clients for whose bytes there was no buffer.
    starved: Vec<usize>,
}

impl Ring {
    /// An instance for `clients` connections, to be used by the calling thread alone; an error
    /// where the kernel or a container does not let.
    pub fn new(clients: usize, alarms: &[RawFd]) -> io::Result<Ring> {
        // One send and one receive a client, the alarms, and room for cancellations.
        let entries = (2 * clients + 4).next_power_of_two();
        let ring = IoUring::builder()
            .setup_clamp()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries as u32)?;
        let buffers = (2 * clients)
            .next_power_of_two()
            .clamp(BUFFERS.0, BUFFERS.1);
        let submitter = ring.submitter();
        submitter.register_files_sparse(clients.max(1) as u32)?;
        let lent = Lent::new(buffers as u16, &submitter)?;
        Ok(Ring {
            ring,
            lent,
            under: vec![Under::default(); clients],
            alarms: alarms.to_vec(),
            awaited: 0,
            told: Vec::with_capacity(2 * entries),
            next: 0,
            starved: Vec::new(),
        })
    }

    /// Takes the connection of a client.
    pub fn adopt(&mut self, place: usize, socket: &impl AsRawFd) -> io::Result<()> {
        self.register(place, socket.as_raw_fd())
    }

    /// Sends a request whole and listens for its reply, from the next `wait` on. `request` must
    /// stay as it is until its reply is whole or the client is released; less than 4 GiB.
    #[inline]
    pub fn exchange(&mut self, place: usize, request: &[u8]) -> io::Result<()> {
        let connection = types::Fixed(place as u32);
        let send = opcode::Send::new(connection, request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(mark(place) | (request.len() as u64) << 1 | SENDS);
        self.under[place].sends += 1;
        self.push(&send)?;
        self.listen(place)
    }

    /// Listens for a client until it is released, unless that is done already.
    #[inline]
    pub fn listen(&mut self, place: usize) -> io::Result<()> {
        if self.under[place].hears {
            return Ok(());
        }
        self.under[place].hears = true;
        let receive = opcode::RecvMulti::new(types::Fixed(place as u32), GROUP)
            .build()
            .user_data(mark(place));
        self.push(&receive)
    }

    /// What was received into a buffer, which is to be given back.
    #[inline]
    pub fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        self.lent.bytes(buffer, length)
    }

    /// A buffer that was told has been read.
    #[inline]
    pub fn give_back(&mut self, buffer: u16) {
        self.lent.give_back(buffer);
    }

    /// Lets go what was asked for, and waits until something is told.
    #[inline]
    pub fn wait(&mut self) -> io::Result<()> {
        if self.next < self.told.len() {
            return Ok(());
        }
        if u32::from(self.awaited).count_ones() as usize != self.alarms.len() {
            self.await_alarms()?;
        }
        while let Some(place) = self.starved.pop() {
            self.listen(place)?;
        }
        self.told.clear();
        self.next = 0;
        self.submit_and_gather()
    }

    fn await_alarms(&mut self) -> io::Result<()> {
        for number in 0..self.alarms.len() {
            if self.awaited & 1 << number == 0 {
                self.awaited |= 1 << number;
                let fd = types::Fd(self.alarms[number]);
                let poll = opcode::PollAdd::new(fd, libc::POLLIN as u32)
                    .build()
                    .user_data(ALARM + number as u64);
                self.push(&poll)?;
            }
        }
        Ok(())
    }

    /// The next of what was told, until there is no more.
    #[inline]
    pub fn told(&mut self) -> Option<Told> {
        let told = self.told.get(self.next).copied();
        self.next += usize::from(told.is_some());
        told
    }

    /// Gives up the operations and the connection of a client; nothing more is told about it.
    #[cold]
    pub fn release(&mut self, place: usize) -> io::Result<()> {
        if self.works_for(place) {
            let all = types::CancelBuilder::fd(types::Fixed(place as u32)).all();
            self.push(&opcode::AsyncCancel2::new(all).build().user_data(CANCEL))?;
        }
        while self.works_for(place) {
            self.submit_and_gather()?;
        }
        self.forget(place);
        self.register(place, NOBODY)
    }

    fn works_for(&self, place: usize) -> bool {
        let Under { sends, hears } = self.under[place];
        sends > 0 || hears
    }

    /// Takes a client out of what is still to be told.
    fn forget(&mut self, place: usize) {
        self.starved.retain(|&starved| starved != place);
        let waiting = self.told.split_off(self.next);
        for told in waiting {
            match told {
                Told::Received(to, buffer, _) if to == place => self.lent.give_back(buffer),
                Told::Unsent(to) | Told::Ended(to, _) if to == place => {}
                other => self.told.push(other),
            }
        }
    }

    fn register(&self, place: usize, fd: RawFd) -> io::Result<()> {
        let submitter = self.ring.submitter();
        submitter
            .register_files_update(place as u32, &[fd])
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
            let under = &mut self.under;
            match entry.user_data() {
                CANCEL => {}
                mark if mark >= ALARM => {
                    self.awaited &= !(1 << (mark - ALARM));
                    self.told.push(Told::Alarm);
                }
                mark if mark & SENDS != 0 => {
                    let place = (mark >> PLACE) as usize;
                    under[place].sends -= 1;
                    if u32::try_from(entry.result()) != Ok((mark >> 1) as u32) {
                        self.told.push(Told::Unsent(place));
                    }
                }
                mark => {
                    let place = (mark >> PLACE) as usize;
                    under[place].hears = cqueue::more(entry.flags());
                    match (entry.result(), cqueue::buffer_select(entry.flags())) {
                        (length @ 1.., Some(buffer)) => {
                            self.told
                                .push(Told::Received(place, buffer, length as usize));
                        }
                        (result, _) if result == -libc::ENOBUFS => self.starved.push(place),
                        (result, _) => self.told.push(Told::Ended(place, -result.min(0))),
                    }
                }
            }
        }
        Ok(())
    }
}

fn mark(place: usize) -> u64 {
    (place as u64) << PLACE
}
