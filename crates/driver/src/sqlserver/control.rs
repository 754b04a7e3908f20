//! Executes texts on a connection that is no part of a load, and returns the rows of their results.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use steelyard_tds_wire::{begin_batch, end_batch, row_values, write_wide, Scanner};

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::protocol::{text_row, Protocol, TextRow};
use crate::sqlserver::connect::connect;
use crate::sqlserver::server::Server;
use crate::sqlserver::ArmPlan;
use crate::sqlserver::SqlServer;

/// How long a server may take no bytes of a request.
const SEND_TIME: Duration = Duration::from_secs(60);

/// The rows of one result, as text; `None` is NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultRows {
    pub columns: Vec<String>,
    pub rows: Vec<TextRow>,
}

/// A connection that executes one text after the other.
pub struct ControlSession {
    stream: Stream,
    scanner: Scanner,
    usable: bool,
}

impl ControlSession {
    /// Connects as an arm of a plan, given as JSON.
    pub fn open(arm: &str) -> Result<ControlSession, DriveError> {
        let plan: ArmPlan = serde_json::from_str(arm)
            .map_err(|error| DriveError::new("invalid arm").detail(error))?;
        let server = Server::new(&plan)?;
        let (stream, _) = connect(&server).map_err(|error| {
            DriveError::new(format!("could not connect: {error}")).detail(format!(
                "The server was looked for at {}.",
                SqlServer::location(&server)
            ))
        })?;
        Ok(ControlSession {
            stream,
            scanner: Scanner::new(),
            usable: true,
        })
    }

    /// Whether another text may be sent: neither was the connection lost, nor is a reply under way.
    pub fn is_usable(&self) -> bool {
        self.usable
    }

    /// Sends a text, whose reply is to be received next.
    pub fn send(&mut self, sql: &str) -> Result<(), DriveError> {
        let mut request = Vec::new();
        let start = begin_batch(self.scanner.transaction(), &mut request);
        write_wide(sql, &mut request);
        end_batch(start, &mut request);
        self.usable = false;
        self.scanner.expect_reply();
        self.scanner.capture_every_row();
        let deadline = Instant::now() + SEND_TIME;
        let sent = self.stream.set_deadline(deadline);
        sent.and_then(|()| self.stream.send_all(&request))
            .map_err(lost)
    }

    /// Waits for the reply; `None`: it has not come in this time. Err: what the server refused, or
    /// that the connection was lost.
    pub fn receive(&mut self, time: Duration) -> Result<Option<Vec<ResultRows>>, DriveError> {
        let deadline = Instant::now() + time;
        let mut buffer = [0; 1 << 14];
        loop {
            let waited = self.stream.set_deadline(deadline);
            let received = match waited.and_then(|()| self.stream.receive(&mut buffer)) {
                Ok(0) => return Err(lost("the server ended it")),
                Ok(received) => received,
                Err(error) if is_early(&error) => return Ok(None),
                Err(error) => return Err(lost(error)),
            };
            if self.scanner.scan(&buffer[..received]).map_err(lost)? {
                return self.results().map(Some);
            }
        }
    }

    fn results(&mut self) -> Result<Vec<ResultRows>, DriveError> {
        let captured = self.scanner.take_captured();
        if let Some(error) = self.scanner.take_error() {
            self.usable = !error.is_fatal();
            return Err(DriveError::new("the server refused").detail(error));
        }
        self.usable = true;
        let mut results = Vec::new();
        for result in captured {
            let Some(columns) = result.columns else {
                continue; // a statement without rows
            };
            let last = (result.rows > 0).then_some(&result.last);
            let rows = result
                .earlier
                .iter()
                .chain(last)
                .map(|row| row_values(row).map(text_row));
            results.push(ResultRows {
                columns,
                rows: rows.collect::<Result<_, _>>().map_err(lost)?,
            });
        }
        Ok(results)
    }
}

fn lost(why: impl Display) -> DriveError {
    DriveError::new("the connection was lost").detail(why)
}

fn is_early(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
