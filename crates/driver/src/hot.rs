//! The hot loop: one arm's clients on one thread, from the start of a slice until all are back.
//!
//! A transaction costs one receive, one send, one reading of the clock and its share of an epoll
//! call. Nothing here allocates, formats or looks at a name unless something has gone wrong.

use std::io;
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::alarm::Alarm;
use crate::arm::Arm;
use crate::client::{Client, Turn};
use crate::clock::now_ns;
use crate::course::Course;
use crate::crew::Crew;
use crate::link::{Loss, Received};
use crate::program::Programs;
use crate::tally::Tally;

/// Drives one slice; returns when every client is back, lost, or given up at the cap.
pub fn run_slice(
    crew: &mut Crew,
    programs: &Programs,
    course: &Course,
    buffer: &mut [u8],
    tally: &mut Tally,
) -> io::Result<()> {
    let Crew {
        arm,
        poll,
        events,
        alarm,
        clients,
        ..
    } = crew;
    let start_ns = now_ns();
    let (alarm_ns, again_ns) = course.alarm_ns(start_ns);
    alarm.set(alarm_ns, again_ns)?;
    let bell_ns = start_ns.saturating_add(course.length_ns);
    let mut run = Run {
        arm,
        programs,
        course,
        poll,
        alarm,
        clients,
        buffer,
        tally,
        start_ns,
        bell_ns,
        now_ns: start_ns,
        active: 0,
    };
    run.begin_all()?;
    run.until_all_are_back(events)?;
    alarm.silence()
}

/// One slice on one thread.
struct Run<'a> {
    arm: &'a Arm,
    programs: &'a Programs,
    course: &'a Course,
    poll: &'a mut Poll,
    alarm: &'a Alarm,
    clients: &'a mut [Client],
    buffer: &'a mut [u8],
    tally: &'a mut Tally,
    start_ns: u64,
    bell_ns: u64,
    /// The last reading of the clock: the end of one transaction is the begin of the next.
    now_ns: u64,
    /// Clients that are not back yet.
    active: usize,
}

impl Run<'_> {
    fn begin_all(&mut self) -> io::Result<()> {
        self.tally.start_ns = self.start_ns;
        for place in 0..self.clients.len() {
            let client = &mut self.clients[place];
            if client.link.socket().is_none() {
                self.charge_absence();
            } else if self.course.admits(self.start_ns) {
                let begun = client.begin(self.arm, self.programs, self.start_ns);
                self.active += 1;
                self.settle_request(place, begun)?;
            }
        }
        self.now_ns = now_ns();
        Ok(())
    }

    fn until_all_are_back(&mut self, events: &mut Events) -> io::Result<()> {
        while self.active > 0 && self.tally.broken.is_none() {
            // The alarm ends the wait at the cap.
            match self.poll.poll(events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let before_ns = self.now_ns;
            for event in events.iter() {
                self.attend(event.token().0, event.is_read_closed())?;
            }
            if self.now_ns == before_ns {
                self.now_ns = now_ns();
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
        let Some(client) = self.clients.get_mut(place) else {
            self.alarm.hear();
            return Ok(());
        };
        if !client.is_busy() {
            self.attend_idle(place);
            return Ok(());
        }
        if client.link.has_unsent() {
            self.finish_sending(place)?;
        }
        let client = &mut self.clients[place];
        let requested = match client.link.receive(self.buffer, closing) {
            Ok(Received::Pending) => return Ok(()),
            Ok(Received::Endless) => return listen(self.poll, client, Interest::READABLE),
            Err(loss) => Err(loss),
            Ok(Received::Whole) => match client.turn(self.programs, self.tally) {
                Ok(Turn::Sent) => Ok(()),
                Err(loss) => Err(loss),
                Ok(Turn::Ended(worked)) => {
                    self.now_ns = now_ns();
                    if worked {
                        self.tally
                            .count(client.script, self.now_ns - client.begin_ns);
                    } else {
                        self.tally.failed += 1;
                    }
                    if self.now_ns >= self.bell_ns || !self.course.admits(self.now_ns) {
                        self.tally.busy_ns += self.now_ns - self.start_ns;
                        self.active -= 1;
                        return Ok(());
                    }
                    client.begin(self.arm, self.programs, self.now_ns)
                }
            },
        };
        self.settle_request(place, requested)
    }

    /// After a request: waits for room in the socket where it did not fit, drops what is lost.
    #[inline]
    fn settle_request(&mut self, place: usize, requested: Result<(), Loss>) -> io::Result<()> {
        let client = &self.clients[place];
        match requested {
            Ok(()) if !client.link.has_unsent() => Ok(()),
            Ok(()) => listen(self.poll, client, Interest::READABLE | Interest::WRITABLE),
            Err(loss) => {
                self.lose(place, loss);
                Ok(())
            }
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
        if let Err(Loss::Connection { sqlstate, message }) = client.link.receive(self.buffer, true)
        {
            self.tally.count_error(&sqlstate, &message);
            client.detach();
        }
    }

    /// A busy client has lost its connection, or its script cannot go on.
    #[cold]
    fn lose(&mut self, place: usize, loss: Loss) {
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
    fn charge_absence(&mut self) {
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
