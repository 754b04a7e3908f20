//! One client: a connection, a place in a script, variables and random streams.

use std::io;

use steelyard_script::{evaluate, Random, Scope};
use steelyard_wire::{Scanner, ServerError, Session};

use crate::arm::Arm;
use crate::program::{Operation, Programs};
use crate::socket::Socket;
use crate::tally::Tally;

/// Most receives for one event, so that one endless reply cannot starve the others.
const RECEIVES_PER_EVENT: usize = 64;
/// Not a SQLSTATE of the server: the connection ended (connection_failure).
const CONNECTION_FAILURE: &str = "08006";
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

/// How a connection or a script came to its end.
#[derive(Debug)]
pub enum Loss {
    /// The connection is of no use any more.
    Connection { sqlstate: String, message: String },
    /// The script itself cannot go on.
    Script(String),
}

/// What bytes from the server led to.
pub enum Received {
    /// The reply goes on.
    Pending,
    /// The reply goes on, and more of it is already here.
    Endless,
    /// The reply is complete.
    Whole,
}

/// What a complete reply led to.
pub enum Turn {
    /// The next request is out.
    Sent,
    /// The transaction has ended; false: it failed.
    Ended(bool),
}

/// Random streams of one client: each has its own seed, so that a weight or a choice of scripts
/// never moves the keys that a script draws.
struct Streams {
    script: Random,
    choice: Random,
    weight: Random,
    repeat: Random,
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
    socket: Option<Socket>,
    session: Session,
    scanner: Scanner,
    out: Vec<u8>,
    sent: usize,
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
        let stream = |kind: u64| {
            let client = (number as u64 * 4 + kind).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Random::new(seed ^ client)
        };
        Client {
            number,
            place,
            script: 0,
            begin_ns: 0,
            socket: None,
            session: Session::default(),
            scanner: Scanner::new(),
            out: Vec::with_capacity(512),
            sent: 0,
            phase: Phase::Idle,
            at: 0,
            repeat: false,
            repeating: false,
            prepares: false,
            rows: 0,
            scope: programs.scope(number),
            streams: Streams {
                script: stream(1),
                choice: stream(2),
                weight: stream(3),
                repeat: stream(4),
            },
            prepared: vec![false; programs.statements],
        }
    }

    /// Takes a connection that is ready for a query.
    pub fn attach(&mut self, socket: Socket, session: Session) {
        self.socket = Some(socket);
        self.session = session;
        self.scanner = Scanner::new();
        self.prepared.fill(false);
        self.out.clear();
        self.sent = 0;
        self.phase = Phase::Idle;
    }

    /// Closes the connection.
    pub fn detach(&mut self) -> Option<Socket> {
        self.phase = Phase::Idle;
        self.socket.take()
    }

    pub fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Whether a transaction is under way.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Whether part of a request waits for room in the socket.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Begins a transaction at `now_ns`: draws its script and its weight, sends the first request.
    #[inline]
    pub fn begin(&mut self, arm: &Arm, programs: &Programs, now_ns: u64) -> Result<(), Loss> {
        self.begin_ns = now_ns;
        self.at = 0;
        self.rows = 0;
        self.repeating = false;
        self.script = self.choose(programs);
        let weight = &arm.weight;
        self.repeat = weight.twice > 0.0 && self.streams.weight.uniform_f64() < weight.twice;
        if weight.stall > 0.0 && self.streams.weight.uniform_f64() < weight.stall {
            self.out.clear();
            self.out.extend_from_slice(&arm.stall);
            return self.send(Phase::Stall);
        }
        // Every script holds a statement, so this always sends.
        self.proceed(programs).map(|_| ())
    }

    #[inline]
    fn choose(&mut self, programs: &Programs) -> usize {
        let [.., before, total] = programs.cumulative[..] else {
            return 0;
        };
        debug_assert!(before <= total);
        let drawn = self.streams.choice.uniform_int(0, total as i64 - 1) as u64;
        programs.cumulative.partition_point(|&sum| sum <= drawn)
    }

    /// Evaluates up to the next SQL command and sends it; false at the end of the script.
    #[inline]
    fn proceed(&mut self, programs: &Programs) -> Result<bool, Loss> {
        let program = &programs.scripts[self.script];
        while let Some(operation) = program.operations.get(self.at) {
            match operation {
                Operation::Set { slot, expr } => {
                    let streams = &mut self.streams;
                    let random = if self.repeating {
                        &mut streams.repeat
                    } else {
                        &mut streams.script
                    };
                    let value = evaluate(expr, &self.scope, random).map_err(|error| {
                        Loss::Script(format!("script \"{}\": {error}", program.name))
                    })?;
                    self.scope.values[*slot] = value;
                    self.at += 1;
                }
                Operation::Sql(request) => {
                    self.out.clear();
                    self.prepares = request.encode(&self.scope, &self.prepared, &mut self.out);
                    self.send(Phase::Statement)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Sends what stands in `out`: one call, unless the socket is full.
    #[inline]
    fn send(&mut self, phase: Phase) -> Result<(), Loss> {
        self.phase = phase;
        self.sent = 0;
        self.scanner.expect_reply();
        self.flush()
    }

    /// Sends the rest of a request.
    #[inline]
    pub fn flush(&mut self) -> Result<(), Loss> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        match socket.send(&self.out[self.sent..]) {
            Ok(sent) => self.sent += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // What the server said before it closed is still to be read.
            Err(error) => return Err(self.last_words(&error.to_string())),
        }
        Ok(())
    }

    /// Receives once (more only for long replies) and follows the reply. `closing`: the stream is
    /// known to end, and no further event will say so; it is read to its end.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], closing: bool) -> Result<Received, Loss> {
        let Some(socket) = &self.socket else {
            return Ok(Received::Pending);
        };
        for _ in 0..RECEIVES_PER_EVENT {
            let received = match socket.receive(buffer) {
                Ok(0) => return Err(self.end_of_stream("the server closed the connection")),
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Received::Pending)
                }
                Err(error) => return Err(self.end_of_stream(&error.to_string())),
            };
            match self.scanner.scan(&buffer[..received]) {
                Ok(true) => return Ok(Received::Whole),
                Ok(false) if received < buffer.len() && !closing => return Ok(Received::Pending),
                Ok(false) => {}
                Err(error) => {
                    let sqlstate = error.sqlstate().to_owned();
                    return Err(Loss::Connection {
                        sqlstate,
                        message: error.to_string(),
                    });
                }
            }
        }
        Ok(Received::Endless)
    }

    #[cold]
    fn last_words(&mut self, reason: &str) -> Loss {
        let mut buffer = [0; 4096];
        for _ in 0..RECEIVES_PER_EVENT {
            match self.receive(&mut buffer, true) {
                Ok(Received::Pending) => break,
                Ok(_) => {}
                Err(loss) => return loss,
            }
        }
        self.end_of_stream(reason)
    }

    #[cold]
    fn end_of_stream(&mut self, reason: &str) -> Loss {
        match self.scanner.take_error() {
            Some(error) if error.is_fatal() => Loss::Connection {
                sqlstate: error.sqlstate.clone(),
                message: error.message,
            },
            _ => Loss::Connection {
                sqlstate: CONNECTION_FAILURE.to_owned(),
                message: reason.to_owned(),
            },
        }
    }

    /// Goes on after a complete reply.
    #[inline]
    pub fn turn(&mut self, programs: &Programs, tally: &mut Tally) -> Result<Turn, Loss> {
        let reply = self.scanner.reply();
        let status = reply.status;
        if self.prepares && reply.parsed {
            self.mark_prepared(programs);
        }
        let reply = self.scanner.reply();
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
        if let Some(Operation::Sql(crate::program::Request::Prepared { number, .. })) =
            program.operations.get(self.at)
        {
            self.prepared[*number] = true;
        }
    }

    #[cold]
    fn fail_by_server(&mut self, status: u8, tally: &mut Tally) -> Result<Turn, Loss> {
        let error = self
            .scanner
            .take_error()
            .unwrap_or_else(|| Box::new(ServerError::default()));
        if self.phase == Phase::Rollback {
            // A connection that cannot even roll back is of no use.
            let sqlstate = error.sqlstate.clone();
            return Err(Loss::Connection {
                sqlstate,
                message: error.message,
            });
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
        self.out.clear();
        self.out.extend_from_slice(b"Q\0\0\0\x0dROLLBACK\0");
        self.send(Phase::Rollback)?;
        Ok(Turn::Sent)
    }
}
