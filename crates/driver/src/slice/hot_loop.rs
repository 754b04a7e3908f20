//! Runs the hot loop: drives the clients of one arm on one thread for one slice.
//!
//! A transaction costs one receive, one send and one reading of the clock; by a ring its share of
//! one system call, else a call each and its share of an epoll call. Nothing here allocates,
//! formats or looks at a name unless something has gone wrong, and nothing names a protocol.

use std::io;
use std::sync::mpsc::Sender;

use mio::{Events, Interest};

use crate::cancellation::is_shutting_down;
use crate::client::program::Programs;
use crate::client::{Client, Turn};
use crate::clock::now_ns;
use crate::connection::connector::Connector;
use crate::connection::link::{ClientError, Received};
use crate::io_backend::ring::Completion;
use crate::io_backend::IoBackend;
use crate::protocol::Protocol;
use crate::report::log::Log;
use crate::report::tally::Tally;
use crate::slice::limits::SliceLimits;
use crate::slice::replay::OwnArrivals;
use crate::slice::schedule::Schedule;
use crate::threads::arm::Arm;
use crate::threads::client_group::ClientGroup;
use crate::threads::worker::Report;

/// Drives one slice; returns when every client is idle, lost, or given up at the cap.
pub fn run_slice<P: Protocol>(
    group: &mut ClientGroup<P>,
    programs: &Programs<P>,
    limits: &SliceLimits,
    buffer: &mut [u8],
    tally: &mut Tally,
    reports: &Sender<Report>,
) -> io::Result<()> {
    prepare_arrivals(group, programs, limits);
    let ClientGroup {
        arm,
        backend,
        schedule,
        connector,
        log,
        clients,
        thread,
        ..
    } = group;
    schedule.clear()?;
    let start_ns = now_ns();
    let stop_ns = start_ns.saturating_add(limits.length_ns);
    tally.start_ns = start_ns;
    tally.stop_ns = stop_ns;
    let mut slice = Slice {
        arm,
        programs,
        limits,
        backend,
        schedule,
        connector: connector.as_ref(),
        log: log.as_mut(),
        clients,
        buffer,
        tally,
        thread: *thread,
        reports,
        start_ns,
        stop_ns,
        now_ns: start_ns,
        tick_ns: limits
            .progress_ns
            .map_or(u64::MAX, |progress_ns| start_ns + progress_ns),
        active: 0,
    };
    let lags = limits.is_open();
    if let Some(log) = &mut slice.log {
        log.begin(start_ns, lags);
    }
    slice.start_all()?;
    slice.run_until_idle()?;
    if lags && !limits.is_by_count() {
        let until_ns = match is_shutting_down() {
            true => slice.now_ns,
            false => stop_ns,
        };
        slice.tally.unstarted = slice.schedule.arrivals.pass_due(until_ns);
    }
    if let Some(log) = &mut slice.log {
        log.end(slice.now_ns)?;
    }
    slice.schedule.timer.disarm()
}

/// Has the arrivals of a slice ready before its clock starts.
fn prepare_arrivals<P: Protocol>(
    group: &mut ClientGroup<P>,
    programs: &Programs<P>,
    limits: &SliceLimits,
) {
    let (clients, all) = (group.clients.len(), group.arm.clients);
    let arrivals = &mut group.schedule.arrivals;
    if let Some(rate) = limits.rate {
        arrivals.prepare(limits.length_ns, rate * (clients as f64 / all as f64));
    }
    if let (Some(from_ns), Some(replay)) = (limits.from_ns, &programs.replay) {
        let own = || OwnArrivals::new(replay, from_ns, all, group.threads, group.thread);
        arrivals.follow(limits.length_ns, (clients > 0).then(own));
    }
}

/// One slice on one thread.
pub(crate) struct Slice<'a, P: Protocol> {
    pub arm: &'a Arm<P>,
    pub programs: &'a Programs<P>,
    pub limits: &'a SliceLimits,
    pub backend: &'a mut IoBackend,
    pub schedule: &'a mut Schedule,
    pub connector: Option<&'a Connector<P>>,
    pub log: Option<&'a mut Log>,
    pub clients: &'a mut [Client<P>],
    buffer: &'a mut [u8],
    pub tally: &'a mut Tally,
    pub thread: usize,
    pub reports: &'a Sender<Report>,
    pub start_ns: u64,
    pub stop_ns: u64,
    /// The last reading of the clock: the end of one transaction is the begin of the next.
    pub now_ns: u64,
    /// When the next progress is due.
    pub tick_ns: u64,
    /// Clients that are not done yet.
    pub active: usize,
}

impl<P: Protocol> Slice<'_, P> {
    fn run_until_idle(&mut self) -> io::Result<()> {
        self.schedule
            .wake_by(self.limits.look_ns(self.start_ns, self.now_ns))?;
        self.schedule.wake_by(self.tick_ns)?;
        while self.active > 0 && self.tally.script_error.is_none() {
            let before_ns = self.now_ns;
            let woken = match self.backend {
                IoBackend::Epoll { .. } => self.wait_by_epoll()?,
                IoBackend::Ring(_) => self.wait_by_ring()?,
            };
            if self.now_ns == before_ns || woken {
                self.now_ns = now_ns();
            }
            if woken {
                self.handle_wakeup()?;
            }
            if self.tally.aborted.is_some() {
                self.limits.abort();
            }
            if self.limits.is_aborted() || self.now_ns >= self.limits.deadline_ns(self.start_ns) {
                self.give_up();
            }
        }
        self.tally.end_ns = self.now_ns;
        Ok(())
    }

    /// Waits for bytes or a wake-up, which ends the wait at the cap, and handles the bytes; true
    /// when it was woken.
    #[inline]
    fn wait_by_epoll(&mut self) -> io::Result<bool> {
        let IoBackend::Epoll { poll, events } = self.backend else {
            return Ok(false);
        };
        match poll.poll(events, None) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        // The backend is used while its events are handled, so they are taken out of it.
        let events = std::mem::replace(events, Events::with_capacity(0));
        let mut woken = false;
        for event in &events {
            let index = event.token().0;
            if index < self.clients.len() {
                self.handle_event(index, event.is_read_closed())?;
            } else {
                woken = true;
            }
        }
        if let IoBackend::Epoll { events: empty, .. } = self.backend {
            *empty = events;
        }
        Ok(woken)
    }

    /// The same by a ring, which has received the bytes already.
    #[inline]
    fn wait_by_ring(&mut self) -> io::Result<bool> {
        if let IoBackend::Ring(ring) = self.backend {
            ring.wait()?;
        }
        let mut woken = false;
        while let IoBackend::Ring(ring) = self.backend {
            match ring.next_completion() {
                None => break,
                Some(Completion::Woken) => woken = true,
                Some(Completion::Unsent(index)) => self.clients[index].link.shut_down(),
                Some(Completion::Received(index, buffer, length)) => {
                    let link = &mut self.clients[index].link;
                    let received = link.feed(ring.bytes(buffer, length));
                    ring.give_back(buffer);
                    if matches!(received, Ok(Received::Pending)) {
                        ring.receive_next(index)?;
                    }
                    self.handle_received(index, received)?;
                }
                Some(Completion::Ended(index, number)) => {
                    let error = self.clients[index].link.ended(number);
                    self.handle_received(index, Err(error))?;
                }
            }
        }
        Ok(woken)
    }

    /// A ring has received for a client, busy or idle.
    #[inline]
    fn handle_received(
        &mut self,
        index: usize,
        received: Result<Received, ClientError>,
    ) -> io::Result<()> {
        let client = &self.clients[index];
        let waits = client.is_busy() && !client.is_asleep();
        match received {
            Ok(Received::Whole) if waits => self.continue_client(index),
            Ok(_) => Ok(()),
            Err(error) if waits => self.drop_client(index, error),
            Err(error) => self.drop_idle_client(index, error),
        }
    }

    /// Bytes have come for a client; `closing`: they are its last ones.
    #[inline]
    fn handle_event(&mut self, index: usize, closing: bool) -> io::Result<()> {
        let client = &mut self.clients[index];
        if !client.is_busy() || client.is_asleep() {
            return self.handle_idle_event(index);
        }
        if client.link.has_unsent() {
            self.finish_sending(index)?;
        }
        let client = &mut self.clients[index];
        match client.link.receive(self.buffer, closing) {
            Ok(Received::Pending) => Ok(()),
            Ok(Received::Endless) => self.rearm(index, Interest::READABLE),
            Ok(Received::Whole) => self.continue_client(index),
            Err(error) => self.drop_client(index, error),
        }
    }

    /// The reply of a client is whole: its next request, or the end of its transaction.
    #[inline]
    fn continue_client(&mut self, index: usize) -> io::Result<()> {
        let turn = match self.clients[index].turn(self.programs, self.tally) {
            Ok(Turn::Ended(worked)) => {
                self.now_ns = now_ns();
                self.count_transaction(index, worked);
                match self.next(index)? {
                    Some(begun) => begun,
                    None => return Ok(()),
                }
            }
            other => other,
        };
        self.follow(index, turn)
    }

    /// Acts on a turn: the client waits for the server, for a time, or has ended its transaction.
    #[inline]
    pub(crate) fn follow(
        &mut self,
        index: usize,
        turn: Result<Turn, ClientError>,
    ) -> io::Result<()> {
        match turn {
            Ok(Turn::Sent) if !self.clients[index].link.has_unsent() => Ok(()),
            Ok(Turn::Sent) => match self.backend {
                IoBackend::Ring(ring) => {
                    ring.exchange(index, self.clients[index].link.take_unsent())
                }
                IoBackend::Epoll { .. } => {
                    self.rearm(index, Interest::READABLE | Interest::WRITABLE)
                }
            },
            Ok(Turn::Asleep(ns)) => {
                self.now_ns = now_ns();
                self.schedule
                    .sleep_until(self.now_ns.saturating_add(ns), index)
            }
            Ok(Turn::Ended(worked)) => {
                self.now_ns = now_ns();
                self.count_transaction(index, worked);
                // The server was not waited for: other clients come first, before this one goes on.
                self.schedule.sleep_until(self.now_ns, index)
            }
            Err(error) => self.drop_client(index, error),
        }
    }

    /// Counts a transaction that has ended now.
    #[inline(always)]
    fn count_transaction(&mut self, index: usize, worked: bool) {
        let client = &self.clients[index];
        let latency_ns = self.now_ns.saturating_sub(client.begin_ns);
        if worked {
            self.tally.count(client.script, latency_ns);
            if let Some(limit_ns) = self.programs.latency_limit_ns {
                self.tally.over_limit += u64::from(latency_ns > limit_ns);
            }
        } else {
            self.tally.failed += 1;
        }
        if let Some(log) = &mut self.log {
            log.transaction(client, self.now_ns, worked.then_some(latency_ns));
        }
    }

    #[cold]
    fn finish_sending(&mut self, index: usize) -> io::Result<()> {
        let client = &mut self.clients[index];
        match client.link.flush() {
            Err(error) => self.drop_client(index, error),
            Ok(()) if client.link.has_unsent() => Ok(()),
            Ok(()) => self.rearm(index, Interest::READABLE),
        }
    }

    /// Arms a client's events again.
    #[cold]
    fn rearm(&mut self, index: usize, interest: Interest) -> io::Result<()> {
        match self.clients[index].link.socket() {
            Some(socket) => self.backend.rearm(index, socket, interest),
            None => Ok(()),
        }
    }

    /// The server of an idle client sends a notice, or ends the connection.
    #[cold]
    fn handle_idle_event(&mut self, index: usize) -> io::Result<()> {
        match self.clients[index].link.receive(self.buffer, true) {
            Ok(_) => Ok(()),
            Err(error) => self.drop_idle_client(index, error),
        }
    }
}
