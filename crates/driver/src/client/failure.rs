//! Handles a failed transaction: rolls it back, and tries it again or counts it as failed.

use crate::client::program::Programs;
use crate::client::{Client, Phase, Turn};
use crate::clock::now_ns;
use crate::connection::link::ClientError;
use crate::plan::AbortRule;
use crate::protocol::{ErrorClass, Fault, Protocol, Wire};
use crate::report::tally::Tally;

/// The kinds of failure that pgbench tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Serialization,
    Deadlock,
    Other,
}

impl Failure {
    fn of(class: ErrorClass) -> Failure {
        match class {
            ErrorClass::Serialization => Failure::Serialization,
            ErrorClass::Deadlock => Failure::Deadlock,
            ErrorClass::UnknownStatement | ErrorClass::Other => Failure::Other,
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

impl<P: Protocol> Client<P> {
    #[cold]
    pub(crate) fn fail_by_server(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
        let Some(fault) = self.link.wire.take_error() else {
            return self.fail(programs, tally);
        };
        if self.phase == Phase::Rollback {
            // A connection that cannot even roll back is of no use.
            return Err(ClientError::Connection(fault));
        }
        if P::classify(&fault.code) == ErrorClass::UnknownStatement {
            // The script itself dropped the prepared statements (DEALLOCATE, DISCARD ALL).
            self.link.wire.forget_prepared();
        }
        self.note_error(fault, programs, tally);
        self.fail(programs, tally)
    }

    /// Counts an error, unless the transaction is tried again after it.
    #[cold]
    pub(crate) fn note_error(&mut self, fault: Fault, programs: &Programs<P>, tally: &mut Tally) {
        self.failure = Failure::of(P::classify(&fault.code));
        let retries = self.may_retry(programs, tally);
        if !retries {
            tally.count_error(&fault);
        }
        if programs.abort == AbortRule::Failed && self.failure == Failure::Other {
            tally.abort(&fault);
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
    fn may_retry(&self, programs: &Programs<P>, tally: &Tally) -> bool {
        if self.failure == Failure::Other {
            return false;
        }
        let again = programs.max_tries == 0 || self.tries < programs.max_tries;
        if !again {
            return false;
        }
        let now_ns = now_ns();
        let late = |limit_ns| now_ns.saturating_sub(self.begin_ns) > limit_ns;
        now_ns < tally.stop_ns && !programs.latency_limit_ns.is_some_and(late)
    }

    /// Ends a failed try, with a rollback where a transaction is open.
    #[cold]
    pub(crate) fn fail(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
        self.pipelining = false;
        if !self.link.wire.in_transaction() {
            return self.after_rollback(programs, tally);
        }
        self.phase = Phase::Rollback;
        self.link.execute(&programs.rollback, &self.scope)?;
        Ok(Turn::Sent)
    }

    /// Tries again with the same random numbers, or ends the transaction.
    #[cold]
    pub(crate) fn after_rollback(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Turn, ClientError> {
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
