//! Runs one thread of the driver: connects its client groups and drives slices with them.

use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Barrier};

use rustix::thread::{sched_setaffinity, CpuSet};
use steelyard_buffer::on_a_page;

use crate::client::program::Programs;
use crate::clock::{now_ns, wait_until};
use crate::error::DriveError;
use crate::plan::Plan;
use crate::protocol::Protocol;
use crate::report::log::Log;
use crate::report::tally::{Snapshot, Tally};
use crate::slice::hot_loop::run_slice;
use crate::slice::limits::SliceLimits;
use crate::threads::arm::Arm;
use crate::threads::client_group::ClientGroup;
use crate::threads::run_queue::RunQueue;

/// Bytes taken by one receive; longer replies take several.
const BUFFER: usize = 64 << 10;

/// What a worker needs to know at its start.
pub struct WorkerConfig<P: Protocol> {
    pub thread: usize,
    pub threads: usize,
    pub processor: Option<usize>,
    pub seed: u64,
    pub arms: Vec<Arc<Arm<P>>>,
    pub plan: Arc<Plan<P::ArmPlan>>,
    pub programs: Arc<Programs<P>>,
    pub barrier: Arc<Barrier>,
}

/// A slice, with the tally that is to be filled.
pub struct SliceTask {
    pub limits: Arc<SliceLimits>,
    pub tally: Tally,
}

/// What a worker reports.
pub enum Report {
    /// All connections of the thread, and the name of its I/O backend.
    Connected(Sessions, &'static str),
    Slice(usize, Box<Tally>),
    /// What a thread has counted so far in the slice under way.
    Progress(usize, Snapshot),
    Failed(DriveError),
}

/// Arm, client, and the server's number of every connection.
type Sessions = Vec<(usize, usize, i64)>;

/// Works until no more slices come; a panic becomes a report, so that the coordinator does not wait
/// for a thread that has ended.
pub fn run_worker<P: Protocol>(
    config: &WorkerConfig<P>,
    tasks: &Receiver<SliceTask>,
    reports: &Sender<Report>,
) {
    let worked = catch_unwind(AssertUnwindSafe(|| work(config, tasks, reports)));
    if worked.is_err() {
        let error = DriveError::new(format!("driver thread {} panicked", config.thread))
            .hint("This is a defect of Steelyard; its words are on standard error.");
        let _ = reports.send(Report::Failed(error));
    }
}

fn work<P: Protocol>(
    config: &WorkerConfig<P>,
    tasks: &Receiver<SliceTask>,
    reports: &Sender<Report>,
) {
    let mut groups = match connect(config) {
        Ok((groups, sessions)) => {
            let io = groups.first().map_or("", |group| group.backend.name());
            // A coordinator that is gone has no use for a report: the next receive ends us.
            let _ = reports.send(Report::Connected(sessions, io));
            groups
        }
        Err(error) => {
            let _ = reports.send(Report::Failed(error));
            return;
        }
    };
    let mut buffer = on_a_page(BUFFER);
    let queue = RunQueue::of_this_thread();
    while let Ok(SliceTask { limits, mut tally }) = tasks.recv() {
        let group = &mut groups[limits.arm];
        tally.clear();
        group.reconnect_lost(&mut tally);
        config.barrier.wait();
        if let Some(begin_ns) = limits.begin_ns {
            wait_until(begin_ns);
        }
        let (waited_ns, began_ns) = (queue.waited_ns(), now_ns());
        let driven = run_slice(
            group,
            &config.programs,
            &limits,
            &mut buffer,
            &mut tally,
            reports,
        );
        tally.threads_ns = now_ns() - began_ns;
        let waited_ns = waited_ns.zip(queue.waited_ns());
        tally.queue_ns = waited_ns.map(|(before, after)| after.saturating_sub(before));
        let due_ns = limits.begin_ns.unwrap_or(tally.start_ns);
        tally.late_ns = tally.start_ns.saturating_sub(due_ns);
        let report = match driven.and_then(|()| group.cancel_unfinished(&mut tally)) {
            Ok(()) => Report::Slice(config.thread, Box::new(tally)),
            Err(error) => {
                Report::Failed(DriveError::new("could not go on with a slice").detail(error))
            }
        };
        let _ = reports.send(report);
    }
    for group in &mut groups {
        group.disconnect();
    }
}

fn connect<P: Protocol>(
    config: &WorkerConfig<P>,
) -> Result<(Vec<ClientGroup<P>>, Sessions), DriveError> {
    if let Some(processor) = config.processor {
        pin_thread(processor).map_err(|error| {
            DriveError::new(format!(
                "could not pin a driver thread to processor {processor}"
            ))
            .detail(error)
        })?;
    }
    let mut groups = Vec::new();
    let mut sessions = Vec::new();
    for (number, arm) in config.arms.iter().enumerate() {
        let mut group = ClientGroup::new(Arc::clone(arm), config).map_err(|error| {
            DriveError::new("could not prepare to wait for connections").detail(error)
        })?;
        if let Some(log) = &config.plan.log {
            let made = Log::create(log, &config.plan, config.thread, group.clients.len());
            group.log = Some(made.map_err(|error| {
                DriveError::new(format!("could not create log \"{}\"", log.path)).detail(error)
            })?);
        }
        let connected = group.connect()?;
        sessions.extend(
            connected
                .iter()
                .map(|&(client, session)| (number, client, session)),
        );
        groups.push(group);
    }
    Ok((groups, sessions))
}

/// Pins the calling thread to `processor`.
fn pin_thread(processor: usize) -> io::Result<()> {
    if processor >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut processors = CpuSet::new();
    processors.set(processor);
    Ok(sched_setaffinity(None, &processors)?)
}
