//! The hot loop: one arm's clients on one thread, from the start of a slice until all are back.
//!
//! A transaction costs one receive, one send and one reading of the clock; by a ring its share of
//! one system call, else a call each and its share of an epoll call. Nothing here allocates,
//! formats or looks at a name unless something has gone wrong.

use std::io;
use std::sync::mpsc::Sender;

use mio::{Events, Interest};

use crate::arm::Arm;
use crate::client::{Client, Turn};
use crate::clock::now_ns;
use crate::connector::Connector;
use crate::course::Course;
use crate::crew::Crew;
use crate::link::{Loss, Received};
use crate::log::Log;
use crate::pace::Pace;
use crate::program::Programs;
use crate::ring::Told;
use crate::tally::Tally;
use crate::way::Way;
use crate::worker::Report;

/// Drives one slice; returns when every client is back, lost, or given up at the cap.
pub fn run_slice(
    crew: &mut Crew,
    programs: &Programs,
    course: &Course,
    buffer: &mut [u8],
    tally: &mut Tally,
    reports: &Sender<Report>,
) -> io::Result<()> {
    let Crew {
        arm,
        way,
        pace,
        connector,
        log,
        clients,
        thread,
        ..
    } = crew;
    pace.clear()?;
    let start_ns = now_ns();
    let bell_ns = start_ns.saturating_add(course.length_ns);
    tally.start_ns = start_ns;
    tally.bell_ns = bell_ns;
    let mut slice = Slice {
        arm,
        programs,
        course,
        way,
        pace,
        connector: connector.as_ref(),
        log: log.as_mut(),
        clients,
        buffer,
        tally,
        thread: *thread,
        reports,
        start_ns,
        bell_ns,
        now_ns: start_ns,
        tick_ns: course
            .progress_ns
            .map_or(u64::MAX, |progress_ns| start_ns + progress_ns),
        active: 0,
    };
    let lags = course.rate.is_some();
    if let Some(log) = &mut slice.log {
        log.begin(start_ns, lags);
    }
    slice.begin_all()?;
    slice.until_all_are_back()?;
    if lags && !course.is_by_count() {
        slice.tally.unstarted = slice.pace.arrivals.remaining();
    }
    if let Some(log) = &mut slice.log {
        log.end(slice.now_ns)?;
    }
    slice.pace.alarm.silence()
}

/// One slice on one thread.
pub(crate) struct Slice<'a> {
    pub arm: &'a Arm,
    pub programs: &'a Programs,
    pub course: &'a Course,
    pub way: &'a mut Way,
    pub pace: &'a mut Pace,
    pub connector: Option<&'a Connector>,
    pub log: Option<&'a mut Log>,
    pub clients: &'a mut [Client],
    buffer: &'a mut [u8],
    pub tally: &'a mut Tally,
    pub thread: usize,
    pub reports: &'a Sender<Report>,
    pub start_ns: u64,
    pub bell_ns: u64,
    /// The last reading of the clock: the end of one transaction is the begin of the next.
    pub now_ns: u64,
    /// When the next progress is due.
    pub tick_ns: u64,
    /// Clients that are not back yet.
    pub active: usize,
}

impl Slice<'_> {
    fn until_all_are_back(&mut self) -> io::Result<()> {
        self.pace
            .ring_by(self.course.look_ns(self.start_ns, self.now_ns))?;
        self.pace.ring_by(self.tick_ns)?;
        while self.active > 0 && self.tally.broken.is_none() {
            let before_ns = self.now_ns;
            let rung = match self.way {
                Way::Epoll { .. } => self.wait_by_epoll()?,
                Way::Ring(_) => self.wait_by_ring()?,
            };
            if self.now_ns == before_ns || rung {
                self.now_ns = now_ns();
            }
            if rung {
                self.answer_alarm()?;
            }
            if self.now_ns >= self.course.deadline_ns(self.start_ns) {
                self.give_up();
            }
        }
        self.tally.end_ns = self.now_ns;
        Ok(())
    }

    /// Waits for bytes or the alarm, which ends the wait at the cap, and attends to the bytes; true
    /// when the alarm has rung.
    #[inline]
    fn wait_by_epoll(&mut self) -> io::Result<bool> {
        let Way::Epoll { poll, events } = self.way else {
            return Ok(false);
        };
        match poll.poll(events, None) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        // The events are out of the way's hands while they are attended to.
        let heard = std::mem::replace(events, Events::with_capacity(0));
        let mut rung = false;
        for event in &heard {
            let place = event.token().0;
            if place < self.clients.len() {
                self.attend(place, event.is_read_closed())?;
            } else {
                rung = true;
            }
        }
        if let Way::Epoll { events, .. } = self.way {
            *events = heard;
        }
        Ok(rung)
    }

    /// The same by a ring: what is told has been received already.
    #[inline]
    fn wait_by_ring(&mut self) -> io::Result<bool> {
        if let Way::Ring(ring) = self.way {
            ring.wait()?;
        }
        let mut rung = false;
        while let Way::Ring(ring) = self.way {
            match ring.told() {
                None => break,
                Some(Told::Alarm) => rung = true,
                Some(Told::Unsent(place)) => self.clients[place].link.shut(),
                Some(Told::Received(place, buffer, length)) => {
                    let link = &mut self.clients[place].link;
                    let received = link.hear(ring.bytes(buffer, length));
                    ring.give_back(buffer);
                    if matches!(received, Ok(Received::Pending)) {
                        ring.listen(place)?;
                    }
                    self.take(place, received)?;
                }
                Some(Told::Ended(place, number)) => {
                    let loss = self.clients[place].link.ended(number);
                    self.take(place, Err(loss))?;
                }
            }
        }
        Ok(rung)
    }

    /// A ring has received for a client, busy or idle.
    #[inline]
    fn take(&mut self, place: usize, received: Result<Received, Loss>) -> io::Result<()> {
        let client = &self.clients[place];
        let waits = client.is_busy() && !client.is_asleep();
        match received {
            Ok(Received::Whole) if waits => self.go_on(place),
            Ok(_) => Ok(()),
            Err(loss) if waits => self.lose(place, loss),
            Err(loss) => self.lose_idle(place, loss),
        }
    }

    /// Bytes have come for a client; `closing`: they are its last ones.
    #[inline]
    fn attend(&mut self, place: usize, closing: bool) -> io::Result<()> {
        let client = &mut self.clients[place];
        if !client.is_busy() || client.is_asleep() {
            return self.attend_idle(place);
        }
        if client.link.has_unsent() {
            self.finish_sending(place)?;
        }
        let client = &mut self.clients[place];
        match client.link.receive(self.buffer, closing) {
            Ok(Received::Pending) => Ok(()),
            Ok(Received::Endless) => self.listen(place, Interest::READABLE),
            Ok(Received::Whole) => self.go_on(place),
            Err(loss) => self.lose(place, loss),
        }
    }

    /// The reply of a client is whole: its next request, or the end of its transaction.
    #[inline]
    fn go_on(&mut self, place: usize) -> io::Result<()> {
        let turn = match self.clients[place].turn(self.programs, self.tally) {
            Ok(Turn::Ended(worked)) => {
                self.now_ns = now_ns();
                self.account(place, worked);
                match self.next(place)? {
                    Some(begun) => begun,
                    None => return Ok(()),
                }
            }
            other => other,
        };
        self.follow(place, turn)
    }

    /// After a turn that came of no reply: it waits for the server, for a time, or is done.
    #[inline]
    pub(crate) fn follow(&mut self, place: usize, turn: Result<Turn, Loss>) -> io::Result<()> {
        match turn {
            Ok(Turn::Sent) if !self.clients[place].link.has_unsent() => Ok(()),
            Ok(Turn::Sent) => match self.way {
                Way::Ring(ring) => ring.exchange(place, self.clients[place].link.take_unsent()),
                Way::Epoll { .. } => self.listen(place, Interest::READABLE | Interest::WRITABLE),
            },
            Ok(Turn::Asleep(ns)) => {
                self.now_ns = now_ns();
                self.pace.nap(self.now_ns.saturating_add(ns), place)
            }
            Ok(Turn::Ended(worked)) => {
                self.now_ns = now_ns();
                self.account(place, worked);
                // The server said nothing: the others are heard before this client goes on.
                self.pace.nap(self.now_ns, place)
            }
            Err(loss) => self.lose(place, loss),
        }
    }

    /// Counts a transaction that has ended now.
    #[inline(always)]
    fn account(&mut self, place: usize, worked: bool) {
        let client = &self.clients[place];
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
    fn finish_sending(&mut self, place: usize) -> io::Result<()> {
        let client = &mut self.clients[place];
        match client.link.flush() {
            Err(loss) => self.lose(place, loss),
            Ok(()) if client.link.has_unsent() => Ok(()),
            Ok(()) => self.listen(place, Interest::READABLE),
        }
    }

    /// (Re)arms a client's events.
    #[cold]
    fn listen(&mut self, place: usize, interest: Interest) -> io::Result<()> {
        match self.clients[place].link.socket() {
            Some(socket) => self.way.listen(place, socket, interest),
            None => Ok(()),
        }
    }

    /// An idle client hears from its server: a notice, or the end of the connection.
    #[cold]
    fn attend_idle(&mut self, place: usize) -> io::Result<()> {
        match self.clients[place].link.receive(self.buffer, true) {
            Ok(_) => Ok(()),
            Err(loss) => self.lose_idle(place, loss),
        }
    }

    /// A client that waits for no reply has lost its connection: a sleeping one in the middle of a
    /// transaction.
    #[cold]
    fn lose_idle(&mut self, place: usize, loss: Loss) -> io::Result<()> {
        if self.clients[place].is_asleep() {
            return self.lose(place, loss);
        }
        if let Loss::Connection { sqlstate, message } = loss {
            self.tally.count_error(&sqlstate, &message);
        }
        self.way.release(place)?;
        self.clients[place].detach();
        self.forget_idle(place);
        Ok(())
    }

    /// A busy client has lost its connection, or its script cannot go on.
    #[cold]
    pub(crate) fn lose(&mut self, place: usize, loss: Loss) -> io::Result<()> {
        match loss {
            Loss::Connection { sqlstate, message } => self.tally.count_error(&sqlstate, &message),
            Loss::Script(message) => self.tally.broken = Some(message),
        }
        self.way.release(place)?;
        self.clients[place].detach();
        self.tally.failed += 1;
        self.active -= 1;
        self.now_ns = now_ns();
        self.charge_absence();
        Ok(())
    }

    /// A client without a connection does no work until the bell; by count there is none to wait
    /// for.
    #[cold]
    pub(crate) fn charge_absence(&mut self) {
        let until_ns = if self.course.is_by_count() {
            self.now_ns
        } else {
            self.bell_ns.max(self.now_ns)
        };
        self.tally.busy_ns += until_ns - self.start_ns;
    }

    /// The cap: clients that are not back are charged until now, and left to be cancelled.
    #[cold]
    fn give_up(&mut self) {
        for _ in self.clients.iter().filter(|client| client.is_busy()) {
            self.tally.busy_ns += self.now_ns - self.start_ns;
            self.tally.capped += 1;
        }
        self.active = 0;
    }
}
