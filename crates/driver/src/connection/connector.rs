//! Connects clients on threads of its own, so that clients with a connection are served meanwhile.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::event::{eventfd, EventfdFlags};

use crate::clock::now_ns;
use crate::connection::stream::Stream;
use crate::protocol::Protocol;
use crate::threads::arm::Arm;

/// Most connections of one client group that are made at once.
const MOST_THREADS: usize = 8;

/// A requested connection, or why there is none.
pub struct ConnectOutcome<P: Protocol> {
    /// The client's index within its group.
    pub index: usize,
    pub connection: io::Result<(Stream, P::Session)>,
    /// From the request to now: waiting for a thread included.
    pub took_ns: u64,
    generation: u64,
}

struct ConnectRequest {
    index: usize,
    generation: u64,
    at_ns: u64,
}

/// Connects the clients of one group.
pub struct Connector<P: Protocol> {
    requests: Sender<ConnectRequest>,
    outcomes: Receiver<ConnectOutcome<P>>,
    /// Readable when an outcome is there.
    event: Arc<OwnedFd>,
    /// Slices: a request of an earlier one is of no use any more.
    generation: u64,
}

impl<P: Protocol> Connector<P> {
    /// Threads that connect to `arm` for so many clients; they inherit the caller's processors.
    pub fn new(arm: &Arc<Arm<P>>, clients: usize) -> io::Result<Connector<P>> {
        let (requests, taken) = channel();
        let (sender, outcomes) = channel();
        let taken = Arc::new(Mutex::new(taken));
        let event = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        for _ in 0..clients.min(MOST_THREADS) {
            let (arm, taken, sender) = (Arc::clone(arm), Arc::clone(&taken), sender.clone());
            let event = Arc::clone(&event);
            thread::Builder::new()
                .name("connector".to_owned())
                .spawn(move || serve_requests(&arm, &taken, &sender, &event))?;
        }
        Ok(Connector {
            requests,
            outcomes,
            event,
            generation: 0,
        })
    }

    /// Requests a connection for a client; it comes by [`Connector::next_outcome`].
    pub fn request(&self, index: usize) {
        let request = ConnectRequest {
            index,
            generation: self.generation,
            at_ns: now_ns(),
        };
        // The threads end only when this end of the channel does.
        let _ = self.requests.send(request);
    }

    /// The next connection that is there; `None`: no more for now.
    pub fn next_outcome(&self) -> Option<ConnectOutcome<P>> {
        loop {
            let outcome = self.outcomes.try_recv().ok()?;
            if outcome.generation == self.generation {
                return Some(outcome);
            }
        }
    }

    /// Abandons all requests: their connections are closed when they come.
    pub fn abandon_requests(&mut self) {
        self.generation += 1;
        self.acknowledge();
        while self.outcomes.try_recv().is_ok() {}
    }

    /// Resets the event, which stays readable until then.
    pub fn acknowledge(&self) {
        // An event that was not signalled has nothing to read.
        let _ = rustix::io::read(&*self.event, &mut [0; 8]);
    }
}

impl<P: Protocol> AsRawFd for Connector<P> {
    /// Readable when a connection is there.
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

fn serve_requests<P: Protocol>(
    arm: &Arm<P>,
    requests: &Mutex<Receiver<ConnectRequest>>,
    outcomes: &Sender<ConnectOutcome<P>>,
    event: &impl AsFd,
) {
    loop {
        let next = requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        let Ok(ConnectRequest {
            index,
            generation,
            at_ns,
        }) = next
        else {
            return;
        };
        let outcome = ConnectOutcome {
            index,
            connection: P::connect(&arm.server),
            took_ns: now_ns() - at_ns,
            generation,
        };
        if outcomes.send(outcome).is_err() {
            return;
        }
        // An event that is signalled already is as good.
        let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
    }
}
