//! Implements the wire trait for MySQL and MariaDB, and names their error codes.

mod connect;
mod server;
mod statement;
mod wire;

use std::io;

use steelyard_mysql_wire::WireError;
use steelyard_script::{Dialect, Sql};

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::mysql::connect::{connect, kill_query};
use crate::mysql::server::Server;
use crate::mysql::statement::Statement;
use crate::mysql::wire::MysqlWire;
use crate::plan::Mode;
use crate::protocol::{ErrorClass, ErrorCodes, Fault, Protocol};
use crate::server_arm::ServerArm;

/// One arm of a plan.
type ArmPlan = ServerArm<3306>;

/// Version 10 of the protocol, as MySQL 4.1 and all later ones and MariaDB speak it.
pub struct Mysql;

/// A connection, as `KILL` names it.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    connection_id: u32,
}

impl Protocol for Mysql {
    type ArmPlan = ArmPlan;
    type Server = Server;
    type Session = Thread;
    type Statement = Statement;
    type Wire = MysqlWire;

    /// Numbers of the client library's errors (CR_...), of which 2000 to 2999 are, and of the
    /// server's for the last three.
    const CODES: ErrorCodes = ErrorCodes {
        cannot_connect: "2003",     // CR_CONN_HOST_ERROR
        connection_lost: "2013",    // CR_SERVER_LOST
        protocol_violation: "2027", // CR_MALFORMED_PACKET
        open_transaction: "1179",   // ER_CANT_DO_THIS_DURING_AN_TRANSACTION
        no_row: "1329",             // ER_SP_FETCH_NO_DATA
        many_rows: "1172",          // ER_TOO_MANY_ROWS
    };
    const DIALECT: Dialect = Dialect::Mysql;

    fn server(plan: &ArmPlan) -> Result<Server, DriveError> {
        Server::new(plan)
    }

    fn location(server: &Server) -> String {
        server.address.to_string()
    }

    fn connect(server: &Server) -> io::Result<(Stream, Thread)> {
        let (stream, session) = connect(server).map_err(io::Error::other)?;
        let connection_id = session.connection_id;
        Ok((stream, Thread { connection_id }))
    }

    fn session_id(thread: &Thread) -> i64 {
        i64::from(thread.connection_id)
    }

    fn cancel(server: &Server, thread: &Thread) -> io::Result<()> {
        kill_query(server, thread.connection_id).map_err(io::Error::other)
    }

    fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        Statement::compile(sql, mode, number)
    }

    fn refuse_pipeline(_: Mode) -> Option<&'static str> {
        Some("MySQL's protocol has no pipelines: every statement waits for its reply")
    }

    fn stall(seconds: f64) -> Statement {
        Statement::constant(format!("DO SLEEP({seconds})"))
    }

    fn rollback() -> Statement {
        Statement::constant("ROLLBACK".to_owned())
    }

    fn classify(code: &str) -> ErrorClass {
        match code {
            "1213" => ErrorClass::Deadlock, // ER_LOCK_DEADLOCK
            // ER_LOCK_WAIT_TIMEOUT; ER_CHECKREAD, by MariaDB's innodb_snapshot_isolation
            "1205" | "1020" => ErrorClass::Serialization,
            // ER_UNKNOWN_STMT_HANDLER, ER_NEED_REPREPARE
            "1243" | "1615" => ErrorClass::UnknownStatement,
            _ => ErrorClass::Other,
        }
    }

    fn row_values(row: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault> {
        steelyard_mysql_wire::row_values(row).map_err(|error| fault(&error))
    }
}

/// An error of the protocol, or one that the server ended the connection with.
#[cold]
fn fault(error: &WireError) -> Fault {
    match error {
        WireError::Refused(error) => Fault::new(&error.code.to_string(), &error.message),
        _ => Fault::new(Mysql::CODES.protocol_violation, error),
    }
}
