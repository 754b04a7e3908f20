//! Encodes requests to MySQL and MariaDB for one connection, and follows the replies to them.

use steelyard_mysql_wire::{quit, Scanner, ServerError};
use steelyard_script::Scope;

use crate::mysql::statement::Statement;
use crate::mysql::{fault, Mysql};
use crate::protocol::{CapturedResult, Fault, Wire};

/// A statement on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    #[default]
    Not,
    /// By the server's number.
    Prepared(u32),
    /// The server does not prepare such statements: it is sent as a text.
    AsText,
}

/// The state of one connection.
pub struct MysqlWire {
    scanner: Scanner,
    /// By statement number.
    known: Vec<Known>,
    /// The statement that the request under way also prepares.
    preparing: Option<usize>,
}

impl MysqlWire {
    #[cold]
    fn note_prepared(&mut self) {
        if let Some(number) = self.preparing.take() {
            self.known[number] = match self.scanner.reply().prepared.first() {
                Some(Some(statement)) => Known::Prepared(*statement),
                _ if self.scanner.reply().error.is_some() => Known::Not,
                _ => Known::AsText,
            };
        }
    }
}

impl Wire<Mysql> for MysqlWire {
    fn new(statements: usize) -> MysqlWire {
        MysqlWire {
            scanner: Scanner::new(),
            known: vec![Known::Not; statements],
            preparing: None,
        }
    }

    fn reset(&mut self) {
        self.scanner = Scanner::new();
        self.preparing = None;
        self.forget_prepared();
    }

    #[inline]
    fn execute(&mut self, statement: &Statement, scope: &Scope, out: &mut Vec<u8>) {
        let prepared = statement.prepared();
        match prepared.map(|prepared| (prepared, self.known[prepared.number])) {
            Some((prepared, Known::Prepared(number))) => {
                prepared.encode(number, scope, out);
                self.scanner.expect_result(true);
            }
            Some((prepared, Known::Not)) => {
                statement.encode_first(prepared, scope, out);
                self.scanner.expect_prepared(1, true);
                self.preparing = Some(prepared.number);
            }
            _ => {
                statement.encode_text(scope, out);
                self.scanner.expect_result(false);
            }
        }
        if statement.captures {
            self.scanner.capture_results();
        }
    }

    fn forget_prepared(&mut self) {
        self.known.fill(Known::Not);
    }

    fn terminate(out: &mut Vec<u8>) {
        out.extend_from_slice(quit());
    }

    #[inline]
    fn scan(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let complete = self.scanner.scan(bytes).map_err(|error| fault(&error))?;
        if complete && self.preparing.is_some() {
            self.note_prepared();
        }
        Ok(complete)
    }

    #[inline]
    fn is_complete(&self) -> bool {
        self.scanner.reply().complete
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
        self.scanner.take_error().map(|error| told(&error))
    }

    fn take_fatal_error(&mut self) -> Option<Fault> {
        let error = self.scanner.take_error();
        error
            .filter(|error| error.is_fatal())
            .map(|error| told(&error))
    }

    #[inline]
    fn in_transaction(&self) -> bool {
        self.scanner.reply().in_transaction
    }

    #[inline]
    fn has_captured(&self) -> bool {
        !self.scanner.reply().captured.is_empty()
    }

    /// A CALL whose body returned rows ends in an acknowledgement of its own, which is no result.
    fn take_captured(&mut self) -> Vec<CapturedResult> {
        let mut results = self.scanner.take_captured();
        if let [.., rows, last] = &results[..] {
            if rows.columns.is_some() && last.columns.is_none() {
                results.pop();
            }
        }
        results
            .into_iter()
            .map(|result| CapturedResult {
                columns: result.columns,
                texts: result.texts,
                rows: result.rows,
                last: result.last,
            })
            .collect()
    }
}

fn told(error: &ServerError) -> Fault {
    Fault::new(&error.code.to_string(), &error.message)
}
