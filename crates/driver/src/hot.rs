//! The hot loop: one arm's clients on one thread, from the start of a slice until all are back.
//!
//! A transaction costs one receive, one send, one reading of the clock and its share of an epoll
//! call. Nothing here allocates, formats or looks at a name unless something has gone wrong.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::mpsc::Sender;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::arm::Arm;
use crate::client::{Client, Turn};
use crate::clock::now_ns;
use crate::course::Course;
use crate::crew::Crew;
use crate::link::{Loss, Received};
use crate::log::Log;
use crate::pace::Pace;
use crate::program::Programs;
use crate::tally::Tally;
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
        poll,
        events,
        pace,
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
        poll,
        pace,
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
    slice.until_all_are_back(events)?;
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
    pub poll: &'a mut Poll,
    pub pace: &'a mut Pace,
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
    fn until_all_are_back(&mut self, events: &mut Events) -> io::Result<()> {
        self.pace
            .ring_by(self.course.look_ns(self.start_ns, self.now_ns))?;
        self.pace.ring_by(self.tick_ns)?;
        while self.active > 0 && self.tally.broken.is_none() {
            // The alarm ends the wait at the cap.
            match self.poll.poll(events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let before_ns = self.now_ns;
            let mut rung = false;
            for event in events.iter() {
                let place = event.token().0;
                if place < self.clients.len() {
                    self.attend(place, event.is_read_closed())?;
                } else {
                    rung = true;
                }
            }
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

    /// Bytes have come for a client; `closing`: they are its last ones.
    #[inline]
    fn attend(&mut self, place: usize, closing: bool) -> io::Result<()> {
        let client = &mut self.clients[place];
        if !client.is_busy() || client.is_asleep() {
            self.attend_idle(place);
            return Ok(());
        }
        if client.link.has_unsent() {
            self.finish_sending(place)?;
        }
        let client = &mut self.clients[place];
        let turn = match client.link.receive(self.buffer, closing) {
            Ok(Received::Pending) => return Ok(()),
            Ok(Received::Endless) => return listen(self.poll, client, Interest::READABLE),
            Err(loss) => Err(loss),
            Ok(Received::Whole) => client.turn(self.programs, self.tally),
        };
        let turn = match turn {
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
            Ok(Turn::Sent) => listen(
                self.poll,
                &self.clients[place],
                Interest::READABLE | Interest::WRITABLE,
            ),
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
            Err(loss) => {
                self.lose(place, loss);
                Ok(())
            }
        }
    }

    /// Counts a transaction that has ended now.
    #[inline]
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
            Ok(()) if client.link.has_unsent() => {}
            Ok(()) => listen(self.poll, client, Interest::READABLE)?,
        }
        Ok(())
    }

    /// An idle client hears from its server: a notice, or the end of the connection.
    #[cold]
    fn attend_idle(&mut self, place: usize) {
        let client = &mut self.clients[place];
        let heard = client.link.receive(self.buffer, true);
        if let Err(Loss::Connection { sqlstate, message }) = heard {
            if self.clients[place].is_asleep() {
                self.lose(place, Loss::Connection { sqlstate, message });
            } else {
                self.tally.count_error(&sqlstate, &message);
                self.clients[place].detach();
                self.forget_idle(place);
            }
        }
    }

    /// A busy client has lost its connection, or its script cannot go on.
    #[cold]
    pub(crate) fn lose(&mut self, place: usize, loss: Loss) {
        match loss {
            Loss::Connection { sqlstate, message } => self.tally.count_error(&sqlstate, &message),
            Loss::Script(message) => self.tally.broken = Some(message),
        }
        self.clients[place].detach();
        self.tally.failed += 1;
        self.active -= 1;
        self.now_ns = now_ns();
        self.charge_absence();
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

/// (Re)arms a client's events; also what makes an edge-triggered socket report again.
#[cold]
fn listen(poll: &Poll, client: &Client, interest: Interest) -> io::Result<()> {
    let Some(socket) = client.link.socket() else {
        return Ok(());
    };
    let fd = socket.as_raw_fd();
    poll.registry()
        .reregister(&mut SourceFd(&fd), Token(client.place), interest)
}
