//! Exposes the scan of InnoDB data directories of `crates/pages`.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use steelyard_pages::innodb;
use steelyard_pages::innodb::{Carried, DataFile, Progress, Scanned, Suspect};

use crate::os_error;

/// Damaged pages that are listed; the others are only counted.
const MOST_TOLD: usize = 10_000;

/// A file of a tablespace.
#[pyclass(frozen)]
struct InnodbFile(DataFile);

#[pymethods]
impl InnodbFile {
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path.clone()
    }

    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    #[getter]
    fn page_bytes(&self) -> usize {
        self.0.layout.page_bytes
    }

    #[getter]
    fn logical_bytes(&self) -> usize {
        self.0.layout.logical_bytes
    }

    #[getter]
    fn zip(&self) -> bool {
        self.0.layout.zip
    }

    #[getter]
    fn full_crc32(&self) -> bool {
        self.0.layout.full_crc32
    }

    #[getter]
    fn space(&self) -> Option<u32> {
        self.0.space
    }

    #[getter]
    fn first_page(&self) -> u32 {
        self.0.first_page
    }
}

type LeftOut = Vec<(String, String)>;

/// Every tablespace of a data directory, what was skipped, and what could not be read.
#[pyfunction]
fn walk_innodb(
    py: Python<'_>,
    directory: PathBuf,
) -> PyResult<(Vec<InnodbFile>, LeftOut, LeftOut)> {
    let found = py
        .detach(|| innodb::walk(&directory))
        .map_err(os_error::to_python)?;
    let told = |left_out: Vec<steelyard_pages::Skipped>| -> LeftOut {
        let told = left_out.into_iter().map(|s| (s.label, s.reason));
        told.collect()
    };
    let files = found.files.into_iter().map(InnodbFile).collect();
    Ok((files, told(found.skipped), told(found.denied)))
}

/// The process that holds a lock on a file that would keep readers out; -1: it cannot be seen from
/// here. None: no process does. OSError: the file cannot be opened.
#[pyfunction]
fn lock_holder(path: PathBuf) -> PyResult<Option<i32>> {
    let file = steelyard_pages::open_regular(&path).map_err(os_error::to_python)?;
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the descriptor is open, and the structure outlives the call, which takes no lock.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut lock) };
    if done != 0 {
        return Err(os_error::to_python(std::io::Error::last_os_error()));
    }
    let held = lock.l_type != libc::F_UNLCK as libc::c_short;
    Ok(held.then_some(if lock.l_pid > 0 { lock.l_pid } else { -1 }))
}

/// The options of a scan.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Asked {
    threads: usize,
    max_rate: Option<f64>,
    idle: bool,
    gaps_s: Vec<f64>,
}

/// Reports the progress of a scan to Python; keeps the exception by which Python stops it.
struct Teller<'a> {
    progress: &'a Progress,
    callback: &'a Py<PyAny>,
    failure: Option<PyErr>,
}

impl Teller<'_> {
    fn tell(&mut self, again: usize) {
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        let (bytes, wrong) = (read(&self.progress.bytes), read(&self.progress.wrong));
        let answer = Python::attach(|py| {
            py.check_signals()?;
            self.callback.call1(py, (bytes, wrong, again)).map(drop)
        });
        if let Err(error) = answer {
            self.failure.get_or_insert(error);
            self.progress.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Scans files; see the stub for its options and its result.
#[pyfunction]
fn scan_innodb<'py>(
    py: Python<'py>,
    files: Vec<PyRef<'py, InnodbFile>>,
    asked: Asked,
    progress: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let inner: Vec<DataFile> = files.iter().map(|file| file.0.clone()).collect();
    let gaps: Vec<Duration> = asked
        .gaps_s
        .iter()
        .map(|s| Duration::from_secs_f64(*s))
        .collect();
    let options = innodb::Options {
        threads: asked.threads,
        max_rate: asked.max_rate,
        idle: asked.idle,
    };
    let counts = Progress::default();
    let (failure, scanned, dismissed) = py.detach(|| {
        let mut teller = Teller {
            progress: &counts,
            callback: &progress,
            failure: None,
        };
        let mut scanned = innodb::scan(&inner, &options, &counts, || teller.tell(0));
        let mut dismissed = Vec::new();
        if !gaps.is_empty() {
            let suspects = std::mem::take(&mut scanned.suspects);
            let told = |left| teller.tell(left);
            (scanned.suspects, dismissed) =
                innodb::recheck(suspects, &inner, &gaps, &counts.stop, told);
            scanned.suspects.sort_by_key(|s| (s.file, s.page));
        }
        (teller.failure, scanned, dismissed)
    });
    match failure {
        Some(error) => Err(error),
        None => answer(py, &inner, &counts, &scanned, &dismissed),
    }
}

fn answer<'py>(
    py: Python<'py>,
    files: &[DataFile],
    counts: &Progress,
    scanned: &Scanned,
    dismissed: &[Suspect],
) -> PyResult<Bound<'py, PyDict>> {
    let listed: Vec<_> = scanned.suspects.iter().take(MOST_TOLD).map(told).collect();
    let untold = (scanned.suspects.len() - listed.len()) as u64;
    let found = PyDict::new(py);
    found.set_item("files", counts.files.load(Ordering::Relaxed))?;
    found.set_item("blocks", counts.pages.load(Ordering::Relaxed))?;
    found.set_item("bytes", counts.bytes.load(Ordering::Relaxed))?;
    found.set_item("wrong", listed)?;
    found.set_item("dismissed", dismissed.len())?;
    found.set_item("uncounted", untold + scanned.uncounted)?;
    found.set_item("unchecked", scanned.uncounted)?;
    let carried: Vec<Vec<(&str, u64)>> = scanned
        .counts
        .iter()
        .map(|counts| {
            let named = Carried::ALL.iter().zip(counts).filter(|(_, n)| **n > 0);
            named.map(|(carried, n)| (carried.name(), *n)).collect()
        })
        .collect();
    found.set_item("carried", carried)?;
    let label = |file: usize| files[file].label.clone();
    let vanished: Vec<String> = scanned.vanished.iter().map(|f| label(*f)).collect();
    found.set_item("vanished", vanished)?;
    let denied: LeftOut = scanned
        .denied
        .iter()
        .map(|(file, error)| (label(*file), os_error::words(error)))
        .collect();
    found.set_item("denied", denied)?;
    Ok(found)
}

type Told = (usize, u32, &'static str, u32, u32, u64);

fn told(suspect: &Suspect) -> Told {
    let wrong = suspect.wrong;
    let Suspect { file, page, .. } = *suspect;
    let reason = wrong.fault.name();
    (file, page, reason, wrong.expected, wrong.found, wrong.lsn)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<InnodbFile>()?;
    module.add_function(wrap_pyfunction!(walk_innodb, module)?)?;
    module.add_function(wrap_pyfunction!(lock_holder, module)?)?;
    module.add_function(wrap_pyfunction!(scan_innodb, module)?)
}
