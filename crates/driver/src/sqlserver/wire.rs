//! Encodes requests to SQL Server for one connection, and follows the replies to them.

use steelyard_script::Scope;
use steelyard_tds_wire::{attention, Scanner, ServerError};

use crate::protocol::{CapturedResult, Fault, Wire};
use crate::sqlserver::statement::{Called, Kind, Statement};
use crate::sqlserver::{fault, SqlServer};

/// A statement that is prepared on a connection.
struct Known {
    handle: i32,
    /// The types that its parameters are declared with.
    kinds: Vec<Kind>,
}

/// The state of one connection.
pub struct SqlServerWire {
    scanner: Scanner,
    /// By statement number.
    known: Vec<Option<Known>>,
    /// The statement that the request under way also prepares, and with which types.
    preparing: Option<(usize, Vec<Kind>)>,
}

impl SqlServerWire {
    #[inline]
    fn call(&mut self, called: &Called, scope: &Scope, out: &mut Vec<u8>) {
        let transaction = self.scanner.transaction();
        let Some(number) = called.number else {
            called.encode_unnamed(transaction, scope, out);
            return;
        };
        match &self.known[number] {
            Some(known) if called.fits(&known.kinds, scope) => {
                called.encode(known.handle, &known.kinds, transaction, scope, out);
            }
            _ => self.prepare_anew(number, called, scope, out),
        }
    }

    #[cold]
    fn prepare_anew(&mut self, number: usize, called: &Called, scope: &Scope, out: &mut Vec<u8>) {
        let had = self.known[number].take().map(|known| known.handle);
        let kinds = called.kinds(scope);
        called.encode_first(had, &kinds, self.scanner.transaction(), scope, out);
        self.preparing = Some((number, kinds));
    }

    #[cold]
    fn note_prepared(&mut self) {
        let handle = self.scanner.reply().handle.filter(|&handle| handle != 0);
        if let (Some((number, kinds)), Some(handle)) = (self.preparing.take(), handle) {
            self.known[number] = Some(Known { handle, kinds });
        }
    }
}

impl Wire<SqlServer> for SqlServerWire {
    const STOPS_ITSELF: bool = true;

    fn new(statements: usize) -> SqlServerWire {
        SqlServerWire {
            scanner: Scanner::new(),
            known: (0..statements).map(|_| None).collect(),
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
        match statement.called() {
            Some(called) => self.call(called, scope, out),
            None => statement.encode_text(self.scanner.transaction(), scope, out),
        }
        self.scanner.expect_reply();
        if statement.captures {
            self.scanner.capture_results();
        }
    }

    fn forget_prepared(&mut self) {
        self.known.fill_with(|| None);
    }

    /// There is no such message: a client that is done closes the connection.
    fn terminate(_: &mut Vec<u8>) {}

    fn stop(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&attention());
        self.scanner.expect_attention();
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

    fn take_captured(&mut self) -> Vec<CapturedResult> {
        let results = self.scanner.take_captured().into_iter();
        results
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
    Fault::new(&error.number.to_string(), &error.message)
}
