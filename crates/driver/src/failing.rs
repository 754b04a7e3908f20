//! What a client does after an error: roll back, try again, or give the transaction up.

use steelyard_wire::ServerError;

use crate::client::{Client, Phase, Turn};
use crate::clock::now_ns;
use crate::link::Loss;
use crate::program::Programs;
use crate::tally::Tally;

/// A prepared statement that does not exist (invalid_sql_statement_name).
const UNKNOWN_STATEMENT: &str = "26000";

/// The kinds of failure that pgbench tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Serialization,
    Deadlock,
    Other,
}

impl Failure {
    fn of(sqlstate: &str) -> Failure {
        match sqlstate {
            "40001" => Failure::Serialization,
            "40P01" => Failure::Deadlock,
            _ => Failure::Other,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Failure::Serialization => "serialization",
            Failure::Deadlock => "deadlock",
            Failure::Other => "other",
        }
    }
}

impl Client {
    #[cold]
    pub(crate) fn fail_by_server(
        &mut self,
        status: u8,
        programs: &Programs,
        tally: &mut Tally,
    ) -> Result<Turn, Loss> {
        let Some(error) = self.link.take_error() else {
            return self.fail(status, programs, tally);
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
        self.note_error(&error.sqlstate, &error.message, programs, tally);
        self.fail(status, programs, tally)
    }

    /// Counts an error, unless the transaction is tried again after it.
    #[cold]
    pub(crate) fn note_error(
        &mut self,
        sqlstate: &str,
        message: &str,
        programs: &Programs,
        tally: &mut Tally,
    ) {
        self.failure = Failure::of(sqlstate);
        let retries = self.may_retry(programs, tally);
        if !retries {
            tally.count_error(sqlstate, message);
        }
        self.retrying = retries;
        if programs.timed {
            if let Some(command) = tally.scripts[self.script].commands.get_mut(self.at) {
                command.failures += u64::from(!retries);
                command.retries += u64::from(retries);
            }
        }
    }

    /// Whether a transaction with this failure is to be tried again now.
    fn may_retry(&self, programs: &Programs, tally: &Tally) -> bool {
        if self.failure == Failure::Other {
            return false;
        }
        let again = programs.max_tries == 0 || self.tries < programs.max_tries;
        if !again {
            return false;
        }
        let now_ns = now_ns();
        let late = |limit_ns| now_ns.saturating_sub(self.begin_ns) > limit_ns;
        now_ns < tally.bell_ns && !programs.latency_limit_ns.is_some_and(late)
    }

    /// Ends a failed try, with ROLLBACK where a block is open.
    #[cold]
    pub(crate) fn fail(
        &mut self,
        status: u8,
        programs: &Programs,
        tally: &mut Tally,
    ) -> Result<Turn, Loss> {
        self.pipelining = false;
        if !matches!(status, b'T' | b'E') {
            return self.after_rollback(programs, tally);
        }
        self.phase = Phase::Rollback;
        self.link
            .request()
            .extend_from_slice(b"Q\0\0\0\x0dROLLBACK\0");
        self.link.send()?;
        Ok(Turn::Sent)
    }

    /// Tries again with the same random numbers, or ends the transaction.
    #[cold]
    pub(crate) fn after_rollback(
        &mut self,
        programs: &Programs,
        tally: &mut Tally,
    ) -> Result<Turn, Loss> {
        if !std::mem::take(&mut self.retrying) {
            return Ok(self.end(false, tally));
        }
        self.tries += 1;
        tally.retries += 1;
        *self.streams.keys(self.repeating) = self.drawn_from.clone();
        self.start_over();
        self.go_on(programs, tally)
    }
}
