//! Exposes the scan of `crates/pages`: its progress, and everything that is wrong at the end.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use steelyard_pages as pages;
use steelyard_pages::{Entry, Event, Fault, Kernel, Origin, Progress, Suspect, Writer, Wrong};

use crate::os_error;
use crate::scrub::{inner_segments, read_catalogue, told, Segment, Told};

/// Damaged blocks that are listed; the others are only counted.
const MOST_TOLD: usize = 10_000;
/// Blocks wrong at first that are kept to be looked at again.
const MOST_KEPT: usize = 500_000;

/// The options of a scan.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Asked {
    page_bytes: usize,
    segment_blocks: u32,
    checksums: bool,
    threads: usize,
    max_rate: Option<f64>,
    drop_behind: bool,
    idle: bool,
    kernel: Option<String>,
    gaps_s: Vec<f64>,
    catalogue: Option<PathBuf>,
    origin: Option<(u64, u32, u32, u32, u64, i64, u32)>,
    most_lsn: u64,
    compare: bool,
    replayed_from: Option<u64>,
}

impl Asked {
    fn options(&self) -> PyResult<pages::Options> {
        let kernel = match &self.kernel {
            None => Kernel::best(),
            Some(name) => Kernel::ALL
                .into_iter()
                .find(|kernel| kernel.name() == name && kernel.is_available())
                .ok_or_else(|| PyValueError::new_err(format!("no kernel \"{name}\" here")))?,
        };
        if !self.page_bytes.is_power_of_two() || !(1024..=32768).contains(&self.page_bytes) {
            let text = format!("not a size of pages: {}", self.page_bytes);
            return Err(PyValueError::new_err(text));
        }
        let judge = pages::Judge {
            kernel,
            page_bytes: self.page_bytes,
            checksums: self.checksums,
        };
        Ok(pages::Options {
            judge,
            segment_blocks: self.segment_blocks.max(1),
            threads: self.threads,
            max_rate: self.max_rate,
            drop_behind: self.drop_behind,
            idle: self.idle,
            entries: self.catalogue.is_some(),
        })
    }

    /// Whether replay from an LSN on explains that a page is older than it was.
    fn is_explained(&self, wrong: &Wrong) -> bool {
        let from = self.replayed_from.unwrap_or(u64::MAX);
        wrong.fault == Fault::Backwards && wrong.before >= from
    }

    fn writer(&self) -> PyResult<Option<Writer>> {
        let (Some(path), Some(origin)) = (&self.catalogue, self.origin) else {
            return Ok(None);
        };
        let (system_identifier, timeline, page_bytes, segment_blocks, checkpoint, time, digest) =
            origin;
        let origin = Origin {
            system_identifier,
            timeline,
            page_bytes,
            segment_blocks,
            checkpoint,
            time,
            digest,
        };
        let writer = Writer::create(path, &origin, self.most_lsn);
        Ok(Some(writer.map_err(os_error::to_python)?))
    }
}

struct Seen<'a> {
    asked: &'a Asked,
    /// Of the catalogue that is being written, if there is one.
    writer: Option<Writer>,
    /// Why the catalogue could not be written to its end.
    unwritten: Option<String>,
    /// Older than they were, as replay leaves them.
    behind: u64,
    suspects: Vec<Suspect>,
    /// Wrong beyond those that are listed: they are not read again.
    unchecked: u64,
    vanished: Vec<usize>,
    denied: Vec<(usize, String)>,
    /// Read to the end without anything wrong, since the last call of Python.
    done: Vec<usize>,
    unsound: HashSet<usize>,
    failure: Option<PyErr>,
}

impl<'a> Seen<'a> {
    fn new(asked: &'a Asked, writer: Option<Writer>) -> Self {
        Self {
            asked,
            writer,
            unwritten: None,
            behind: 0,
            suspects: Vec::new(),
            unchecked: 0,
            vanished: Vec::new(),
            denied: Vec::new(),
            done: Vec::new(),
            unsound: HashSet::new(),
            failure: None,
        }
    }

    fn take(
        &mut self,
        event: Event,
        segments: &[pages::Segment],
        earlier: &[Option<&[u8]>],
        unlogged: &HashSet<(u32, u32, u32)>,
    ) {
        if let Event::Wrong { segment, wrong, .. } = &event {
            if self.asked.is_explained(wrong) {
                self.behind += 1;
                return;
            }
            self.unsound.insert(*segment);
        }
        match event {
            Event::Wrong {
                segment,
                block,
                wrong,
            } if self.suspects.len() < MOST_KEPT => {
                self.suspects.push(Suspect {
                    segment,
                    block,
                    wrong,
                });
            }
            Event::Wrong { .. } => self.unchecked += 1,
            Event::Vanished { segment } => self.vanished.push(segment),
            Event::Denied { segment, error } => {
                self.denied.push((segment, error.to_string()));
                // What was known of it stays known.
                if let Some(before) = earlier.get(segment).copied().flatten() {
                    let unknown = vec![Entry::default(); before.len() / pages::ENTRY_BYTES];
                    self.keep(&segments[segment], &unknown, Some(before));
                }
            }
            Event::Done {
                segment, entries, ..
            } => {
                if !self.unsound.contains(&segment) {
                    self.done.push(segment);
                }
                let each = &segments[segment];
                let is_unlogged = unlogged.contains(&identity(each));
                if pages::is_catalogued(each, is_unlogged) {
                    self.keep(each, &entries, earlier[segment]);
                }
            }
        }
    }

    /// Puts a segment's entries into the catalogue. Where it cannot, the scan goes on without one.
    fn keep(&mut self, segment: &pages::Segment, entries: &[Entry], earlier: Option<&[u8]>) {
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        match writer.add(segment, entries, earlier) {
            Ok(()) => self.writer = Some(writer),
            Err(error) => {
                self.unwritten = Some(os_error::words(&error));
                writer.abandon();
            }
        }
    }

    /// Puts the catalogue in the place of the one before, unless the scan did not come to its end.
    fn finish(&mut self) {
        match self.writer.take() {
            Some(writer) if self.failure.is_none() => {
                self.unwritten = writer.finish().err().map(|error| os_error::words(&error));
            }
            Some(writer) => writer.abandon(),
            None => {}
        }
    }

    /// Reports the progress to Python, which raises an exception to stop the scan.
    fn tell(&mut self, progress: &Progress, callback: &Py<PyAny>, again: usize) {
        let done = std::mem::take(&mut self.done);
        let answer = Python::attach(|py| {
            py.check_signals()?;
            let (bytes, blocks, files) = (
                progress.bytes.load(Ordering::Relaxed),
                progress.blocks.load(Ordering::Relaxed),
                progress.files.load(Ordering::Relaxed),
            );
            let wrong = self.suspects.len();
            callback
                .call1(py, (bytes, blocks, files, wrong, again, done))
                .map(drop)
        });
        if let Err(error) = answer {
            self.failure.get_or_insert(error);
            progress.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn identity(segment: &pages::Segment) -> (u32, u32, u32) {
    (segment.tablespace, segment.database, segment.file.filenode)
}

/// Scans segments; see the stub for its options and its result.
#[pyfunction]
fn scan_segments<'py>(
    py: Python<'py>,
    segments: Vec<PyRef<'py, Segment>>,
    asked: Asked,
    progress: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let inner = inner_segments(&segments);
    let options = asked.options()?;
    let before = match &asked.catalogue {
        Some(path) if asked.compare => Some(read_catalogue(path)?),
        _ => None,
    };
    let unlogged = pages::is_unlogged(&inner);
    let earlier: Vec<Option<&[u8]>> = inner
        .iter()
        .map(|s| {
            before
                .as_ref()
                .filter(|_| pages::is_catalogued(s, unlogged.contains(&identity(s))))
                .and_then(|c| c.entries(s))
        })
        .collect();
    let writer = asked.writer()?;
    let counts = Progress::default();
    let gaps: Vec<Duration> = asked
        .gaps_s
        .iter()
        .map(|s| Duration::from_secs_f64(*s))
        .collect();
    let (mut seen, mut checked) = py.detach(|| {
        let seen = std::cell::RefCell::new(Seen::new(&asked, writer));
        pages::scan(
            &inner,
            &earlier,
            &options,
            &counts,
            |event| seen.borrow_mut().take(event, &inner, &earlier, &unlogged),
            || seen.borrow_mut().tell(&counts, &progress, 0),
        );
        let mut seen = seen.into_inner();
        let suspects = std::mem::take(&mut seen.suspects);
        let checked = if gaps.is_empty() {
            pages::Rechecked {
                wrong: suspects,
                ..pages::Rechecked::default()
            }
        } else {
            let look = pages::Look {
                segments: &inner,
                earlier: &earlier,
                judge: options.judge,
                segment_blocks: options.segment_blocks,
            };
            pages::recheck(suspects, &look, &gaps, &counts.stop, |left| {
                seen.tell(&counts, &progress, left);
            })
        };
        (seen, checked)
    });
    let found = checked.wrong.len();
    checked.wrong.retain(|s| !asked.is_explained(&s.wrong));
    seen.behind += (found - checked.wrong.len()) as u64;
    py.detach(|| seen.finish());
    if let Some(error) = seen.failure.take() {
        return Err(error);
    }
    answer(py, &segments, &counts, &seen, &checked)
}

fn answer<'py>(
    py: Python<'py>,
    segments: &[PyRef<'py, Segment>],
    counts: &Progress,
    seen: &Seen<'_>,
    checked: &pages::Rechecked,
) -> PyResult<Bound<'py, PyDict>> {
    let listed = |suspects: &[Suspect]| -> Vec<(usize, u32, Told)> {
        suspects
            .iter()
            .take(MOST_TOLD)
            .map(|s| (s.segment, s.block, told(s.wrong)))
            .collect()
    };
    let label = |segment: usize| segments[segment].label.clone();
    let found = PyDict::new(py);
    found.set_item("files", counts.files.load(Ordering::Relaxed))?;
    found.set_item("blocks", counts.blocks.load(Ordering::Relaxed))?;
    found.set_item("bytes", counts.bytes.load(Ordering::Relaxed))?;
    found.set_item("empty", counts.empty.load(Ordering::Relaxed))?;
    found.set_item("wrong", listed(&checked.wrong))?;
    found.set_item("dismissed", listed(&checked.dismissed))?;
    let untold = checked.wrong.len().saturating_sub(MOST_TOLD) as u64;
    found.set_item("uncounted", untold + seen.unchecked)?;
    found.set_item("unchecked", seen.unchecked)?;
    found.set_item("behind", seen.behind)?;
    found.set_item("unwritten", seen.unwritten.as_deref())?;
    let vanished: Vec<String> = seen.vanished.iter().map(|s| label(*s)).collect();
    found.set_item("vanished", vanished)?;
    let denied: Vec<(String, String)> = seen
        .denied
        .iter()
        .map(|(s, why)| (label(*s), why.clone()))
        .collect();
    found.set_item("denied", denied)?;
    Ok(found)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scan_segments, module)?)
}
