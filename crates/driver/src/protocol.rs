//! Defines the wire trait: what a database protocol must answer so that its servers can be driven.
//!
//! Dispatch is static. The driver is compiled anew for each implementation, so the hot loop makes
//! no call through a pointer; its cost for PostgreSQL is that of code which knows nothing else.

use std::io;

use serde::de::DeserializeOwned;
use steelyard_script::{Dialect, Scope, Sql};

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::plan::{Mode, Weight};

/// A database protocol: how connections are opened, statements compiled, errors classified.
pub trait Protocol: Sized + Send + Sync + 'static {
    /// One arm of a plan, as it stands in JSON.
    type ArmPlan: ArmLoad;
    /// Everything that opening a connection to an arm depends on.
    type Server: Send + Sync;
    /// What identifies an open connection, and what cancelling its statement needs.
    type Session: Copy + Send;
    /// A statement compiled for one query mode.
    type Statement: Send + Sync;
    /// The state of one connection.
    type Wire: Wire<Self>;

    /// The codes of errors that the driver itself finds.
    const CODES: ErrorCodes;
    /// By whose lexical rules scripts are split into statements.
    const DIALECT: Dialect;

    fn server(plan: &Self::ArmPlan) -> Result<Self::Server, DriveError>;

    /// Where a server is looked for, as in an error message.
    fn location(server: &Self::Server) -> String;

    /// Opens a connection that is ready for a statement: address, encryption, authentication. The
    /// socket still blocks.
    fn connect(server: &Self::Server) -> io::Result<(Stream, Self::Session)>;

    /// The number by which the server itself knows a connection.
    fn session_id(session: &Self::Session) -> i64;

    /// Sends a request to stop the statement of a connection, and waits until it has been received.
    fn cancel(server: &Self::Server, session: &Self::Session) -> io::Result<()>;

    /// Encodes what can be encoded before the start; `number` is the statement's own among all of
    /// the plan. Err: no message can carry the text.
    fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Self::Statement>;

    /// Why a mode cannot send several statements before their replies; `None`: it can.
    fn refuse_pipeline(mode: Mode) -> Option<&'static str>;

    /// A statement that sleeps in the server.
    fn stall(seconds: f64) -> Self::Statement;

    /// The statement that ends an open transaction without its changes.
    fn rollback() -> Self::Statement;

    /// What the driver does about an error of the server.
    fn classify(code: &str) -> ErrorClass;

    /// The values of [`CapturedResult::last`] as text has them; `None` is NULL.
    fn row_values(row: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault>;
}

/// One row's values as text, whatever they hold; `None` is NULL.
pub type TextRow = Vec<Option<String>>;

/// A row as text, in which what is no UTF-8 is replaced.
pub(crate) fn text_row(row: Vec<Option<&[u8]>>) -> TextRow {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    row.into_iter().map(|value| value.map(text)).collect()
}

/// The parts of an arm's plan that do not depend on its protocol.
pub trait ArmLoad: DeserializeOwned + Send + Sync + 'static {
    fn name(&self) -> &str;
    fn clients(&self) -> usize;
    fn weight(&self) -> Weight;
}

/// The state of one connection: encodes requests, and follows the reply to the last one.
///
/// A request is appended to `out`. Methods that complete one also make the wire expect its reply.
pub trait Wire<P: Protocol>: Send {
    /// A statement is stopped on its own connection, not from another one by [`Protocol::cancel`].
    const STOPS_ITSELF: bool = false;

    /// For a client of a plan with so many statements; not connected yet.
    fn new(statements: usize) -> Self;

    /// A new connection: nothing is prepared on it.
    fn reset(&mut self);

    /// A request that executes a statement, with the variables of `scope` as its parameters.
    fn execute(&mut self, statement: &P::Statement, scope: &Scope, out: &mut Vec<u8>);

    /// A request that prepares those statements that are not; false: all of them are. Only
    /// pipelines prepare beforehand.
    fn prepare<'a>(&mut self, _: impl Iterator<Item = &'a P::Statement>, _: &mut Vec<u8>) -> bool {
        false
    }

    /// The server has prepared these statements.
    fn mark_prepared<'a>(&mut self, _: impl Iterator<Item = &'a P::Statement>) {}

    /// The server has forgotten every prepared statement.
    fn forget_prepared(&mut self);

    /// Several statements follow before their replies are awaited. This and the next three are of
    /// no use where every mode is refused by [`Protocol::refuse_pipeline`].
    fn begin_pipeline(&mut self) {}

    fn add_to_pipeline(&mut self, _: &P::Statement, _: &Scope, _: &mut Vec<u8>) {}

    /// A point up to which the server executes a pipeline as one transaction.
    fn sync_pipeline(&mut self, _: &mut Vec<u8>) {}

    /// The last synchronization of a pipeline, which completes the request.
    fn end_pipeline(&mut self, _: &mut Vec<u8>) {}

    /// The message that ends the connection in order.
    fn terminate(out: &mut Vec<u8>);

    /// A request that stops the statement under way, after which its answer is expected; of use
    /// where [`Wire::STOPS_ITSELF`].
    fn stop(&mut self, _: &mut Vec<u8>) {}

    /// Follows the reply by the next bytes of the stream; true when it is complete.
    fn scan(&mut self, bytes: &[u8]) -> Result<bool, Fault>;

    fn is_complete(&self) -> bool;

    /// Rows of the reply.
    fn rows(&self) -> u64;

    fn has_error(&self) -> bool;

    /// Takes the error out of the reply.
    fn take_error(&mut self) -> Option<Fault>;

    /// Takes an error out of the reply with which the server ended the connection.
    fn take_fatal_error(&mut self) -> Option<Fault>;

    /// Whether the connection was inside a transaction after the last reply.
    fn in_transaction(&self) -> bool;

    /// Whether the reply holds results that the script stores in variables.
    fn has_captured(&self) -> bool;

    fn take_captured(&mut self) -> Vec<CapturedResult>;
}

/// An error as it is counted: by its code, with the text of the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: String,
    pub message: String,
}

impl Fault {
    #[cold]
    pub fn new(code: &str, message: impl ToString) -> Fault {
        Fault {
            code: code.to_owned(),
            message: message.to_string(),
        }
    }
}

/// What the driver does about an error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The transaction is tried again.
    Serialization,
    /// The transaction is tried again.
    Deadlock,
    /// The statement is prepared again before its next execution.
    UnknownStatement,
    /// The transaction has failed.
    Other,
}

/// The codes of errors that the driver itself finds, in the terms of the database.
pub struct ErrorCodes {
    pub cannot_connect: &'static str,
    pub connection_lost: &'static str,
    /// Bytes that are no TLS, or not those that were sent.
    pub protocol_violation: &'static str,
    /// A script ended inside a transaction block.
    pub open_transaction: &'static str,
    /// A statement that should return one row returned none, or several.
    pub no_row: &'static str,
    pub many_rows: &'static str,
}

/// One statement's result, captured for variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedResult {
    /// `None`: a statement that returns no rows at all.
    pub columns: Option<Vec<String>>,
    /// Whether each column holds texts; empty where statements have no typed parameters.
    pub texts: Vec<bool>,
    pub rows: u64,
    /// The last row as it was received, for [`Protocol::row_values`].
    pub last: Vec<u8>,
}
