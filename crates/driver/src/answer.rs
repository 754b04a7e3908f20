//! What the driver answers: one JSON object a line.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use crate::arm::Arm;
use crate::error::DriveError;
use crate::latency::encode;
use crate::program::Programs;
use crate::tally::Tally;

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer<'a> {
    /// Backend process ids of every arm, by client.
    Connected(serde_json::Map<String, Json>),
    Slice(Box<SliceAnswer<'a>>),
    Done(usize),
    Error(ErrorAnswer<'a>),
}

#[derive(Serialize)]
pub struct ErrorAnswer<'a> {
    primary: &'a str,
    detail: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> From<&'a DriveError> for ErrorAnswer<'a> {
    fn from(error: &'a DriveError) -> ErrorAnswer<'a> {
        ErrorAnswer {
            primary: &error.primary,
            detail: error.detail.as_deref(),
            hint: error.hint.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub struct SliceAnswer<'a> {
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
    reconnected: &'a [(usize, i32)],
    retries: u64,
    late_starts: u64,
    driver_cpu_ns: u64,
    scripts: Vec<ScriptAnswer<'a>>,
}

#[derive(Serialize)]
struct ScriptAnswer<'a> {
    name: &'a str,
    transactions: u64,
    latency: String,
}

impl<'a> SliceAnswer<'a> {
    pub fn new(
        arm: &'a Arm,
        programs: &'a Programs,
        tag: &'a Json,
        length_ns: u64,
        driver_cpu_ns: u64,
        tally: &'a Tally,
    ) -> Result<SliceAnswer<'a>, DriveError> {
        let mut scripts = Vec::with_capacity(programs.scripts.len());
        for (program, counted) in programs.scripts.iter().zip(&tally.scripts) {
            scripts.push(ScriptAnswer {
                name: &program.name,
                transactions: counted.transactions,
                latency: encode(&counted.latency)?,
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
        Ok(SliceAnswer {
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
            retries: 0,
            late_starts: 0,
            driver_cpu_ns,
            scripts,
        })
    }
}
