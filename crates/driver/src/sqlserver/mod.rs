//! Implements the wire trait for SQL Server, and names its error numbers.

mod connect;
pub mod control;
mod server;
mod statement;
mod wire;

use std::io;

use steelyard_script::{Dialect, Sql};
use steelyard_tds_wire::WireError;

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::plan::Mode;
use crate::protocol::{ErrorClass, ErrorCodes, Fault, Protocol};
use crate::server_arm::ServerArm;
use crate::sqlserver::connect::connect;
use crate::sqlserver::server::Server;
use crate::sqlserver::statement::Statement;
use crate::sqlserver::wire::SqlServerWire;

/// One arm of a plan.
type ArmPlan = ServerArm<1433>;

/// TDS 7.2 to 8.0, as SQL Server 2005 and all later ones speak it.
pub struct SqlServer;

/// A connection by its number (`@@SPID`).
#[derive(Clone, Copy, Debug)]
pub struct SessionId(u16);

impl Protocol for SqlServer {
    type ArmPlan = ArmPlan;
    type Server = Server;
    type Session = SessionId;
    type Statement = Statement;
    type Wire = SqlServerWire;

    const DIALECT: Dialect = Dialect::SqlServer;

    /// SQLSTATEs, which the server's own numbers never are: they have no letters, and no zero in
    /// front.
    const CODES: ErrorCodes = ErrorCodes {
        cannot_connect: "08001",
        connection_lost: "08S01",
        protocol_violation: "08P01",
        open_transaction: "0A000",
        no_row: "02000",
        many_rows: "0K000",
    };

    fn server(plan: &ArmPlan) -> Result<Server, DriveError> {
        Server::new(plan)
    }

    fn location(server: &Server) -> String {
        format!("\"{}\", port {}", server.host, server.port)
    }

    fn connect(server: &Server) -> io::Result<(Stream, SessionId)> {
        let (stream, session) = connect(server).map_err(io::Error::other)?;
        Ok((stream, SessionId(session.id)))
    }

    fn session_id(session: &SessionId) -> i64 {
        i64::from(session.0)
    }

    /// Nothing: a statement is stopped by a signal on its own connection, or by the end of that
    /// connection, which comes with the end of this process. `KILL` from another one would need
    /// rights over connections that are not ours.
    fn cancel(_: &Server, _: &SessionId) -> io::Result<()> {
        Ok(())
    }

    fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        Statement::compile(sql, mode, number)
    }

    fn refuse_pipeline(_: Mode) -> Option<&'static str> {
        Some("SQL Server's protocol has no pipelines: every statement waits for its reply")
    }

    fn stall(seconds: f64) -> Statement {
        Statement::constant(&wait_for(seconds))
    }

    fn rollback() -> Statement {
        Statement::constant("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;")
    }

    fn classify(code: &str) -> ErrorClass {
        match code {
            "1205" => ErrorClass::Deadlock,
            // A lock timeout; a row that changed since the snapshot; the same of memory-optimized
            // tables.
            "1222" | "3960" | "41301" | "41302" | "41305" | "41325" | "41839" => {
                ErrorClass::Serialization
            }
            // No such handle.
            "8179" | "586" => ErrorClass::UnknownStatement,
            _ => ErrorClass::Other,
        }
    }

    fn row_values(row: &[u8]) -> Result<Vec<Option<&[u8]>>, Fault> {
        steelyard_tds_wire::row_values(row).map_err(|error| fault(&error))
    }
}

/// A statement that sleeps, less than a day.
fn wait_for(seconds: f64) -> String {
    let milliseconds = (seconds * 1e3).round().clamp(0.0, 86_399_999.0) as u64;
    let (whole, part) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    format!(
        "WAITFOR DELAY '{hours:02}:{minutes:02}:{:02}.{part:03}';",
        whole % 60
    )
}

/// An error of the protocol, or one that the server ended the connection with.
#[cold]
fn fault(error: &WireError) -> Fault {
    match error {
        WireError::Refused(error) => Fault::new(&error.number.to_string(), &error.message),
        _ => Fault::new(SqlServer::CODES.protocol_violation, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_a_time_of_day() {
        assert_eq!(wait_for(0.25), "WAITFOR DELAY '00:00:00.250';");
        assert_eq!(wait_for(3723.5), "WAITFOR DELAY '01:02:03.500';");
        assert_eq!(wait_for(1e9), "WAITFOR DELAY '23:59:59.999';");
    }
}
