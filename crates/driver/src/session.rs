//! The driver as a process sees it: a plan and commands come in, slices go out, line by line.

use std::io::{BufRead, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use serde_json::Value as Json;

use crate::answer::{Answer, SliceAnswer};
use crate::arm::Arm;
use crate::clock::process_cpu_ns;
use crate::course::Course;
use crate::descriptors::provide;
use crate::error::DriveError;
use crate::leaving::note_arms;
use crate::plan::{Opening, Plan, Request, SlicePlan};
use crate::program::Programs;
use crate::progress::Progress;
use crate::tally::Tally;
use crate::worker::{work_or_report, Order, Post, Report};

/// More threads than this are a mistake in the plan.
const MOST_THREADS: usize = 1024;

/// Drives from the first line to `{"end": true}` or the end of input; an error is also answered.
pub fn drive(input: impl BufRead, mut output: impl Write) -> Result<(), DriveError> {
    let driven = converse(input, &mut output);
    if let Err(error) = &driven {
        // Whoever asked may be gone; the error is returned in any case.
        let _ = answer(&mut output, &Answer::Error(error.into()));
    }
    driven
}

fn converse(input: impl BufRead, output: &mut impl Write) -> Result<(), DriveError> {
    let mut lines = input.lines();
    let first = lines
        .next()
        .ok_or_else(|| DriveError::new("no plan: the input is empty"))?;
    let first = first.map_err(|error| DriveError::new("could not read the plan").detail(error))?;
    let Opening { plan } = serde_json::from_str(&first)
        .map_err(|error| DriveError::new("invalid plan").detail(error))?;
    let mut fleet = Fleet::start(plan)?;
    let (connected, io) = fleet.connected()?;
    let arms = fleet.arms.iter();
    let encryption = arms.map(|arm| (arm.name.as_str(), arm.encryption()));
    let told = Answer::Connected {
        connected,
        io,
        encryption: encryption.collect(),
    };
    answer(output, &told)?;
    for line in lines {
        let line =
            line.map_err(|error| DriveError::new("could not read a command").detail(error))?;
        let request = serde_json::from_str(&line)
            .map_err(|error| DriveError::new("invalid command to the driver").detail(error))?;
        match request {
            Request::End(true) => break,
            Request::End(false) => {}
            Request::Slices(slices) => {
                for slice in &slices {
                    fleet.slice(slice, output)?;
                }
                answer(output, &Answer::Done(slices.len()))?;
            }
        }
    }
    fleet.end();
    Ok(())
}

fn answer(output: &mut impl Write, answer: &Answer<'_>) -> Result<(), DriveError> {
    let written = serde_json::to_vec(answer)
        .map_err(std::io::Error::from)
        .and_then(|mut line| {
            line.push(b'\n');
            output.write_all(&line)?;
            output.flush()
        });
    written.map_err(|error| DriveError::new("could not write an answer").detail(error))
}

/// All threads of the driver, and who gives them orders.
struct Fleet {
    arms: Vec<Arc<Arm>>,
    programs: Arc<Programs>,
    drain_cap_ns: u64,
    reports: Receiver<Report>,
    orders: Vec<Sender<Order>>,
    threads: Vec<JoinHandle<()>>,
    /// One a thread; they travel with the orders.
    tallies: Vec<Tally>,
}

impl Fleet {
    fn start(plan: Plan) -> Result<Fleet, DriveError> {
        if plan.threads == 0 || plan.threads > MOST_THREADS {
            return Err(DriveError::new(format!(
                "cannot drive with {} threads",
                plan.threads
            )));
        }
        if plan.arms.is_empty() {
            return Err(DriveError::new("no arm to drive"));
        }
        if plan.log.is_some() && plan.arms.len() > 1 {
            return Err(DriveError::new("cannot log: a log is that of one arm"));
        }
        provide(&plan)?;
        let plan = Arc::new(plan);
        let programs = Arc::new(Programs::compile(&plan)?);
        let arm = |arm| Arm::new(arm, plan.connect).map(Arc::new);
        let arms = plan.arms.iter().map(arm);
        let arms = arms.collect::<Result<Vec<_>, _>>()?;
        note_arms(&arms);
        let barrier = Arc::new(Barrier::new(plan.threads));
        let processors = plan.processors.as_deref().unwrap_or(&[]);
        let (report, reports) = channel();
        let mut fleet = Fleet {
            arms,
            programs,
            drain_cap_ns: plan.drain_cap_ns,
            reports,
            orders: Vec::new(),
            threads: Vec::new(),
            tallies: Vec::new(),
        };
        for thread in 0..plan.threads {
            let post = Post {
                thread,
                threads: plan.threads,
                processor: processors.get(thread % processors.len().max(1)).copied(),
                seed: plan.seed,
                arms: fleet.arms.clone(),
                plan: Arc::clone(&plan),
                programs: Arc::clone(&fleet.programs),
                barrier: Arc::clone(&barrier),
            };
            let (order, orders) = channel();
            let report = report.clone();
            let handle = thread::Builder::new()
                .name(format!("driver {thread}"))
                .spawn(move || work_or_report(&post, &orders, &report))
                .map_err(|error| DriveError::new("could not start a thread").detail(error))?;
            fleet.orders.push(order);
            fleet.threads.push(handle);
            fleet
                .tallies
                .push(Tally::new(&fleet.programs.timed_commands()));
        }
        Ok(fleet)
    }

    /// Waits until every client is connected; backend process ids by arm and client, and the way
    /// their bytes go.
    fn connected(&mut self) -> Result<(serde_json::Map<String, Json>, &'static str), DriveError> {
        let mut io = "";
        let mut backends: Vec<Vec<i32>> =
            self.arms.iter().map(|arm| vec![0; arm.clients]).collect();
        for _ in 0..self.threads.len() {
            match self.report()? {
                Report::Connected(connections, way) => {
                    io = way;
                    for (arm, client, process_id) in connections {
                        backends[arm][client] = process_id;
                    }
                }
                Report::Failed(error) => return Err(error),
                _ => unreachable!("no slice is ordered yet"),
            }
        }
        let names = self.arms.iter().map(|arm| arm.name.clone());
        let connected = names.zip(backends.into_iter().map(Json::from)).collect();
        Ok((connected, io))
    }

    fn report(&self) -> Result<Report, DriveError> {
        self.reports
            .recv()
            .map_err(|_| DriveError::new("every driver thread has ended"))
    }

    fn slice(&mut self, slice: &SlicePlan, output: &mut impl Write) -> Result<(), DriveError> {
        let arm = self
            .arms
            .get(slice.arm)
            .ok_or_else(|| DriveError::new(format!("the plan has no arm {}", slice.arm)))?;
        let course = Arc::new(Course::new(slice, self.drain_cap_ns)?);
        let cpu_before_ns = process_cpu_ns();
        for (order, tally) in self.orders.iter().zip(self.tallies.drain(..)) {
            let course = Arc::clone(&course);
            order
                .send(Order { course, tally })
                .map_err(|_| DriveError::new("a driver thread has ended"))?;
        }
        let mut progress = Progress::new(self.threads.len());
        while self.tallies.len() < self.threads.len() {
            match self.report()? {
                Report::Slice(thread, tally) => {
                    progress.end(thread, tally.snapshot());
                    self.tallies.push(*tally);
                }
                Report::Progress(thread, snapshot) => {
                    if let Some(total) = progress.add(thread, snapshot) {
                        answer(output, &Answer::Progress(total))?;
                    }
                }
                Report::Failed(error) => return Err(error),
                Report::Connected(..) => unreachable!("every thread connects once"),
            }
        }
        let cpu_ns = process_cpu_ns() - cpu_before_ns;
        let (merged, others) = self.tallies.split_first_mut().expect("there is a thread");
        for tally in others {
            merged.merge(tally);
        }
        if let Some(broken) = merged.broken.take() {
            return Err(DriveError::new("a script could not go on").detail(broken));
        }
        let length_ns = course.length_ns;
        let line = SliceAnswer::new(arm, &self.programs, &slice.tag, length_ns, cpu_ns, merged)?;
        answer(output, &Answer::Slice(Box::new(line)))
    }

    /// Disconnects everything and waits for the threads.
    fn end(mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}
