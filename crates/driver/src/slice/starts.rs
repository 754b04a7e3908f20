//! Starts the transactions of a slice: one after the other, or as they arrive; handles wake-ups.

use std::io;

use crate::cancellation::is_shutting_down;
use crate::client::Turn;
use crate::clock::now_ns;
use crate::connection::connector::Connector;
use crate::connection::link::ClientError;
use crate::protocol::{Fault, Protocol};
use crate::slice::hot_loop::Slice;
use crate::threads::client_group::attach;
use crate::threads::worker::Report;

type Begun = Result<Turn, ClientError>;

impl<P: Protocol> Slice<'_, P> {
    pub(crate) fn start_all(&mut self) -> io::Result<()> {
        self.schedule.arrivals.begin(self.start_ns);
        for index in 0..self.clients.len() {
            let client = &mut self.clients[index];
            client.quota = self.limits.each.unwrap_or(u64::MAX);
            if client.link.socket().is_none() {
                self.charge_absence();
                continue;
            }
            self.active += 1;
            if self.limits.is_open() {
                self.schedule.idle.push(index);
            } else if let Some(begun) = self.next_closed(index, false)? {
                self.follow(index, begun)?;
            }
        }
        self.now_ns = now_ns();
        if self.limits.is_open() {
            self.serve_arrivals()?;
        }
        Ok(())
    }

    /// The next transaction of a client whose last one has ended; `None`: it waits, or is done.
    #[inline(always)]
    pub(crate) fn next(&mut self, index: usize) -> io::Result<Option<Begun>> {
        if self.limits.is_open() {
            return self.next_open(index);
        }
        self.next_closed(index, true)
    }

    #[inline]
    fn next_closed(&mut self, index: usize, used: bool) -> io::Result<Option<Begun>> {
        let client = &mut self.clients[index];
        let over = self.now_ns >= self.stop_ns || client.quota == 0 || is_shutting_down();
        if over || !self.limits.admits(self.now_ns) {
            // A client that never began was not busy.
            if used {
                self.tally.busy_ns += self.now_ns - self.start_ns;
            }
            self.active -= 1;
            return Ok(None);
        }
        client.quota -= 1;
        if used && self.reconnects(index, self.now_ns)? {
            return Ok(None);
        }
        let client = &mut self.clients[index];
        let begun = client.begin(self.arm, self.programs, self.now_ns, self.tally);
        Ok(Some(begun))
    }

    /// In an open loop a client takes the oldest arrival that waits, or waits for one.
    #[cold]
    fn next_open(&mut self, index: usize) -> io::Result<Option<Begun>> {
        let waits = self.oldest_arrival(index);
        if self.has_ended(index) {
            self.retire();
            return Ok(None);
        }
        match waits {
            Some(at_ns) => {
                self.tally.late_starts += 1;
                self.begin_arrival(index, at_ns)
            }
            None => {
                self.schedule.idle.push(index);
                self.wake_for_arrival()?;
                Ok(None)
            }
        }
    }

    /// The oldest arrival that is due and not too late; those that are too late are skipped.
    fn oldest_arrival(&mut self, index: usize) -> Option<u64> {
        while let Some(at_ns) = self
            .schedule
            .arrivals
            .peek()
            .filter(|&at_ns| at_ns <= self.now_ns)
        {
            let client = &mut self.clients[index];
            let late_ns = self.now_ns - at_ns;
            let limit_ns = self.programs.latency_limit_ns.unwrap_or(u64::MAX);
            if late_ns <= limit_ns || client.quota == 0 || self.now_ns >= self.stop_ns {
                return Some(at_ns);
            }
            self.schedule.arrivals.pass();
            client.quota -= 1;
            self.tally.skipped += 1;
            if let Some(log) = &mut self.log {
                log.skipped(client, self.now_ns);
            }
        }
        None
    }

    fn has_ended(&self, index: usize) -> bool {
        self.now_ns >= self.stop_ns || self.clients[index].quota == 0 || is_shutting_down()
    }

    /// A client of an open loop is done: it was ready for work until the slice stopped.
    fn retire(&mut self) {
        let until_ns = match self.limits.is_by_count() {
            true => self.now_ns,
            false => self.now_ns.max(self.stop_ns),
        };
        self.tally.busy_ns += until_ns - self.start_ns;
        self.active -= 1;
    }

    /// A client that waited for an arrival has lost its connection.
    #[cold]
    pub(crate) fn forget_idle(&mut self, index: usize) {
        let idle = &mut self.schedule.idle;
        if let Some(at) = idle.iter().position(|&waits| waits == index) {
            idle.swap_remove(at);
            self.active -= 1;
            self.charge_absence();
        }
    }

    fn begin_arrival(&mut self, index: usize, at_ns: u64) -> io::Result<Option<Begun>> {
        if !self.limits.admits(self.now_ns) {
            self.retire();
            return Ok(None);
        }
        self.clients[index].arrived = self.schedule.arrivals.script();
        self.schedule.arrivals.pass();
        self.clients[index].quota -= 1;
        if self.reconnects(index, at_ns)? {
            return Ok(None);
        }
        self.tally.count_lag(self.now_ns - at_ns);
        let client = &mut self.clients[index];
        client.lag_ns = self.now_ns - at_ns;
        let begun = client.begin(self.arm, self.programs, at_ns, self.tally);
        Ok(Some(begun))
    }

    /// Gives arrivals that are due to clients that wait for them.
    fn serve_arrivals(&mut self) -> io::Result<()> {
        while let Some(&index) = self.schedule.idle.last() {
            let due = self.oldest_arrival(index);
            if self.has_ended(index) {
                self.schedule.idle.pop();
                self.retire();
            } else if let Some(at_ns) = due {
                self.schedule.idle.pop();
                if let Some(begun) = self.begin_arrival(index, at_ns)? {
                    self.follow(index, begun)?;
                }
            } else {
                return self.wake_for_arrival();
            }
        }
        Ok(())
    }

    /// While a client waits, the timer expires at the next arrival, or when the slice stops.
    fn wake_for_arrival(&mut self) -> io::Result<()> {
        let next_ns = self.schedule.arrivals.peek().unwrap_or(u64::MAX);
        self.schedule.wake_by(next_ns.min(self.stop_ns))
    }

    /// Woken: for a sleep, an arrival, the end of the slice, progress, or the cap.
    #[cold]
    pub(crate) fn handle_wakeup(&mut self) -> io::Result<()> {
        self.schedule.acknowledge();
        if let Some(connector) = self.connector {
            self.take_connections(connector)?;
        }
        while let Some(index) = self.schedule.next_due(self.now_ns) {
            let client = &mut self.clients[index];
            if client.is_asleep() {
                let turn = client.wake(self.programs, self.tally);
                self.follow(index, turn)?;
            } else if !client.is_busy() && client.link.socket().is_some() {
                if let Some(begun) = self.next(index)? {
                    self.follow(index, begun)?;
                }
                // A script that waits for nothing would starve the other clients.
                self.now_ns = now_ns();
                break;
            }
        }
        if self.limits.is_open() {
            self.serve_arrivals()?;
        }
        if self.now_ns >= self.tick_ns {
            let every_ns = self.limits.progress_ns.unwrap_or(u64::MAX / 2);
            let snapshot = self.tally.snapshot();
            // An error means that the coordinator has ended: progress is then not needed.
            let _ = self.reports.send(Report::Progress(self.thread, snapshot));
            self.tick_ns += every_ns;
        }
        if let Some(due_ns) = self.schedule.first_due_ns() {
            self.schedule.wake_by(due_ns)?;
        }
        self.schedule.wake_by(self.tick_ns)?;
        self.schedule
            .wake_by(self.limits.look_ns(self.start_ns, self.now_ns))
    }

    /// Requests a connection for the next transaction, which counts from `begin_ns`, and closes the
    /// old one. False: the client is connected for good.
    #[inline]
    fn reconnects(&mut self, index: usize, begin_ns: u64) -> io::Result<bool> {
        match self.connector {
            None => Ok(false),
            Some(connector) => {
                self.backend.release(index)?;
                self.clients[index].await_connection(begin_ns);
                connector.request(index);
                Ok(true)
            }
        }
    }

    /// Starts the transactions whose connections are there.
    #[cold]
    fn take_connections(&mut self, connector: &Connector<P>) -> io::Result<()> {
        connector.acknowledge();
        while let Some(outcome) = connector.next_outcome() {
            let client = &mut self.clients[outcome.index];
            self.tally.connections += 1;
            self.tally.connect_ns += outcome.took_ns;
            let attached = outcome
                .connection
                .and_then(|connection| attach(self.arm, self.backend, client, connection));
            self.now_ns = now_ns();
            let begun = match attached {
                Err(error) => Err(ClientError::Connection(Fault::new(
                    P::CODES.cannot_connect,
                    error,
                ))),
                // The process ends: no transaction is started that would not be counted.
                Ok(_) if is_shutting_down() => Ok(Turn::Ended(false)),
                Ok(_) => self.begin_connected(outcome.index),
            };
            self.follow(outcome.index, begun)?;
        }
        Ok(())
    }

    fn begin_connected(&mut self, index: usize) -> Begun {
        let client = &mut self.clients[index];
        // In a closed loop connecting is not part of the latency.
        let mut begin_ns = self.now_ns;
        if self.limits.is_open() {
            begin_ns = client.begin_ns;
            client.lag_ns = self.now_ns - begin_ns;
            self.tally.count_lag(client.lag_ns);
        }
        client.begin(self.arm, self.programs, begin_ns, self.tally)
    }
}
