//! One question to a server on a connection of its own: rows of text, nothing more.

use std::io;
use std::time::{Duration, Instant};

use steelyard_wire::{row_values, simple_query, Credentials, Frame, Row, ServerError};

use crate::connect::{connect, ConnectError};
use crate::error::DriveError;
use crate::socket::{Socket, Target};

/// The longest answer, in time and in bytes: questions are small.
const ANSWER_TIME: Duration = Duration::from_secs(60);
const LONGEST_ANSWER: usize = 1 << 20;

/// Who asks, and where.
pub struct Asker {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    pub password: Option<String>,
    /// Settings of the session, as libpq's `options`.
    pub options: String,
}

/// Connects, asks one question in SQL, disconnects; the rows of the answer.
pub fn ask(asker: &Asker, sql: &str) -> Result<Vec<Row>, DriveError> {
    let target = Target {
        host: asker.host.clone(),
        port: asker.port,
    };
    let credentials = Credentials {
        user: asker.user.clone(),
        database: asker.database.clone(),
        password: asker.password.clone(),
        application_name: "steelyard".to_owned(),
        options: asker.options.clone(),
    };
    let (socket, _) = connect(&target, &credentials).map_err(|error| {
        DriveError::new(format!("could not connect: {error}"))
            .detail(format!("The server was looked for at {}.", target.shown()))
    })?;
    converse(&socket, sql).map_err(|error| match error {
        ConnectError::Wire(error) => DriveError::new("could not ask the server").detail(error),
        ConnectError::Socket(error) => DriveError::new("could not ask the server").detail(error),
    })
}

fn converse(socket: &Socket, sql: &str) -> Result<Vec<Row>, ConnectError> {
    let deadline = Instant::now() + ANSWER_TIME;
    socket.set_deadline(deadline)?;
    socket.send_all(&simple_query(sql)?)?;
    let mut rows = Vec::new();
    let mut held = Vec::new();
    let mut buffer = [0; 4096];
    let mut taken = 0;
    loop {
        socket.set_deadline(deadline)?;
        let received = socket.receive(&mut buffer)?;
        taken += received;
        if received == 0 || taken > LONGEST_ANSWER {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        held.extend_from_slice(&buffer[..received]);
        let mut rest = held.as_slice();
        while let Some(frame) = Frame::first(rest)? {
            rest = &rest[frame.whole.len()..];
            match frame.kind {
                b'D' => rows.push(row_values(frame.body)?),
                b'E' => {
                    let error = Box::new(ServerError::parse(frame.body)?);
                    return Err(steelyard_wire::WireError::Refused(error).into());
                }
                b'Z' => {
                    socket.send_all(&steelyard_wire::terminate())?;
                    return Ok(rows);
                }
                _ => {}
            }
        }
        held = rest.to_vec();
    }
}
