//! Encodes PostgreSQL requests for one connection, and follows the replies to them.

use steelyard_script::Scope;
use steelyard_wire::{sync, terminate, Scanner, ServerError};

use crate::postgres::statement::Statement;
use crate::postgres::{malformed, Postgres};
use crate::protocol::{CapturedResult, Fault, Wire};

/// The state of one connection.
pub struct PostgresWire {
    scanner: Scanner,
    /// By statement number: prepared on this connection.
    prepared: Vec<bool>,
    /// The statement that the request under way also prepares.
    preparing: Option<usize>,
    /// Statements were to be prepared together, and one was refused: the server has those before.
    half_prepared: bool,
    /// Sync messages of the open pipeline.
    syncs: u32,
}

impl PostgresWire {
    #[inline]
    fn expect_reply(&mut self) {
        self.preparing = None;
        self.scanner.expect_reply();
    }

    /// The server has parsed the statement, even where it could not execute it.
    #[cold]
    fn note_parsed(&mut self) {
        if let Some(number) = self.preparing.filter(|_| self.scanner.reply().parsed) {
            self.prepared[number] = true;
        }
        self.preparing = None;
    }
}

impl Wire<Postgres> for PostgresWire {
    fn new(statements: usize) -> PostgresWire {
        PostgresWire {
            scanner: Scanner::new(),
            prepared: vec![false; statements],
            preparing: None,
            half_prepared: false,
            syncs: 0,
        }
    }

    fn reset(&mut self) {
        self.scanner = Scanner::new();
        self.preparing = None;
        self.half_prepared = false;
        self.forget_prepared();
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, scope: &Scope, out: &mut Vec<u8>) {
        self.scanner.expect_reply();
        if statement.captures {
            self.scanner.capture_results();
        }
        self.preparing = statement.encode(scope, &self.prepared, out);
    }

    fn prepare<'a>(
        &mut self,
        statements: impl Iterator<Item = &'a Statement>,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        for statement in statements {
            if statement
                .number()
                .is_some_and(|number| !self.prepared[number])
            {
                if self.half_prepared {
                    statement.encode_close(out);
                }
                statement.encode_parse(out);
            }
        }
        if out.len() == start {
            return false;
        }
        out.extend_from_slice(sync());
        self.expect_reply();
        self.half_prepared = true; // until all of them are
        true
    }

    fn mark_prepared<'a>(&mut self, statements: impl Iterator<Item = &'a Statement>) {
        for number in statements.filter_map(Statement::number) {
            self.prepared[number] = true;
        }
        self.half_prepared = false;
    }

    fn forget_prepared(&mut self) {
        self.prepared.fill(false);
    }

    fn begin_pipeline(&mut self) {
        self.syncs = 0;
    }

    fn add_to_pipeline(&mut self, statement: &Statement, scope: &Scope, out: &mut Vec<u8>) {
        statement.encode_without_sync(scope, &self.prepared, out);
    }

    fn sync_pipeline(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(sync());
        self.syncs += 1;
    }

    fn end_pipeline(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(sync());
        self.expect_reply();
        self.scanner.expect_syncs(self.syncs);
    }

    fn terminate(out: &mut Vec<u8>) {
        out.extend_from_slice(&terminate());
    }

    #[inline]
    fn scan(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let complete = self
            .scanner
            .scan(bytes)
            .map_err(|error| malformed(&error))?;
        if complete && self.preparing.is_some() {
            self.note_parsed();
        }
        Ok(complete)
    }

    #[inline]
    fn is_complete(&self) -> bool {
        self.scanner.reply().is_ready()
    }

    #[inline]
    fn rows(&self) -> u64 {
        self.scanner.reply().rows
    }

    #[inline]
    fn has_error(&self) -> bool {
        self.scanner.reply().error.is_some()
    }

    fn take_error(&mut self) -> Option<Fault> {
        self.scanner.take_error().map(|error| fault(*error))
    }

    fn take_fatal_error(&mut self) -> Option<Fault> {
        let error = self.scanner.take_error();
        let fatal = error.filter(|error| error.is_fatal());
        fatal.map(|error| fault(*error))
    }

    /// In a block, or in one that has failed.
    #[inline]
    fn in_transaction(&self) -> bool {
        matches!(self.scanner.reply().status, b'T' | b'E')
    }

    #[inline]
    fn has_captured(&self) -> bool {
        !self.scanner.reply().captured.is_empty()
    }

    fn take_captured(&mut self) -> Vec<CapturedResult> {
        self.scanner
            .take_captured()
            .into_iter()
            .map(captured)
            .collect()
    }
}

fn fault(error: ServerError) -> Fault {
    Fault {
        code: error.sqlstate,
        message: error.message,
    }
}

fn captured(result: steelyard_wire::CapturedResult) -> CapturedResult {
    CapturedResult {
        columns: result.columns,
        texts: Vec::new(),
        rows: result.rows,
        last: result.last,
    }
}
