//! How the bytes of a crew come and go: by system calls that epoll asks for, or by a ring.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::plan::Io;
use crate::ring::Ring;
use crate::socket::Socket;

/// Events taken by one epoll call.
const EVENTS: usize = 256;

/// Of one crew.
pub enum Way {
    /// Epoll says when, system calls do it.
    Epoll { poll: Poll, events: Events },
    /// The kernel does it and says when it is done.
    Ring(Box<Ring>),
}

impl Way {
    /// The way that is asked for; `Auto`: a ring where the kernel lets. Alarms (eight at most) wake
    /// it too.
    pub fn new(io: Io, clients: usize, alarms: &[RawFd]) -> io::Result<Way> {
        if io != Io::Epoll {
            match Ring::new(clients, alarms) {
                Ok(ring) => return Ok(Way::Ring(Box::new(ring))),
                Err(error) if io == Io::Ring => return Err(error),
                Err(_) => {}
            }
        }
        let poll = Poll::new()?;
        for fd in alarms {
            poll.registry()
                .register(&mut SourceFd(fd), Token(usize::MAX), Interest::READABLE)?;
        }
        let events = Events::with_capacity(EVENTS);
        Ok(Way::Epoll { poll, events })
    }

    /// Takes the connection of a client.
    pub fn adopt(&mut self, place: usize, socket: &Socket) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        match self {
            Way::Epoll { poll, .. } => {
                poll.registry()
                    .register(&mut SourceFd(&fd), Token(place), Interest::READABLE)
            }
            Way::Ring(ring) => ring.adopt(place, socket),
        }
    }

    /// Gives up what is under way for a client, before its connection is given away.
    pub fn release(&mut self, place: usize) -> io::Result<()> {
        match self {
            Way::Epoll { .. } => Ok(()),
            Way::Ring(ring) => ring.release(place),
        }
    }

    /// (Re)arms a client's events; also what makes an edge-triggered socket report again.
    #[cold]
    pub fn listen(&self, place: usize, socket: &Socket, interest: Interest) -> io::Result<()> {
        let Way::Epoll { poll, .. } = self else {
            return Ok(());
        };
        let fd = socket.as_raw_fd();
        poll.registry()
            .reregister(&mut SourceFd(&fd), Token(place), interest)
    }

    /// Its name, as a record keeps it.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Epoll { .. } => "epoll",
            Way::Ring(_) => "io_uring",
        }
    }
}
