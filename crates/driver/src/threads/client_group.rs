//! Connects and disconnects the clients of one arm that one thread drives.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::client::Client;
use crate::connection::connector::Connector;
use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::io_backend::IoBackend;
use crate::protocol::{Fault, Protocol, Wire};
use crate::report::log::Log;
use crate::report::tally::Tally;
use crate::slice::schedule::Schedule;
use crate::threads::arm::Arm;
use crate::threads::worker::WorkerConfig;
use crate::tls::TlsSession;

/// Gives a client its connection, and watches its events; the server's number of the connection.
pub fn attach<P: Protocol>(
    arm: &Arm<P>,
    backend: &mut IoBackend,
    client: &mut Client<P>,
    (stream, session): (Stream, P::Session),
) -> io::Result<i64> {
    stream.socket.set_nonblocking()?;
    backend.adopt(client.index, &stream.socket)?;
    let encryption = stream.tls.as_deref().map(TlsSession::describe);
    arm.note_session(client.number, session, encryption);
    client.attach(stream, matches!(backend, IoBackend::Ring(_)));
    Ok(P::session_id(&session))
}

/// Clients of one arm on one thread.
pub struct ClientGroup<P: Protocol> {
    pub arm: Arc<Arm<P>>,
    /// The thread's number.
    pub thread: usize,
    /// Of all.
    pub threads: usize,
    pub backend: IoBackend,
    pub schedule: Schedule,
    /// Where every transaction has a connection of its own.
    pub connector: Option<Connector<P>>,
    /// Where transactions are logged.
    pub log: Option<Log>,
    pub clients: Vec<Client<P>>,
    /// The server refused to reconnect a client: it is not tried again.
    pub unreachable: bool,
}

impl<P: Protocol> ClientGroup<P> {
    /// The clients of `arm` that belong to `thread`; none is connected yet.
    pub fn new(arm: Arc<Arm<P>>, config: &WorkerConfig<P>) -> io::Result<ClientGroup<P>> {
        let (programs, seed, thread) = (&config.programs, config.seed, config.thread);
        let numbers = (thread..arm.clients).step_by(config.threads);
        let clients: Vec<_> = numbers
            .enumerate()
            .map(|(index, number)| Client::new(number, index, seed, programs))
            .collect();
        // The arrivals of one machine's threads are not those of another's.
        let stream = config.plan.first_client + thread;
        let schedule = Schedule::new(clients.len(), seed, stream)?;
        let connector = match arm.reconnects {
            true => Some(Connector::new(&arm, clients.len())?),
            false => None,
        };
        let mut wake_fds = vec![schedule.timer.as_raw_fd()];
        wake_fds.extend(connector.iter().map(AsRawFd::as_raw_fd));
        let backend = IoBackend::new(config.plan.io, clients.len(), &wake_fds)?;
        Ok(ClientGroup {
            arm,
            thread,
            threads: config.threads,
            backend,
            schedule,
            connector,
            log: None,
            clients,
            unreachable: false,
        })
    }

    /// Opens every connection; client numbers, and the server's numbers of their connections.
    pub fn connect(&mut self) -> Result<Vec<(usize, i64)>, DriveError> {
        let mut sessions = Vec::new();
        for index in 0..self.clients.len() {
            let session = self.connect_client(index).map_err(|error| {
                let arm = &self.arm;
                let client = self.clients[index].number;
                DriveError::new(format!(
                    "could not connect client {client} of arm \"{}\": {error}",
                    arm.name
                ))
                .detail(format!(
                    "The server was looked for at {}.",
                    P::location(&arm.server)
                ))
            })?;
            sessions.push((self.clients[index].number, session));
        }
        Ok(sessions)
    }

    fn connect_client(&mut self, index: usize) -> io::Result<i64> {
        let connection = P::connect(&self.arm.server)?;
        attach(
            &self.arm,
            &mut self.backend,
            &mut self.clients[index],
            connection,
        )
    }

    /// Before a slice: opens lost connections and those given up anew, where the server permits it.
    pub fn reconnect_lost(&mut self, tally: &mut Tally) {
        for index in 0..self.clients.len() {
            if self.unreachable {
                return;
            }
            if self.clients[index].link.socket().is_some() {
                continue;
            }
            match self.connect_client(index) {
                Ok(session) => tally
                    .reconnected
                    .push((self.clients[index].number, session)),
                Err(error) => {
                    self.unreachable = true;
                    tally.count_error(&Fault::new(P::CODES.cannot_connect, error));
                }
            }
        }
    }

    /// After a slice: cancels what was given up, and counts the clients without a connection.
    pub fn cancel_unfinished(&mut self, tally: &mut Tally) -> io::Result<()> {
        if let Some(connector) = &mut self.connector {
            connector.abandon_requests();
        }
        for client in &mut self.clients {
            if client.is_connecting() {
                client.detach();
            } else if client.is_busy() {
                let session = self.arm.session(client.number);
                let cancelled = match session.filter(|_| !P::Wire::STOPS_ITSELF) {
                    Some(session) => P::cancel(&self.arm.server, &session),
                    None => Ok(()),
                };
                if let Err(error) = cancelled {
                    let why = format!("could not cancel: {error}");
                    tally.count_error(&Fault::new(P::CODES.cannot_connect, why));
                }
                self.backend.release(client.index)?;
                if P::Wire::STOPS_ITSELF {
                    if let Err(error) = client.link.stop() {
                        let why = format!("could not stop a statement: {error}");
                        tally.count_error(&Fault::new(P::CODES.connection_lost, why));
                    }
                }
                client.detach();
            } else if client.link.socket().is_none() {
                tally.lost += 1;
            }
        }
        Ok(())
    }

    /// Ends every connection in order.
    pub fn disconnect(&mut self) {
        for client in &mut self.clients {
            client.terminate();
        }
    }
}
