//! Implements the wire trait for PostgreSQL, and names its error codes.

mod arm_plan;
mod connect;
pub mod query;
mod server;
mod statement;
pub mod upstream;
mod wire;

use std::io;

use steelyard_script::{Dialect, Sql};
use steelyard_wire::WireError;

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::plan::Mode;
pub use crate::postgres::arm_plan::ArmPlan;
use crate::postgres::connect::{connect, send_cancel};
use crate::postgres::server::Server;
use crate::postgres::statement::Statement;
use crate::postgres::wire::PostgresWire;
use crate::protocol::{ErrorClass, ErrorCodes, Fault, Protocol};

/// The PostgreSQL protocol 3.0.
pub struct Postgres;

/// A backend: what a cancel request names.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    process_id: i32,
    secret_key: i32,
}

impl Protocol for Postgres {
    type ArmPlan = ArmPlan;
    type Server = Server;
    type Session = Backend;
    type Statement = Statement;
    type Wire = PostgresWire;

    /// From errcodes.txt; the last two are PL/pgSQL's for a query that should return one row.
    const CODES: ErrorCodes = ErrorCodes {
        cannot_connect: "08001",     // sqlclient_unable_to_establish_sqlconnection
        connection_lost: "08006",    // connection_failure
        protocol_violation: "08P01", // protocol_violation
        open_transaction: "25000",   // invalid_transaction_state
        no_row: "P0002",             // no_data_found
        many_rows: "P0003",          // too_many_rows
    };
    const DIALECT: Dialect = Dialect::Postgres;

    fn server(plan: &ArmPlan) -> Result<Server, DriveError> {
        Server::new(plan)
    }

    fn location(server: &Server) -> String {
        server.address.to_string()
    }

    fn connect(server: &Server) -> io::Result<(Stream, Backend)> {
        let (stream, session) = connect(server).map_err(io::Error::other)?;
        let backend = Backend {
            process_id: session.process_id,
            secret_key: session.secret_key,
        };
        Ok((stream, backend))
    }

    fn session_id(backend: &Backend) -> i64 {
        i64::from(backend.process_id)
    }

    fn cancel(server: &Server, backend: &Backend) -> io::Result<()> {
        send_cancel(server, backend.process_id, backend.secret_key)
    }

    fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        Statement::compile(sql, mode, number)
    }

    fn refuse_pipeline(mode: Mode) -> Option<&'static str> {
        let why = "cannot use pipeline mode with the simple query protocol";
        (mode == Mode::Simple).then_some(why)
    }

    fn stall(seconds: f64) -> Statement {
        Statement::constant(format!("SELECT pg_catalog.pg_sleep({seconds})"))
    }

    fn rollback() -> Statement {
        Statement::constant("ROLLBACK".to_owned())
    }

    fn classify(code: &str) -> ErrorClass {
        match code {
            "40001" => ErrorClass::Serialization, // serialization_failure
            "40P01" => ErrorClass::Deadlock,      // deadlock_detected
            "26000" => ErrorClass::UnknownStatement, // invalid_sql_statement_name
            _ => ErrorClass::Other,
        }
    }

    fn row_values(row: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault> {
        steelyard_wire::row_values(row).map_err(|error| malformed(&error))
    }
}

/// Bytes that the protocol does not allow.
#[cold]
fn malformed(error: &WireError) -> Fault {
    Fault::new(error.sqlstate(), error)
}
