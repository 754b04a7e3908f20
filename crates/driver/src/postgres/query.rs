//! Executes one query on a connection of its own, and returns its rows as text.

use std::io;
use std::time::{Duration, Instant};

use steelyard_wire::{row_values, simple_query, Frame, ServerError};

use crate::connection::stream::Stream;
use crate::error::DriveError;
use crate::postgres::arm_plan::ArmPlan;
use crate::postgres::connect::{connect, ConnectError};
use crate::postgres::server::Server;
use crate::protocol::{text_row, TextRow};

/// The longest reply, in time and in bytes: such queries are small.
const REPLY_TIME: Duration = Duration::from_secs(60);
const LONGEST_REPLY: usize = 1 << 20;

/// Connects as an arm of a plan, given as JSON; executes one query; disconnects. Its rows.
pub fn query(arm: &str, sql: &str) -> Result<Vec<TextRow>, DriveError> {
    let plan: ArmPlan =
        serde_json::from_str(arm).map_err(|error| DriveError::new("invalid arm").detail(error))?;
    let server = Server::new(&plan)?;
    let (mut stream, _) = connect(&server).map_err(|error| {
        DriveError::new(format!("could not connect: {error}"))
            .detail(format!("The server was looked for at {}.", server.address))
    })?;
    execute(&mut stream, sql)
        .map_err(|error| DriveError::new("could not ask the server").detail(error))
}

fn execute(stream: &mut Stream, sql: &str) -> Result<Vec<TextRow>, ConnectError> {
    let deadline = Instant::now() + REPLY_TIME;
    stream.set_deadline(deadline)?;
    stream.send_all(&simple_query(sql)?)?;
    let mut rows = Vec::new();
    let mut held = Vec::new();
    let mut buffer = [0; 4096];
    let mut taken = 0;
    loop {
        stream.set_deadline(deadline)?;
        let received = stream.receive(&mut buffer)?;
        taken += received;
        if received == 0 || taken > LONGEST_REPLY {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        held.extend_from_slice(&buffer[..received]);
        let mut rest = held.as_slice();
        while let Some(frame) = Frame::first(rest)? {
            rest = &rest[frame.whole.len()..];
            match frame.kind {
                b'D' => rows.push(text_row(row_values(frame.body)?)),
                b'E' => {
                    let error = Box::new(ServerError::parse(frame.body)?);
                    return Err(steelyard_wire::WireError::Refused(error).into());
                }
                b'Z' => {
                    stream.send_all(&steelyard_wire::terminate())?;
                    return Ok(rows);
                }
                _ => {}
            }
        }
        held = rest.to_vec();
    }
}
