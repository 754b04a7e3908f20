//! Takes one client through its scripts: what it waits for, and what follows a reply.

mod captured_results;
pub mod failure;
pub mod program;
mod random_streams;
mod steps;

use steelyard_script::{Random, Scope};

use crate::client::failure::Failure;
use crate::client::program::Programs;
use crate::client::random_streams::RandomStreams;
use crate::clock::now_ns;
use crate::connection::link::{ClientError, Link};
use crate::connection::stream::Stream;
use crate::protocol::{Fault, Protocol, Wire};
use crate::report::tally::Tally;
use crate::threads::arm::Arm;

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    /// For a connection of its own, before its transaction begins.
    Connecting,
    Stall,
    Statement,
    /// Until a time, in the middle of a script.
    Asleep,
    /// The statements of a pipeline are being prepared.
    Prepare,
    Pipeline,
    Rollback,
}

/// What a complete reply, or the end of a sleep, led to.
pub enum Turn {
    /// The next request is out.
    Sent,
    /// Nothing is to be done for so many nanoseconds.
    Asleep(u64),
    /// The transaction has ended; false: it failed.
    Ended(bool),
}

/// How far a script went without a reply.
pub(crate) enum Step {
    Sent,
    Asleep(u64),
    /// It has come to its end.
    Finished,
}

/// One client of one arm.
pub struct Client<P: Protocol> {
    /// Number within the arm.
    pub number: usize,
    /// Index within its group, which is the token of its events.
    pub index: usize,
    /// The script of the transaction under way.
    pub script: usize,
    /// When its transaction began, or should have begun.
    pub begin_ns: u64,
    /// How much later it began than it should have.
    pub lag_ns: u64,
    /// The script of the arrival that it takes; `None`: arrivals are of no script.
    pub arrived: Option<usize>,
    /// Transactions that it has begun on this connection or another.
    pub begun: usize,
    /// Executions that it may still begin in this slice.
    pub quota: u64,
    /// Tries of the transaction under way.
    pub tries: u32,
    /// Why its last try failed.
    pub failure: Failure,
    pub link: Link<P>,
    pub(crate) phase: Phase,
    pub(crate) at: usize,
    pub(crate) repeat: bool,
    pub(crate) repeating: bool,
    /// The try that has failed is followed by another one.
    pub(crate) retrying: bool,
    /// Statements are collected until the pipeline ends.
    pub(crate) pipelining: bool,
    pub(crate) rows: u64,
    /// When the command under way began, where commands are timed.
    pub(crate) command_ns: u64,
    /// The generator as it was when the transaction began: a retry draws the same numbers.
    pub(crate) drawn_from: Random,
    pub(crate) scope: Scope,
    pub(crate) streams: RandomStreams,
}

impl<P: Protocol> Client<P> {
    pub fn new(number: usize, index: usize, seed: u64, programs: &Programs<P>) -> Client<P> {
        Client {
            number,
            index,
            script: 0,
            begin_ns: 0,
            lag_ns: 0,
            arrived: None,
            begun: 0,
            quota: u64::MAX,
            tries: 1,
            failure: Failure::Other,
            link: Link::new(programs.statements),
            phase: Phase::Idle,
            at: 0,
            repeat: false,
            repeating: false,
            retrying: false,
            pipelining: false,
            rows: 0,
            command_ns: 0,
            drawn_from: Random::new(0),
            scope: programs.scope(number),
            streams: RandomStreams::new(seed, programs.first_client + number),
        }
    }

    /// Takes a connection that is ready for a statement.
    pub fn attach(&mut self, stream: Stream, by_ring: bool) {
        self.link.attach(stream, by_ring);
        self.phase = Phase::Idle;
    }

    /// Gives the connection up.
    pub fn detach(&mut self) {
        self.phase = Phase::Idle;
        self.link.detach();
    }

    /// Ends the connection in order.
    pub fn terminate(&mut self) {
        self.phase = Phase::Idle;
        self.link.terminate();
    }

    /// Whether a transaction is under way.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Whether it waits for a connection.
    #[inline]
    pub fn is_connecting(&self) -> bool {
        self.phase == Phase::Connecting
    }

    /// Its next transaction counts from `begin_ns` and has to wait for a connection.
    pub fn await_connection(&mut self, begin_ns: u64) {
        self.terminate();
        self.begin_ns = begin_ns;
        self.phase = Phase::Connecting;
    }

    /// Whether it waits for its own time, not for the server.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.phase == Phase::Asleep
    }

    /// Begins a transaction that counts from `now_ns`: draws its script and its weight, goes to the
    /// first request.
    #[inline]
    pub fn begin(
        &mut self,
        arm: &Arm<P>,
        programs: &Programs<P>,
        now_ns: u64,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
        self.begin_ns = now_ns;
        self.tries = 1;
        self.repeating = false;
        let in_turn = programs.in_turn(self.number, self.begun);
        let given = self.arrived.take().or(in_turn);
        self.script = given.unwrap_or_else(|| self.streams.choose(&programs.cumulative));
        self.begun += 1;
        let (repeat, stall) = self.streams.draw(&arm.weight);
        self.repeat = repeat;
        self.start_over();
        if stall {
            self.phase = Phase::Stall;
            self.link.execute(&arm.stall, &self.scope)?;
            return Ok(Turn::Sent);
        }
        self.go_on(programs, tally)
    }

    /// Stands before the first command of its script.
    #[inline]
    pub(crate) fn start_over(&mut self) {
        self.at = 0;
        self.rows = 0;
        self.pipelining = false;
        self.drawn_from = self.streams.keys(self.repeating).clone();
    }

    /// Goes on after a complete reply.
    #[inline]
    pub fn turn(&mut self, programs: &Programs<P>, tally: &mut Tally) -> Result<Turn, ClientError> {
        let reply = &self.link.wire;
        if reply.has_error() {
            return self.fail_by_server(programs, tally);
        }
        match self.phase {
            Phase::Statement => {
                self.rows += reply.rows();
                if reply.has_captured() && !self.store_results(programs, tally)? {
                    return self.fail(programs, tally);
                }
                self.end_command(programs, tally);
            }
            Phase::Pipeline => {
                self.rows += reply.rows();
                self.end_command(programs, tally);
            }
            Phase::Prepare => self.begin_prepared_pipeline(programs, tally),
            Phase::Rollback => return self.after_rollback(programs, tally),
            Phase::Stall | Phase::Asleep | Phase::Idle | Phase::Connecting => {}
        }
        self.go_on(programs, tally)
    }

    /// Goes on after a sleep.
    pub fn wake(&mut self, programs: &Programs<P>, tally: &mut Tally) -> Result<Turn, ClientError> {
        self.end_command(programs, tally);
        self.go_on(programs, tally)
    }

    /// Goes to the next request, the next sleep, or the end.
    #[inline]
    pub(crate) fn go_on(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
        match self.proceed(programs, tally)? {
            Step::Sent => Ok(Turn::Sent),
            Step::Asleep(ns) => {
                self.phase = Phase::Asleep;
                Ok(Turn::Asleep(ns))
            }
            Step::Finished => self.finish(programs, tally),
        }
    }

    #[inline]
    fn finish(&mut self, programs: &Programs<P>, tally: &mut Tally) -> Result<Turn, ClientError> {
        if self.link.wire.in_transaction() {
            let why = "the script ended inside a transaction block";
            let fault = Fault::new(P::CODES.open_transaction, why);
            self.note_error(fault, programs, tally);
            return self.fail(programs, tally);
        }
        let program = &programs.scripts[self.script];
        if program.rows.is_some_and(|rows| rows != self.rows) {
            tally.wrong_rows += 1;
        }
        if self.repeat {
            return self.execute_again(programs, tally);
        }
        tally.rows += self.rows;
        Ok(self.end(true, tally))
    }

    #[inline]
    pub(crate) fn end(&mut self, worked: bool, tally: &mut Tally) -> Turn {
        self.phase = Phase::Idle;
        if self.tries > 1 {
            tally.retried += 1;
        }
        Turn::Ended(worked)
    }

    /// The second execution of a transaction that carries a weight: new keys, from a stream of
    /// their own.
    #[cold]
    fn execute_again(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
        self.repeat = false;
        self.repeating = true;
        self.start_over();
        self.go_on(programs, tally)
    }

    /// Passes a command that is done.
    #[inline]
    pub(crate) fn end_command(&mut self, programs: &Programs<P>, tally: &mut Tally) {
        if programs.timed {
            self.time_command(tally);
        }
        self.at += 1;
    }

    #[cold]
    fn time_command(&mut self, tally: &mut Tally) {
        let now_ns = now_ns();
        let command = &mut tally.scripts[self.script].commands[self.at];
        command.executions += 1;
        command.sum_ns += now_ns - self.command_ns;
        self.command_ns = now_ns;
    }
}
