//! Forwards the bytes of one connection in both directions, and reads them afterwards.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use steelyard_buffer::on_a_page;
use steelyard_driver::{now_ns, Latencies};

use crate::end::End;
use crate::mechanisms::Mechanisms;
use crate::observer::Observer;
use crate::spool::Entry;

/// Bytes that one receive takes; what an end does not take at once is at most this, or what it is
/// once it is decrypted.
const BUFFER: usize = 64 << 10;
/// Notes are handed on when nothing came for so long.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What is noted of a connection, and where it goes.
pub struct Noting {
    pub observer: Observer,
    pub entry: Entry,
}

/// A connection that is passed through.
pub struct Passage {
    pub client: End,
    pub server: End,
    /// `None`: it is passed through only.
    pub noting: Option<Noting>,
    /// Of a server that is reached encrypted by a client that does not encrypt.
    pub mechanisms: Option<Mechanisms>,
    /// From receiving bytes to having forwarded them.
    pub latencies: Latencies,
    /// Forwards that waited for an end that takes slowly.
    pub slow: u64,
    /// Its bytes were not PostgreSQL's protocol from some place on.
    pub unreadable: bool,
}

/// Events of all connections: readable once it is so.
pub struct Events<'a> {
    /// Nothing more is noted.
    pub stop: BorrowedFd<'a>,
    /// Nothing more is passed through.
    pub close: BorrowedFd<'a>,
}

/// What all connections count, those that are still open too.
pub struct Totals {
    pub latencies: Mutex<Latencies>,
    /// Forwards that waited.
    pub slow: AtomicU64,
    /// Connections whose bytes were not read to their end.
    pub unreadable: AtomicU64,
}

enum Toward {
    Server,
    Client,
}

impl Passage {
    /// Until both directions have ended, or one fails. `totals` get what it counts; `stopped` is
    /// called once notes were handed on for the last time, perhaps more than once.
    pub fn run(&mut self, events: &Events<'_>, totals: &Totals, mut stopped: impl FnMut()) {
        let mut buffer = on_a_page(BUFFER);
        let mut plain = Vec::with_capacity(BUFFER);
        while let Ok(ready) = self.wait(events) {
            if ready.close {
                break;
            }
            if ready.stop && self.noting.is_some() {
                self.stop_noting();
                self.add_to(totals);
                stopped();
            }
            let passed = self.pass(&ready, &mut buffer, &mut plain);
            if self.unreadable || self.slow > 0 {
                self.add_to(totals);
                if self.noting.is_none() {
                    stopped();
                }
            }
            if passed.is_err() {
                break;
            }
            if self.hand_on_notes(ready.nothing) {
                self.add_to(totals);
            }
            if self.client.finished && self.server.finished {
                break;
            }
            if self.server.ended {
                // It answers nothing more, and was read only while the client took all of it.
                break;
            }
        }
        self.stop_noting();
        self.add_to(totals);
        self.client.socket.shut_down();
        self.server.socket.shut_down();
    }

    /// Each count is added once, and is nothing afterwards.
    fn add_to(&mut self, totals: &Totals) {
        let slow = std::mem::take(&mut self.slow);
        let unreadable = std::mem::take(&mut self.unreadable);
        totals.slow.fetch_add(slow, Ordering::Relaxed);
        totals
            .unreadable
            .fetch_add(unreadable.into(), Ordering::Relaxed);
        let mut latencies = totals
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latencies.absorb(&mut self.latencies);
    }

    fn pass(&mut self, ready: &Ready, buffer: &mut [u8], plain: &mut Vec<u8>) -> io::Result<()> {
        if ready.client_writes {
            self.client.send_waiting()?;
        }
        if ready.server_writes {
            self.server.send_waiting()?;
        }
        if ready.server_reads {
            self.forward(&Toward::Client, buffer, plain)?;
        }
        if ready.client_reads {
            self.forward(&Toward::Server, buffer, plain)?;
        }
        // What has ended on one side ends on the other, once all has arrived there.
        let (client, server) = (&mut self.client, &mut self.server);
        if client.ended && !server.finished && !server.is_full() {
            server.finish();
        }
        if server.ended && !client.finished && !client.is_full() {
            client.finish();
        }
        Ok(())
    }

    fn forward(
        &mut self,
        toward: &Toward,
        buffer: &mut [u8],
        plain: &mut Vec<u8>,
    ) -> io::Result<()> {
        plain.clear();
        let (from, to) = match toward {
            Toward::Server => (&mut self.client, &mut self.server),
            Toward::Client => (&mut self.server, &mut self.client),
        };
        let begun_ns = now_ns();
        if !from.receive(buffer, plain)? {
            return Ok(());
        }
        if let (Toward::Client, Some(mechanisms)) = (toward, &mut self.mechanisms) {
            mechanisms.replace(plain);
        }
        if plain.is_empty() {
            return Ok(());
        }
        let is_through = to.send(plain)?;
        let sent_ns = now_ns();
        match is_through {
            true => self.latencies.record(sent_ns - begun_ns),
            false => self.slow += 1,
        }
        let Some(noting) = &mut self.noting else {
            return Ok(());
        };
        match toward {
            Toward::Server => noting.observer.from_client(plain, sent_ns),
            Toward::Client => noting.observer.from_server(plain, begun_ns),
        }
        if !noting.observer.is_readable() {
            self.unreadable = true;
            self.stop_noting();
        }
        Ok(())
    }

    /// Whether it was time to.
    fn hand_on_notes(&mut self, is_quiet: bool) -> bool {
        let Some(noting) = &mut self.noting else {
            return false;
        };
        let observer = &mut noting.observer;
        let is_time = observer.has_many_notes() || (is_quiet && observer.has_whole_notes());
        if is_time {
            noting.entry.hand_on(observer.take_notes());
        }
        is_time
    }

    fn stop_noting(&mut self) {
        if let Some(mut noting) = self.noting.take() {
            noting.observer.end(now_ns());
            noting.entry.hand_on(noting.observer.take_notes());
        }
    }

    fn wait(&self, events: &Events<'_>) -> io::Result<Ready> {
        let interest = |own: &End, other: &End| {
            let mut flags = PollFlags::empty();
            // An end is read only while the other one takes what comes: memory stays bounded.
            if !own.ended && !other.is_full() {
                flags |= PollFlags::IN;
            }
            if own.is_full() {
                flags |= PollFlags::OUT;
            }
            flags
        };
        let of_client = interest(&self.client, &self.server);
        let of_server = interest(&self.server, &self.client);
        let of_stop = match self.noting {
            Some(_) => PollFlags::IN,
            None => PollFlags::empty(),
        };
        let mut polled = Vec::with_capacity(4);
        let mut watch = |descriptor, flags: PollFlags| {
            // An end without anything to read or write now is left out: that it hung up is
            // reported whatever is asked for, and what it sent last is still to be forwarded.
            (!flags.is_empty()).then(|| {
                polled.push(PollFd::from_borrowed_fd(descriptor, flags));
                polled.len() - 1
            })
        };
        let close = watch(events.close, PollFlags::IN);
        let client = watch(self.client.socket.as_fd(), of_client);
        let server = watch(self.server.socket.as_fd(), of_server);
        let stop = watch(events.stop, of_stop);
        let has_notes = self
            .noting
            .as_ref()
            .is_some_and(|noting| noting.observer.has_whole_notes());
        let pause = has_notes.then_some(&PAUSE);
        let count = loop {
            match poll(&mut polled, pause) {
                Err(rustix::io::Errno::INTR) => {}
                count => break count?,
            }
        };
        let came = |at: Option<usize>| {
            at.and_then(|at| polled.get(at))
                .map_or(PollFlags::empty(), PollFd::revents)
        };
        let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
        let reads = |at, wanted: PollFlags| {
            wanted.contains(PollFlags::IN) && came(at).intersects(PollFlags::IN | broken)
        };
        let writes = |at, wanted: PollFlags| {
            wanted.contains(PollFlags::OUT) && came(at).intersects(PollFlags::OUT | broken)
        };
        Ok(Ready {
            close: came(close).contains(PollFlags::IN),
            stop: came(stop).contains(PollFlags::IN),
            client_reads: reads(client, of_client),
            client_writes: writes(client, of_client),
            server_reads: reads(server, of_server),
            server_writes: writes(server, of_server),
            nothing: count == 0,
        })
    }
}

struct Ready {
    close: bool,
    stop: bool,
    client_reads: bool,
    client_writes: bool,
    server_reads: bool,
    server_writes: bool,
    nothing: bool,
}

impl End {
    /// Ends what is sent to it.
    fn finish(&mut self) {
        use rustix::net::{shutdown, Shutdown};
        // A socket that is gone is as good.
        let _ = shutdown(self.socket.as_fd(), Shutdown::Write);
        self.finished = true;
    }
}
