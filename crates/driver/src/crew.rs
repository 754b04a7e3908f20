//! The clients of one arm that live on one thread, and the way by which their bytes go.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::alarm::Alarm;
use crate::arm::Arm;
use crate::client::Client;
use crate::connect::{connect, send_cancel, ConnectError};
use crate::error::DriveError;
use crate::plan::Io;
use crate::program::Programs;
use crate::ring::Ring;
use crate::tally::Tally;

/// Events taken by one epoll call.
const EVENTS: usize = 256;

/// How the bytes of a crew come and go.
pub enum Way {
    /// Epoll says when, system calls do it.
    Epoll { poll: Poll, events: Events },
    /// The kernel does it and says when it is done.
    Ring(Box<Ring>),
}

impl Way {
    /// The way that is asked for; `Auto`: a ring where the kernel lets.
    fn new(io: Io, clients: usize, alarm: &Alarm) -> io::Result<Way> {
        if io != Io::Epoll {
            match Ring::new(clients, alarm) {
                Ok(ring) => return Ok(Way::Ring(Box::new(ring))),
                Err(error) if io == Io::Ring => return Err(error),
                Err(_) => {}
            }
        }
        let poll = Poll::new()?;
        let fd = alarm.as_raw_fd();
        poll.registry()
            .register(&mut SourceFd(&fd), Token(usize::MAX), Interest::READABLE)?;
        let events = Events::with_capacity(EVENTS);
        Ok(Way::Epoll { poll, events })
    }

    /// Takes the connection of a client.
    fn adopt(&mut self, place: usize, socket: &impl AsRawFd) -> io::Result<()> {
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

    /// Its name, as a record keeps it.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Epoll { .. } => "epoll",
            Way::Ring(_) => "io_uring",
        }
    }
}

/// Clients of one arm on one thread.
pub struct Crew {
    pub arm: Arc<Arm>,
    pub way: Way,
    /// Wakes the crew at the cap.
    pub alarm: Alarm,
    pub clients: Vec<Client>,
    /// The server did not take a connection back: it is not asked again.
    pub gone: bool,
}

impl Crew {
    /// The clients of `arm` that belong to `thread`; none is connected yet.
    pub fn new(
        arm: Arc<Arm>,
        programs: &Programs,
        seed: u64,
        thread: usize,
        threads: usize,
        io: Io,
    ) -> io::Result<Crew> {
        let numbers = (thread..arm.clients).step_by(threads);
        let clients: Vec<Client> = numbers
            .enumerate()
            .map(|(place, number)| Client::new(number, place, seed, programs))
            .collect();
        let alarm = Alarm::new()?;
        let way = Way::new(io, clients.len(), &alarm)?;
        Ok(Crew {
            arm,
            way,
            alarm,
            clients,
            gone: false,
        })
    }

    /// Opens every connection; client numbers and backend process ids.
    pub fn connect(&mut self) -> Result<Vec<(usize, i32)>, DriveError> {
        let mut backends = Vec::new();
        for place in 0..self.clients.len() {
            let process_id = self.connect_client(place).map_err(|error| {
                let arm = &self.arm;
                let client = self.clients[place].number;
                DriveError::new(format!(
                    "could not connect client {client} of arm \"{}\": {error}",
                    arm.name
                ))
                .detail(format!(
                    "The server was looked for at {}.",
                    arm.target.shown()
                ))
            })?;
            backends.push((self.clients[place].number, process_id));
        }
        Ok(backends)
    }

    fn connect_client(&mut self, place: usize) -> Result<i32, ConnectError> {
        let (socket, session) = connect(&self.arm.target, &self.arm.credentials)?;
        socket.set_nonblocking()?;
        self.way.adopt(place, &socket)?;
        let process_id = session.process_id;
        let by_ring = matches!(self.way, Way::Ring(_));
        self.clients[place].attach(socket, session, by_ring);
        Ok(process_id)
    }

    /// Before a slice: takes back connections that were lost or given up, where the server lets.
    pub fn revive(&mut self, tally: &mut Tally) {
        for place in 0..self.clients.len() {
            if self.gone {
                return;
            }
            if self.clients[place].link.socket().is_some() {
                continue;
            }
            match self.connect_client(place) {
                Ok(process_id) => tally
                    .reconnected
                    .push((self.clients[place].number, process_id)),
                Err(error) => {
                    self.gone = true;
                    tally.count_error("08001", &error.to_string());
                }
            }
        }
    }

    /// After a slice: cancels what was given up, and counts who has no connection.
    pub fn settle(&mut self, tally: &mut Tally) -> io::Result<()> {
        for client in &mut self.clients {
            if client.is_busy() {
                let session = client.link.session();
                let (process_id, secret_key) = (session.process_id, session.secret_key);
                if let Err(error) = send_cancel(&self.arm.target, process_id, secret_key) {
                    tally.count_error("08001", &format!("could not cancel: {error}"));
                }
                self.way.release(client.place)?;
                client.detach();
            } else if client.link.socket().is_none() {
                tally.lost += 1;
            }
        }
        Ok(())
    }

    /// Ends every connection politely.
    pub fn disconnect(&mut self) {
        let goodbye = steelyard_wire::terminate();
        for client in &mut self.clients {
            if let Some(socket) = client.detach() {
                // The server may be gone already, which is as good as a goodbye.
                let _ = socket.send(&goodbye);
            }
        }
    }
}
