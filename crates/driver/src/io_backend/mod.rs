//! Moves the bytes of a client group: by epoll and system calls, or by io_uring.

mod recv_buffers;
pub mod ring;
pub mod timer;

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::connection::socket::Socket;
use crate::io_backend::ring::Ring;
use crate::plan::Io;

/// Events taken by one epoll call.
const EVENTS: usize = 256;

/// The I/O of one client group.
pub enum IoBackend {
    /// Epoll reports which sockets are ready, system calls move the bytes.
    Epoll { poll: Poll, events: Events },
    /// The kernel moves the bytes and reports when it is done.
    Ring(Box<Ring>),
}

impl IoBackend {
    /// The backend that the plan names; `Auto`: a ring where the kernel permits it. The descriptors
    /// in `wake_fds` (eight at most) wake it too.
    pub fn new(io: Io, clients: usize, wake_fds: &[RawFd]) -> io::Result<IoBackend> {
        if io != Io::Epoll {
            match Ring::new(clients, wake_fds) {
                Ok(ring) => return Ok(IoBackend::Ring(Box::new(ring))),
                Err(error) if io == Io::Ring => return Err(error),
                Err(_) => {}
            }
        }
        let poll = Poll::new()?;
        for fd in wake_fds {
            poll.registry()
                .register(&mut SourceFd(fd), Token(usize::MAX), Interest::READABLE)?;
        }
        let events = Events::with_capacity(EVENTS);
        Ok(IoBackend::Epoll { poll, events })
    }

    /// Takes the connection of a client.
    pub fn adopt(&mut self, index: usize, socket: &Socket) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        match self {
            IoBackend::Epoll { poll, .. } => {
                poll.registry()
                    .register(&mut SourceFd(&fd), Token(index), Interest::READABLE)
            }
            IoBackend::Ring(ring) => ring.adopt(index, socket),
        }
    }

    /// Cancels the operations of a client, before its connection is closed.
    pub fn release(&mut self, index: usize) -> io::Result<()> {
        match self {
            IoBackend::Epoll { .. } => Ok(()),
            IoBackend::Ring(ring) => ring.release(index),
        }
    }

    /// Arms a client's events again; this also makes an edge-triggered socket report again.
    #[cold]
    pub fn rearm(&self, index: usize, socket: &Socket, interest: Interest) -> io::Result<()> {
        let IoBackend::Epoll { poll, .. } = self else {
            return Ok(());
        };
        let fd = socket.as_raw_fd();
        poll.registry()
            .reregister(&mut SourceFd(&fd), Token(index), interest)
    }

    /// Its name, as a record keeps it.
    pub fn name(&self) -> &'static str {
        match self {
            IoBackend::Epoll { .. } => "epoll",
            IoBackend::Ring(_) => "io_uring",
        }
    }
}
