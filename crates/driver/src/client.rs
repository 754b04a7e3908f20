//! One client: its way through a script, its variables, and what it does after an error.

use steelyard_script::{evaluate, Scope};
use steelyard_wire::{ServerError, Session};

use crate::arm::Arm;
use crate::link::{Link, Loss};
use crate::program::{Operation, Programs, Request};
use crate::socket::Socket;
use crate::streams::Streams;
use crate::tally::Tally;

/// A script ended inside a transaction block (invalid_transaction_state).
const OPEN_AT_THE_END: &str = "25000";
/// A prepared statement that does not exist (invalid_sql_statement_name).
const UNKNOWN_STATEMENT: &str = "26000";

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Stall,
    Statement,
    Rollback,
}

/// What a complete reply led to.
pub enum Turn {
    /// The next request is out.
    Sent,
    /// The transaction has ended; false: it failed.
    Ended(bool),
}

/// One client of one arm.
pub struct Client {
    /// Number within the arm.
    pub number: usize,
    /// Index within its crew, which is the token of its events.
    pub place: usize,
    /// The script of the transaction under way.
    pub script: usize,
    pub begin_ns: u64,
    pub link: Link,
    phase: Phase,
    at: usize,
    repeat: bool,
    repeating: bool,
    prepares: bool,
    rows: u64,
    scope: Scope,
    streams: Streams,
    prepared: Vec<bool>,
}

impl Client {
    pub fn new(number: usize, place: usize, seed: u64, programs: &Programs) -> Client {
        Client {
            number,
            place,
            script: 0,
            begin_ns: 0,
            link: Link::default(),
            phase: Phase::Idle,
            at: 0,
            repeat: false,
            repeating: false,
            prepares: false,
            rows: 0,
            scope: programs.scope(number),
            streams: Streams::new(seed, number),
            prepared: vec![false; programs.statements],
        }
    }

    /// Takes a connection that is ready for a query, and on which nothing is prepared.
    pub fn attach(&mut self, socket: Socket, session: Session) {
        self.link.attach(socket, session);
        self.prepared.fill(false);
        self.phase = Phase::Idle;
    }

    /// Gives the connection away.
    pub fn detach(&mut self) -> Option<Socket> {
        self.phase = Phase::Idle;
        self.link.detach()
    }

    /// Whether a transaction is under way.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Begins a transaction at `now_ns`: draws its script and its weight, sends the first request.
    #[inline]
    pub fn begin(&mut self, arm: &Arm, programs: &Programs, now_ns: u64) -> Result<(), Loss> {
        self.begin_ns = now_ns;
        self.at = 0;
        self.rows = 0;
        self.repeating = false;
        self.script = self.streams.choose(&programs.cumulative);
        let (twice, stall) = self.streams.draw(&arm.weight);
        self.repeat = twice;
        if stall {
            self.phase = Phase::Stall;
            self.link.request().extend_from_slice(&arm.stall);
            return self.link.send();
        }
        // Every script holds a statement, so this always sends.
        self.proceed(programs).map(|_| ())
    }

    /// Evaluates up to the next SQL command and sends it; false at the end of the script.
    #[inline]
    fn proceed(&mut self, programs: &Programs) -> Result<bool, Loss> {
        let program = &programs.scripts[self.script];
        while let Some(operation) = program.operations.get(self.at) {
            match operation {
                Operation::Set { slot, expr } => {
                    let random = self.streams.keys(self.repeating);
                    let value = evaluate(expr, &self.scope, random).map_err(|error| {
                        Loss::Script(format!("script \"{}\": {error}", program.name))
                    })?;
                    self.scope.values[*slot] = value;
                    self.at += 1;
                }
                Operation::Sql(request) => {
                    let out = self.link.request();
                    self.prepares = request.encode(&self.scope, &self.prepared, out);
                    self.phase = Phase::Statement;
                    self.link.send()?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Goes on after a complete reply.
    #[inline]
    pub fn turn(&mut self, programs: &Programs, tally: &mut Tally) -> Result<Turn, Loss> {
        let reply = self.link.reply();
        let status = reply.status;
        if self.prepares && reply.parsed {
            self.mark_prepared(programs);
        }
        let reply = self.link.reply();
        if reply.error.is_some() {
            return self.fail_by_server(status, tally);
        }
        match self.phase {
            Phase::Statement => {
                self.rows += reply.rows;
                self.at += 1;
            }
            Phase::Rollback => return Ok(self.end(false)),
            Phase::Stall | Phase::Idle => {}
        }
        if self.proceed(programs)? {
            return Ok(Turn::Sent);
        }
        if status != b'I' {
            tally.count_error(
                OPEN_AT_THE_END,
                "the script ended inside a transaction block",
            );
            return self.fail(status);
        }
        let program = &programs.scripts[self.script];
        if program.rows.is_some_and(|rows| rows != self.rows) {
            tally.wrong_rows += 1;
        }
        if self.repeat {
            return self.execute_again(programs);
        }
        tally.rows += self.rows;
        Ok(self.end(true))
    }

    #[inline]
    fn end(&mut self, worked: bool) -> Turn {
        self.phase = Phase::Idle;
        Turn::Ended(worked)
    }

    /// The second execution of a transaction that carries a weight: new keys, from a stream of
    /// their own.
    #[cold]
    fn execute_again(&mut self, programs: &Programs) -> Result<Turn, Loss> {
        self.repeat = false;
        self.repeating = true;
        self.at = 0;
        self.rows = 0;
        self.proceed(programs)?;
        Ok(Turn::Sent)
    }

    #[cold]
    fn mark_prepared(&mut self, programs: &Programs) {
        self.prepares = false;
        let program = &programs.scripts[self.script];
        if let Some(Operation::Sql(Request::Prepared { number, .. })) =
            program.operations.get(self.at)
        {
            self.prepared[*number] = true;
        }
    }

    #[cold]
    fn fail_by_server(&mut self, status: u8, tally: &mut Tally) -> Result<Turn, Loss> {
        let Some(error) = self.link.take_error() else {
            return self.fail(status);
        };
        if self.phase == Phase::Rollback {
            // A connection that cannot even roll back is of no use.
            let ServerError {
                sqlstate, message, ..
            } = *error;
            return Err(Loss::Connection { sqlstate, message });
        }
        if error.sqlstate == UNKNOWN_STATEMENT {
            // The script itself threw the prepared statements away (DEALLOCATE, DISCARD ALL).
            self.prepared.fill(false);
        }
        tally.count_error(&error.sqlstate, &error.message);
        self.fail(status)
    }

    /// Ends a failed transaction, with ROLLBACK where a block is open.
    fn fail(&mut self, status: u8) -> Result<Turn, Loss> {
        if status == b'I' {
            return Ok(self.end(false));
        }
        self.phase = Phase::Rollback;
        self.link
            .request()
            .extend_from_slice(b"Q\0\0\0\x0dROLLBACK\0");
        self.link.send()?;
        Ok(Turn::Sent)
    }
}
