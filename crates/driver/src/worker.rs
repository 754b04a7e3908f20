//! One thread of the driver: its crews, and the slices it is told to drive.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Barrier};

use crate::arm::Arm;
use crate::course::Course;
use crate::crew::Crew;
use crate::error::DriveError;
use crate::hot::run_slice;
use crate::log::Log;
use crate::pin::pin_thread;
use crate::plan::Plan;
use crate::program::Programs;
use crate::tally::{Snapshot, Tally};

/// Bytes taken by one receive; longer replies take several.
const BUFFER: usize = 64 << 10;

/// What a worker needs to know at its start.
pub struct Post {
    pub thread: usize,
    pub threads: usize,
    pub processor: Option<usize>,
    pub seed: u64,
    pub arms: Vec<Arc<Arm>>,
    pub plan: Arc<Plan>,
    pub programs: Arc<Programs>,
    pub barrier: Arc<Barrier>,
}

/// A slice, with the tally that is to be filled.
pub struct Order {
    pub course: Arc<Course>,
    pub tally: Tally,
}

/// What a worker reports.
pub enum Report {
    /// Arm, client and backend process id of every connection, and the way their bytes go.
    Connected(Backends, &'static str),
    Slice(usize, Box<Tally>),
    /// What a thread has counted so far in the slice under way.
    Progress(usize, Snapshot),
    Failed(DriveError),
}

/// Works; a panic becomes a report, so that nobody waits for a thread that is no more.
pub fn work_or_report(post: &Post, orders: &Receiver<Order>, reports: &Sender<Report>) {
    let worked = catch_unwind(AssertUnwindSafe(|| work(post, orders, reports)));
    if worked.is_err() {
        let error = DriveError::new(format!("driver thread {} panicked", post.thread))
            .hint("This is a defect of Steelyard; its words are on standard error.");
        let _ = reports.send(Report::Failed(error));
    }
}

/// The life of a worker: connect, drive slices until no more come, disconnect.
fn work(post: &Post, orders: &Receiver<Order>, reports: &Sender<Report>) {
    let mut crews = match open(post) {
        Ok((crews, backends)) => {
            let way = crews.first().map_or("", |crew| crew.way.name());
            // A coordinator that is gone has no use for a report: the next receive ends us.
            let _ = reports.send(Report::Connected(backends, way));
            crews
        }
        Err(error) => {
            let _ = reports.send(Report::Failed(error));
            return;
        }
    };
    let mut buffer = vec![0; BUFFER];
    while let Ok(order) = orders.recv() {
        let Order { course, mut tally } = order;
        let crew = &mut crews[course.arm];
        tally.clear();
        crew.revive(&mut tally);
        post.barrier.wait();
        let driven = run_slice(
            crew,
            &post.programs,
            &course,
            &mut buffer,
            &mut tally,
            reports,
        );
        let report = match driven.and_then(|()| crew.settle(&mut tally)) {
            Ok(()) => Report::Slice(post.thread, Box::new(tally)),
            Err(error) => {
                Report::Failed(DriveError::new("could not go on with a slice").detail(error))
            }
        };
        let _ = reports.send(report);
    }
    for crew in &mut crews {
        crew.disconnect();
    }
}

/// Arm, client and backend process id of every connection.
type Backends = Vec<(usize, usize, i32)>;

fn open(post: &Post) -> Result<(Vec<Crew>, Backends), DriveError> {
    if let Some(processor) = post.processor {
        pin_thread(processor).map_err(|error| {
            DriveError::new(format!(
                "could not pin a driver thread to processor {processor}"
            ))
            .detail(error)
        })?;
    }
    let mut crews = Vec::new();
    let mut backends = Vec::new();
    for (number, arm) in post.arms.iter().enumerate() {
        let arm = Arc::clone(arm);
        let mut crew = Crew::new(arm, post).map_err(|error| {
            DriveError::new("could not prepare to wait for connections").detail(error)
        })?;
        if let Some(log) = &post.plan.log {
            let made = Log::create(log, &post.plan, post.thread, crew.clients.len());
            crew.log = Some(made.map_err(|error| {
                DriveError::new(format!("could not create log \"{}\"", log.path)).detail(error)
            })?);
        }
        backends.extend(
            crew.connect()?
                .iter()
                .map(|&(client, pid)| (number, client, pid)),
        );
        crews.push(crew);
    }
    Ok((crews, backends))
}
