//! Reads a plan and commands as JSON lines, has the threads drive slices, and writes the results.

use std::io::{BufRead, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use serde_json::Value as Json;

use crate::cancellation::register_arms;
use crate::client::program::Programs;
use crate::clock::process_cpu_ns;
use crate::connection::file_limit::raise_file_limit;
use crate::error::DriveError;
use crate::plan::{Opening, Plan, Request, SlicePlan};
use crate::protocol::Protocol;
use crate::report::border_files::{AtBorders, BorderFiles};
use crate::report::progress::Progress;
use crate::report::response::{Response, SliceResponse};
use crate::report::tally::Tally;
use crate::slice::limits::SliceLimits;
use crate::threads::arm::Arm;
use crate::threads::worker::{run_worker, Report, SliceTask, WorkerConfig};

/// More threads than this are a mistake in the plan.
const MOST_THREADS: usize = 1024;

/// Drives from the first line to `{"end": true}` or the end of input; an error is also answered.
pub fn drive<P: Protocol>(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), DriveError> {
    let driven = serve::<P>(input, output);
    if let Err(error) = &driven {
        // The reader may be gone; the error is returned in any case.
        let _ = write(output, &Response::Error(error.into()));
    }
    driven
}

fn serve<P: Protocol>(input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), DriveError> {
    let mut lines = input.lines();
    let first = lines
        .next()
        .ok_or_else(|| DriveError::new("no plan: the input is empty"))?;
    let first = first.map_err(|error| DriveError::new("could not read the plan").detail(error))?;
    let Opening { plan, .. } = serde_json::from_str(&first)
        .map_err(|error| DriveError::new("invalid plan").detail(error))?;
    let mut workers = Workers::<P>::start(plan)?;
    let (connected, io) = workers.connected()?;
    let arms = workers.arms.iter();
    let encryption = arms.map(|arm| (arm.name.as_str(), arm.encryption()));
    let connected = Response::Connected {
        connected,
        io,
        encryption: encryption.collect(),
    };
    write(output, &connected)?;
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
                    workers.slice(slice, output)?;
                }
                write(output, &Response::Done(slices.len()))?;
            }
        }
    }
    workers.end();
    Ok(())
}

fn write(output: &mut dyn Write, response: &Response<'_>) -> Result<(), DriveError> {
    let written = serde_json::to_vec(response)
        .map_err(std::io::Error::from)
        .and_then(|mut line| {
            line.push(b'\n');
            output.write_all(&line)?;
            output.flush()
        });
    written.map_err(|error| DriveError::new("could not write an answer").detail(error))
}

/// All threads of the driver, and the channels to and from them.
struct Workers<P: Protocol> {
    arms: Vec<Arc<Arm<P>>>,
    programs: Arc<Programs<P>>,
    drain_cap_ns: u64,
    files: BorderFiles,
    reports: Receiver<Report>,
    tasks: Vec<Sender<SliceTask>>,
    threads: Vec<JoinHandle<()>>,
    /// One a thread; they travel with the tasks.
    tallies: Vec<Tally>,
}

impl<P: Protocol> Workers<P> {
    fn start(plan: Plan<P::ArmPlan>) -> Result<Workers<P>, DriveError> {
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
        raise_file_limit(&plan)?;
        let plan = Arc::new(plan);
        let programs = Arc::new(Programs::compile(&plan)?);
        let arm = |arm| Arm::new(arm, plan.connect).map(Arc::new);
        let arms = plan.arms.iter().map(arm);
        let arms = arms.collect::<Result<Vec<_>, _>>()?;
        register_arms(&arms);
        let barrier = Arc::new(Barrier::new(plan.threads));
        let processors = plan.processors.as_deref().unwrap_or(&[]);
        let (report, reports) = channel();
        let mut workers = Workers {
            arms,
            programs,
            drain_cap_ns: plan.drain_cap_ns,
            files: BorderFiles::open(&plan.files),
            reports,
            tasks: Vec::new(),
            threads: Vec::new(),
            tallies: Vec::new(),
        };
        for thread in 0..plan.threads {
            let config = WorkerConfig {
                thread,
                threads: plan.threads,
                processor: processors.get(thread % processors.len().max(1)).copied(),
                seed: plan.seed,
                arms: workers.arms.clone(),
                plan: Arc::clone(&plan),
                programs: Arc::clone(&workers.programs),
                barrier: Arc::clone(&barrier),
            };
            let (task, tasks) = channel();
            let report = report.clone();
            let handle = thread::Builder::new()
                .name(format!("driver {thread}"))
                .spawn(move || run_worker(&config, &tasks, &report))
                .map_err(|error| DriveError::new("could not start a thread").detail(error))?;
            workers.tasks.push(task);
            workers.threads.push(handle);
            workers
                .tallies
                .push(Tally::new(&workers.programs.timed_commands()));
        }
        Ok(workers)
    }

    /// Waits until every client is connected; the server's numbers of the connections by arm and
    /// client, and the I/O backend.
    fn connected(&mut self) -> Result<(serde_json::Map<String, Json>, &'static str), DriveError> {
        let mut io = "";
        let mut sessions: Vec<Vec<i64>> =
            self.arms.iter().map(|arm| vec![0; arm.clients]).collect();
        for _ in 0..self.threads.len() {
            match self.report()? {
                Report::Connected(connections, backend) => {
                    io = backend;
                    for (arm, client, session) in connections {
                        sessions[arm][client] = session;
                    }
                }
                Report::Failed(error) => return Err(error),
                _ => unreachable!("no slice is driven yet"),
            }
        }
        let names = self.arms.iter().map(|arm| arm.name.clone());
        let connected = names.zip(sessions.into_iter().map(Json::from)).collect();
        Ok((connected, io))
    }

    fn report(&self) -> Result<Report, DriveError> {
        self.reports
            .recv()
            .map_err(|_| DriveError::new("every driver thread has ended"))
    }

    fn slice(&mut self, slice: &SlicePlan, output: &mut dyn Write) -> Result<(), DriveError> {
        let arm = self
            .arms
            .get(slice.arm)
            .ok_or_else(|| DriveError::new(format!("the plan has no arm {}", slice.arm)))?;
        if slice.from_ns.is_some() && self.programs.replay.is_none() {
            return Err(DriveError::new("the plan has no recorded arrivals"));
        }
        let before = self.files.read();
        let limits = Arc::new(SliceLimits::new(
            slice,
            self.drain_cap_ns,
            self.programs.abort,
        )?);
        let cpu_before_ns = process_cpu_ns();
        for (task, tally) in self.tasks.iter().zip(self.tallies.drain(..)) {
            let limits = Arc::clone(&limits);
            task.send(SliceTask { limits, tally })
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
                        write(output, &Response::Progress(total))?;
                    }
                }
                Report::Failed(error) => return Err(error),
                Report::Connected(..) => unreachable!("every thread connects once"),
            }
        }
        let cpu_ns = process_cpu_ns() - cpu_before_ns;
        let files = (!self.files.is_empty()).then(|| AtBorders {
            before,
            after: self.files.read(),
        });
        let (merged, others) = self.tallies.split_first_mut().expect("there is a thread");
        for tally in others {
            merged.merge(tally);
        }
        if let Some(error) = merged.script_error.take() {
            return Err(DriveError::new("a script could not go on").detail(error));
        }
        let length_ns = limits.length_ns;
        let late_ns = limits.begin_ns.map(|_| merged.late_ns);
        let mut response =
            SliceResponse::new(arm, &self.programs, &slice.tag, length_ns, cpu_ns, merged)?;
        response.late_ns = late_ns;
        response.files = files;
        write(output, &Response::Slice(Box::new(response)))
    }

    /// Disconnects everything and waits for the threads.
    fn end(mut self) {
        self.tasks.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported already.
            let _ = thread.join();
        }
    }
}
