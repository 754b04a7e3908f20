//! The clients of one arm that live on one thread, and the way by which their bytes go.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use steelyard_wire::Session;

use crate::arm::Arm;
use crate::client::Client;
use crate::connect::{connect, send_cancel, ConnectError};
use crate::connector::Connector;
use crate::error::DriveError;
use crate::log::Log;
use crate::pace::Pace;
use crate::stream::Stream;
use crate::tally::Tally;
use crate::tls::Sealed;
use crate::way::Way;
use crate::worker::Post;

/// Gives a client its connection, and listens to its events; the backend's process id.
pub fn attach(
    arm: &Arm,
    way: &mut Way,
    client: &mut Client,
    (stream, session): (Stream, Session),
) -> Result<i32, ConnectError> {
    stream.socket.set_nonblocking()?;
    way.adopt(client.place, &stream.socket)?;
    let process_id = session.process_id;
    let encryption = stream.sealed.as_deref().map(Sealed::shown);
    arm.note_session(client.number, &session, encryption);
    client.attach(stream, session, matches!(way, Way::Ring(_)));
    Ok(process_id)
}

/// Clients of one arm on one thread.
pub struct Crew {
    pub arm: Arc<Arm>,
    /// The thread's number.
    pub thread: usize,
    pub way: Way,
    pub pace: Pace,
    /// Where every transaction has a connection of its own.
    pub connector: Option<Connector>,
    /// Where transactions are written down.
    pub log: Option<Log>,
    pub clients: Vec<Client>,
    /// The server did not take a connection back: it is not asked again.
    pub gone: bool,
}

impl Crew {
    /// The clients of `arm` that belong to `thread`; none is connected yet.
    pub fn new(arm: Arc<Arm>, post: &Post) -> io::Result<Crew> {
        let (programs, seed, thread) = (&post.programs, post.seed, post.thread);
        let numbers = (thread..arm.clients).step_by(post.threads);
        let clients: Vec<_> = numbers
            .enumerate()
            .map(|(place, number)| Client::new(number, place, seed, programs))
            .collect();
        let pace = Pace::new(clients.len(), seed, thread)?;
        let connector = match arm.reconnects {
            true => Some(Connector::new(&arm, clients.len())?),
            false => None,
        };
        let mut alarms = vec![pace.alarm.as_raw_fd()];
        alarms.extend(connector.iter().map(AsRawFd::as_raw_fd));
        let way = Way::new(post.plan.io, clients.len(), &alarms)?;
        Ok(Crew {
            arm,
            thread,
            way,
            pace,
            connector,
            log: None,
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
                    arm.server.target.shown()
                ))
            })?;
            backends.push((self.clients[place].number, process_id));
        }
        Ok(backends)
    }

    fn connect_client(&mut self, place: usize) -> Result<i32, ConnectError> {
        let connection = connect(&self.arm.server)?;
        attach(
            &self.arm,
            &mut self.way,
            &mut self.clients[place],
            connection,
        )
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
        if let Some(connector) = &mut self.connector {
            connector.give_up();
        }
        for client in &mut self.clients {
            if client.is_connecting() {
                client.detach();
            } else if client.is_busy() {
                let session = client.link.session();
                let (process_id, secret_key) = (session.process_id, session.secret_key);
                if let Err(error) = send_cancel(&self.arm.server, process_id, secret_key) {
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
        for client in &mut self.clients {
            client.leave();
        }
    }
}
