//! The hot loop: one arm's clients on one thread, from the start of a slice until all are back.
//!
//! A transaction costs one receive, one send and one reading of the clock; by a ring, its share of
//! one system call, else a call each and its share of an epoll call. Nothing here allocates, formats or looks at a name unless something has gone wrong.

use std::io;
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Events, Interest, Token};

use crate::alarm::Alarm;
use crate::arm::Arm;
use crate::client::{Client, Turn};
use crate::clock::now_ns;
use crate::course::Course;
use crate::crew::{Crew, Way};
use crate::link::{Loss, Received};
use crate::program::Programs;
use crate::ring::Told;
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
        way,
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
        way,
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
    run.until_all_are_back()?;
    alarm.silence()
}

/// One slice on one thread.
struct Run<'a> {
    arm: &'a Arm,
    programs: &'a Programs,
    course: &'a Course,
    way: &'a mut Way,
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

    fn until_all_are_back(&mut self) -> io::Result<()> {
        while self.active > 0 && self.tally.broken.is_none() {
            let before_ns = self.now_ns;
            match self.way {
                Way::Epoll { .. } => self.wait_by_epoll()?,
                Way::Ring(_) => self.wait_by_ring()?,
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

    /// Waits for bytes or the alarm, which ends the wait at the cap, and attends to them.
    #[inline]
    fn wait_by_epoll(&mut self) -> io::Result<()> {
        let Way::Epoll { poll, events } = self.way else {
            return Ok(());
        };
        match poll.poll(events, None) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        // The events are out of the way's hands while they are attended to.
        let heard = std::mem::replace(events, Events::with_capacity(0));
        for event in &heard {
            self.attend(event.token().0, event.is_read_closed())?;
        }
        if let Way::Epoll { events, .. } = self.way {
            *events = heard;
        }
        Ok(())
    }

    /// The same by a ring: what is told has been received already.
    #[inline]
    fn wait_by_ring(&mut self) -> io::Result<()> {
        if let Way::Ring(ring) = self.way {
            ring.wait()?;
        }
        while let Way::Ring(ring) = self.way {
            match ring.told() {
                None => break,
                Some(Told::Alarm) => self.alarm.hear(),
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
        Ok(())
    }

    /// A ring has received for a client, busy or idle.
    #[inline]
    fn take(&mut self, place: usize, received: Result<Received, Loss>) -> io::Result<()> {
        match received {
            Ok(Received::Whole) if self.clients[place].is_busy() => self.go_on(place),
            Ok(_) => Ok(()),
            Err(loss) if self.clients[place].is_busy() => self.lose(place, loss),
            Err(loss) => self.lose_idle(place, &loss),
        }
    }

    /// Bytes have come for a client; `closing`: they are its last ones.
    #[inline]
    fn attend(&mut self, place: usize, closing: bool) -> io::Result<()> {
        let Some(client) = self.clients.get_mut(place) else {
            self.alarm.hear();
            return Ok(());
        };
        if !client.is_busy() {
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
        let client = &mut self.clients[place];
        let requested = match client.turn(self.programs, self.tally) {
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
        };
        self.settle_request(place, requested)
    }

    /// After a request: hands it to the ring, or waits for room in the socket where it did not
    /// fit; drops what is lost.
    #[inline]
    fn settle_request(&mut self, place: usize, requested: Result<(), Loss>) -> io::Result<()> {
        let link = &mut self.clients[place].link;
        match requested {
            Ok(()) if !link.has_unsent() => Ok(()),
            Ok(()) => match self.way {
                Way::Ring(ring) => ring.exchange(place, link.take_unsent()),
                Way::Epoll { .. } => self.listen(place, Interest::READABLE | Interest::WRITABLE),
            },
            Err(loss) => self.lose(place, loss),
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

    /// An idle client hears from its server: a notice, or the end of the connection.
    #[cold]
    fn attend_idle(&mut self, place: usize) -> io::Result<()> {
        match self.clients[place].link.receive(self.buffer, true) {
            Ok(_) => Ok(()),
            Err(loss) => self.lose_idle(place, &loss),
        }
    }

    /// An idle client has lost its connection: no transaction failed by it.
    #[cold]
    fn lose_idle(&mut self, place: usize, loss: &Loss) -> io::Result<()> {
        if let Loss::Connection { sqlstate, message } = loss {
            self.tally.count_error(sqlstate, message);
        }
        self.way.release(place)?;
        self.clients[place].detach();
        Ok(())
    }

    /// A busy client has lost its connection, or its script cannot go on.
    #[cold]
    fn lose(&mut self, place: usize, loss: Loss) -> io::Result<()> {
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

    /// (Re)arms a client's events; also what makes an edge-triggered socket report again.
    #[cold]
    fn listen(&mut self, place: usize, interest: Interest) -> io::Result<()> {
        let (Way::Epoll { poll, .. }, Some(socket)) =
            (&*self.way, self.clients[place].link.socket())
        else {
            return Ok(());
        };
        let fd = socket.as_raw_fd();
        poll.registry()
            .reregister(&mut SourceFd(&fd), Token(place), interest)
    }
}
