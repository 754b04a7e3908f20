//! Writes the driver's output: one JSON object a line.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::client::program::{Operation, Program, Programs};
use crate::error::DriveError;
use crate::protocol::Protocol;
use crate::report::border_files::AtBorders;
use crate::report::latency::encode;
use crate::report::tally::{ScriptTally, Snapshot, Tally};
use crate::threads::arm::Arm;

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Response<'a> {
    Slice(Box<SliceResponse<'a>>),
    /// What all threads have counted so far in the slice under way.
    Progress(Snapshot),
    Done(usize),
    Error(ErrorResponse<'a>),
    /// The server's numbers of all connections by arm and client, the I/O backend, and how
    /// connections are encrypted.
    #[serde(untagged)]
    Connected {
        connected: serde_json::Map<String, Json>,
        io: &'static str,
        encryption: BTreeMap<&'a str, Option<String>>,
    },
}

#[derive(Serialize)]
pub struct ErrorResponse<'a> {
    primary: &'a str,
    detail: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> From<&'a DriveError> for ErrorResponse<'a> {
    fn from(error: &'a DriveError) -> ErrorResponse<'a> {
        ErrorResponse {
            primary: &error.primary,
            detail: error.detail.as_deref(),
            hint: error.hint.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub struct SliceResponse<'a> {
    arm: &'a str,
    tag: &'a Json,
    start_ns: u64,
    end_ns: u64,
    length_ns: u64,
    clients: usize,
    transactions: u64,
    busy_ns: u64,
    latency_sum_ns: u64,
    failed: u64,
    errors: BTreeMap<&'a str, u64>,
    error_messages: BTreeMap<&'a str, &'a str>,
    rows: u64,
    wrong_rows: u64,
    capped: u64,
    lost: u64,
    reconnected: &'a [(usize, i64)],
    retried: u64,
    retries: u64,
    late_starts: u64,
    lag_sum_ns: u64,
    lag_max_ns: u64,
    skipped: u64,
    unstarted: u64,
    over_limit: u64,
    connections: u64,
    connect_ns: u64,
    latency_squares_ns2: f64,
    debug: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted: Option<&'a str>,
    driver_cpu_ns: u64,
    /// How long its threads were runnable without a processor, where the kernel counts it, of how
    /// long they drove: summed over them.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver_queue_ns: Option<u64>,
    driver_threads_ns: u64,
    scripts: Vec<ScriptResponse<'a>>,
    /// How much later its last thread began than it should have, where it was to begin by clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<u64>,
    /// The plan's files before and after, where it names any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<AtBorders>,
}

#[derive(Serialize)]
struct ScriptResponse<'a> {
    name: &'a str,
    transactions: u64,
    latency: String,
    /// Each command, where they are timed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandResponse<'a>>,
}

#[derive(Serialize)]
struct CommandResponse<'a> {
    line: usize,
    text: &'a str,
    executions: u64,
    sum_ns: u64,
    failures: u64,
    retries: u64,
}

/// The timed commands of a script; a jump is no command of its author's.
fn commands<'a, P: Protocol>(
    program: &'a Program<P>,
    counted: &ScriptTally,
) -> Vec<CommandResponse<'a>> {
    let all = program.operations.iter().zip(&program.sources);
    let timed = all
        .zip(&counted.commands)
        .filter(|((operation, _), _)| !matches!(operation, Operation::Jump(_)));
    timed
        .map(|((_, source), counted)| CommandResponse {
            line: source.line,
            text: source.words(),
            executions: counted.executions,
            sum_ns: counted.sum_ns,
            failures: counted.failures,
            retries: counted.retries,
        })
        .collect()
}

impl<'a> SliceResponse<'a> {
    pub fn new<P: Protocol>(
        arm: &'a Arm<P>,
        programs: &'a Programs<P>,
        tag: &'a Json,
        length_ns: u64,
        driver_cpu_ns: u64,
        tally: &'a Tally,
    ) -> Result<SliceResponse<'a>, DriveError> {
        let mut scripts = Vec::with_capacity(programs.scripts.len());
        for (program, counted) in programs.scripts.iter().zip(&tally.scripts) {
            scripts.push(ScriptResponse {
                name: &program.name,
                transactions: counted.transactions,
                latency: encode(&counted.latency)?,
                commands: commands(program, counted),
            });
        }
        let errors = tally
            .errors
            .iter()
            .map(|(state, (times, _))| (state.as_str(), *times));
        let messages = tally
            .errors
            .iter()
            .map(|(state, (_, text))| (state.as_str(), text.as_str()));
        Ok(SliceResponse {
            arm: &arm.name,
            tag,
            start_ns: tally.start_ns,
            end_ns: tally.end_ns,
            length_ns,
            clients: arm.clients,
            transactions: tally.transactions,
            busy_ns: tally.busy_ns,
            latency_sum_ns: tally.latency_sum_ns,
            failed: tally.failed,
            errors: errors.collect(),
            error_messages: messages.collect(),
            rows: tally.rows,
            wrong_rows: tally.wrong_rows,
            capped: tally.capped,
            lost: tally.lost,
            reconnected: &tally.reconnected,
            retried: tally.retried,
            retries: tally.retries,
            late_starts: tally.late_starts,
            lag_sum_ns: tally.lag_sum_ns,
            lag_max_ns: tally.lag_max_ns,
            skipped: tally.skipped,
            unstarted: tally.unstarted,
            over_limit: tally.over_limit,
            connections: tally.connections,
            connect_ns: tally.connect_ns,
            latency_squares_ns2: tally.latency_squares,
            debug: &tally.debug_lines,
            aborted: tally.aborted.as_deref(),
            driver_cpu_ns,
            driver_queue_ns: tally.queue_ns,
            driver_threads_ns: tally.threads_ns,
            scripts,
            late_ns: None,
            files: None,
        })
    }
}
