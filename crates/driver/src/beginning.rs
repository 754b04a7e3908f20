//! When the transactions of a slice begin: one after the other, or as they arrive; and what the
//! alarm is for.

use std::io;

use crate::client::Turn;
use crate::clock::now_ns;
use crate::connector::Connector;
use crate::crew::attach;
use crate::hot::Slice;
use crate::leaving::is_leaving;
use crate::link::Loss;
use crate::worker::Report;

type Begun = Result<Turn, Loss>;

impl Slice<'_> {
    pub(crate) fn begin_all(&mut self) -> io::Result<()> {
        if let Some(rate) = self.course.rate {
            let share = self.clients.len() as f64 / self.arm.clients as f64;
            if share > 0.0 {
                let arrivals = &mut self.pace.arrivals;
                arrivals.draw(self.start_ns, self.bell_ns, rate * share);
            }
        }
        for place in 0..self.clients.len() {
            let client = &mut self.clients[place];
            client.quota = self.course.each.unwrap_or(u64::MAX);
            if client.link.socket().is_none() {
                self.charge_absence();
                continue;
            }
            self.active += 1;
            if self.course.rate.is_some() {
                self.pace.idle.push(place);
            } else if let Some(begun) = self.next_closed(place, false)? {
                self.follow(place, begun)?;
            }
        }
        self.now_ns = now_ns();
        if self.course.rate.is_some() {
            self.serve_arrivals()?;
        }
        Ok(())
    }

    /// The next transaction of a client that is done; `None`: it waits, or is back.
    #[inline(always)]
    pub(crate) fn next(&mut self, place: usize) -> io::Result<Option<Begun>> {
        if self.course.rate.is_some() {
            return self.next_open(place);
        }
        self.next_closed(place, true)
    }

    #[inline]
    fn next_closed(&mut self, place: usize, used: bool) -> io::Result<Option<Begun>> {
        let client = &mut self.clients[place];
        let over = self.now_ns >= self.bell_ns || client.quota == 0 || is_leaving();
        if over || !self.course.admits(self.now_ns) {
            // A client that never began was not busy.
            if used {
                self.tally.busy_ns += self.now_ns - self.start_ns;
            }
            self.active -= 1;
            return Ok(None);
        }
        client.quota -= 1;
        if used && self.reconnects(place, self.now_ns)? {
            return Ok(None);
        }
        let client = &mut self.clients[place];
        let begun = client.begin(self.arm, self.programs, self.now_ns, self.tally);
        Ok(Some(begun))
    }

    /// In an open loop a client takes the oldest arrival that waits, or waits for one.
    #[cold]
    fn next_open(&mut self, place: usize) -> io::Result<Option<Begun>> {
        let waits = self.oldest_arrival(place);
        if self.has_ended(place) {
            self.leave();
            return Ok(None);
        }
        match waits {
            Some(at_ns) => {
                self.tally.late_starts += 1;
                self.begin_arrival(place, at_ns)
            }
            None => {
                self.pace.idle.push(place);
                self.ring_for_arrival()?;
                Ok(None)
            }
        }
    }

    /// The oldest arrival that is due and not too late; those that are too late are skipped.
    fn oldest_arrival(&mut self, place: usize) -> Option<u64> {
        while let Some(at_ns) = self
            .pace
            .arrivals
            .peek()
            .filter(|&at_ns| at_ns <= self.now_ns)
        {
            let client = &mut self.clients[place];
            let late_ns = self.now_ns - at_ns;
            let limit_ns = self.programs.latency_limit_ns.unwrap_or(u64::MAX);
            if late_ns <= limit_ns || client.quota == 0 || self.now_ns >= self.bell_ns {
                return Some(at_ns);
            }
            self.pace.arrivals.pass();
            client.quota -= 1;
            self.tally.skipped += 1;
            if let Some(log) = &mut self.log {
                log.skipped(client, self.now_ns);
            }
        }
        None
    }

    fn has_ended(&self, place: usize) -> bool {
        self.now_ns >= self.bell_ns || self.clients[place].quota == 0 || is_leaving()
    }

    /// A client of an open loop is back: it was there for its work until the bell.
    fn leave(&mut self) {
        let until_ns = match self.course.is_by_count() {
            true => self.now_ns,
            false => self.now_ns.max(self.bell_ns),
        };
        self.tally.busy_ns += until_ns - self.start_ns;
        self.active -= 1;
    }

    /// A client that waited for an arrival has lost its connection.
    #[cold]
    pub(crate) fn forget_idle(&mut self, place: usize) {
        let idle = &mut self.pace.idle;
        if let Some(at) = idle.iter().position(|&waits| waits == place) {
            idle.swap_remove(at);
            self.active -= 1;
            self.charge_absence();
        }
    }

    fn begin_arrival(&mut self, place: usize, at_ns: u64) -> io::Result<Option<Begun>> {
        if !self.course.admits(self.now_ns) {
            self.leave();
            return Ok(None);
        }
        self.pace.arrivals.pass();
        self.clients[place].quota -= 1;
        if self.reconnects(place, at_ns)? {
            return Ok(None);
        }
        self.tally.count_lag(self.now_ns - at_ns);
        let client = &mut self.clients[place];
        client.lag_ns = self.now_ns - at_ns;
        let begun = client.begin(self.arm, self.programs, at_ns, self.tally);
        Ok(Some(begun))
    }

    /// Gives arrivals that are due to clients that wait for them.
    fn serve_arrivals(&mut self) -> io::Result<()> {
        while let Some(&place) = self.pace.idle.last() {
            let due = self.oldest_arrival(place);
            if self.has_ended(place) {
                self.pace.idle.pop();
                self.leave();
            } else if let Some(at_ns) = due {
                self.pace.idle.pop();
                if let Some(begun) = self.begin_arrival(place, at_ns)? {
                    self.follow(place, begun)?;
                }
            } else {
                return self.ring_for_arrival();
            }
        }
        Ok(())
    }

    /// While a client waits, the alarm rings at the next arrival, or at the bell.
    fn ring_for_arrival(&mut self) -> io::Result<()> {
        let next_ns = self.pace.arrivals.peek().unwrap_or(u64::MAX);
        self.pace.ring_by(next_ns.min(self.bell_ns))
    }

    /// The alarm has rung: for a sleep, an arrival, the bell, progress, or the cap.
    #[cold]
    pub(crate) fn answer_alarm(&mut self) -> io::Result<()> {
        self.pace.hear();
        if let Some(connector) = self.connector {
            self.take_connections(connector)?;
        }
        while let Some(place) = self.pace.waking(self.now_ns) {
            let client = &mut self.clients[place];
            if client.is_asleep() {
                let turn = client.wake(self.programs, self.tally);
                self.follow(place, turn)?;
            } else if !client.is_busy() && client.link.socket().is_some() {
                if let Some(begun) = self.next(place)? {
                    self.follow(place, begun)?;
                }
                // A script that waits for nothing would never let the others be heard.
                self.now_ns = now_ns();
                break;
            }
        }
        if self.course.rate.is_some() {
            self.serve_arrivals()?;
        }
        if self.now_ns >= self.tick_ns {
            let every_ns = self.course.progress_ns.unwrap_or(u64::MAX / 2);
            let snapshot = self.tally.snapshot();
            // A coordinator that is gone wants no progress.
            let _ = self.reports.send(Report::Progress(self.thread, snapshot));
            self.tick_ns += every_ns;
        }
        if let Some(nap_ns) = self.pace.first_nap_ns() {
            self.pace.ring_by(nap_ns)?;
        }
        self.pace.ring_by(self.tick_ns)?;
        self.pace
            .ring_by(self.course.look_ns(self.start_ns, self.now_ns))
    }

    /// A connection of its own for the next transaction, which counts from `begin_ns`: the old one
    /// goes first. False: the client is connected for good.
    #[inline]
    fn reconnects(&mut self, place: usize, begin_ns: u64) -> io::Result<bool> {
        match self.connector {
            None => Ok(false),
            Some(connector) => {
                self.way.release(place)?;
                self.clients[place].await_connection(begin_ns);
                connector.ask(place);
                Ok(true)
            }
        }
    }

    /// Connections that were asked for are there: their transactions begin.
    #[cold]
    fn take_connections(&mut self, connector: &Connector) -> io::Result<()> {
        connector.hear();
        while let Some(made) = connector.made() {
            let client = &mut self.clients[made.place];
            self.tally.connections += 1;
            self.tally.connect_ns += made.took_ns;
            let attached = made
                .outcome
                .and_then(|connection| attach(self.arm, self.way, client, connection));
            self.now_ns = now_ns();
            let begun = match attached {
                Err(error) => Err(unreachable_now(&error)),
                // What a client that is let in late would begin belongs to nobody.
                Ok(_) if is_leaving() => Ok(Turn::Ended(false)),
                Ok(_) => self.begin_connected(made.place),
            };
            self.follow(made.place, begun)?;
        }
        Ok(())
    }

    fn begin_connected(&mut self, place: usize) -> Begun {
        let client = &mut self.clients[place];
        // In a closed loop connecting is not part of the latency.
        let mut begin_ns = self.now_ns;
        if self.course.rate.is_some() {
            begin_ns = client.begin_ns;
            client.lag_ns = self.now_ns - begin_ns;
            self.tally.count_lag(client.lag_ns);
        }
        client.begin(self.arm, self.programs, begin_ns, self.tally)
    }
}

/// The server took no connection (sqlclient_unable_to_establish_sqlconnection).
fn unreachable_now(error: &impl ToString) -> Loss {
    Loss::Connection {
        sqlstate: "08001".to_owned(),
        message: error.to_string(),
    }
}
