//! Connects clients on threads of its own, so that those who are connected are served meanwhile.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use steelyard_wire::Session;

use crate::arm::Arm;
use crate::clock::now_ns;
use crate::connect::{connect, ConnectError};
use crate::stream::Stream;

/// Most connections of one crew that are made at once.
const MOST_THREADS: usize = 8;

/// A connection that was asked for, or why there is none.
pub struct Made {
    pub place: usize,
    pub outcome: Result<(Stream, Session), ConnectError>,
    /// From the asking to now: waiting for a thread included.
    pub took_ns: u64,
    generation: u64,
}

struct Asked {
    place: usize,
    generation: u64,
    at_ns: u64,
}

/// Of one crew.
pub struct Connector {
    asks: Sender<Asked>,
    made: Receiver<Made>,
    bell: Arc<OwnedFd>,
    /// Slices: what an earlier one asked for is of no use any more.
    generation: u64,
}

impl Connector {
    /// Threads that connect to `arm` for so many clients; they inherit the caller's processors.
    pub fn new(arm: &Arc<Arm>, clients: usize) -> io::Result<Connector> {
        let (asks, asked) = channel();
        let (tell, made) = channel();
        let asked = Arc::new(Mutex::new(asked));
        let bell = Arc::new(event()?);
        for _ in 0..clients.min(MOST_THREADS) {
            let (arm, asked, tell) = (Arc::clone(arm), Arc::clone(&asked), tell.clone());
            let bell = Arc::clone(&bell);
            thread::Builder::new()
                .name("connector".to_owned())
                .spawn(move || work(&arm, &asked, &tell, &bell))?;
        }
        Ok(Connector {
            asks,
            made,
            bell,
            generation: 0,
        })
    }

    /// Asks for a connection of the client at `place`; it comes by [`Connector::made`].
    pub fn ask(&self, place: usize) {
        let asked = Asked {
            place,
            generation: self.generation,
            at_ns: now_ns(),
        };
        // The threads end only when this end of the channel does.
        let _ = self.asks.send(asked);
    }

    /// The next connection that is there; `None`: no more for now.
    pub fn made(&self) -> Option<Made> {
        loop {
            let made = self.made.try_recv().ok()?;
            if made.generation == self.generation {
                return Some(made);
            }
        }
    }

    /// Nobody waits any more for what was asked: such connections are closed when they come.
    pub fn give_up(&mut self) {
        self.generation += 1;
        self.hear();
        while self.made.try_recv().is_ok() {}
    }

    /// Hears the bell, which rings until it is heard.
    pub fn hear(&self) {
        let mut count = 0_u64;
        let start = std::ptr::from_mut(&mut count).cast();
        // SAFETY: eight bytes are there to be filled; a bell that has not rung fills none.
        unsafe { libc::read(self.bell.as_raw_fd(), start, size_of::<u64>()) };
    }
}

impl AsRawFd for Connector {
    /// Readable when a connection is there.
    fn as_raw_fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

fn work(arm: &Arm, asked: &Mutex<Receiver<Asked>>, tell: &Sender<Made>, bell: &OwnedFd) {
    loop {
        let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Asked {
            place,
            generation,
            at_ns,
        }) = next
        else {
            return;
        };
        let made = Made {
            place,
            outcome: connect(&arm.server),
            took_ns: now_ns() - at_ns,
            generation,
        };
        if tell.send(made).is_err() {
            return;
        }
        let one = 1_u64;
        // SAFETY: eight bytes are read; a bell that rings already is as good.
        unsafe {
            libc::write(
                bell.as_raw_fd(),
                std::ptr::from_ref(&one).cast(),
                size_of::<u64>(),
            )
        };
    }
}

fn event() -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed; a negative result is an error.
    let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
