//! Exposes `crates/driver`: the driver itself, single queries, latency histograms.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use steelyard_driver::{DriveError, Latencies};

/// `steelyard.errors.DriverError` with its three parts.
pub(crate) fn to_python(py: Python<'_>, error: &DriveError) -> PyErr {
    let raised = || -> PyResult<PyErr> {
        let parts = PyDict::new(py);
        parts.set_item("detail", error.detail.as_deref())?;
        parts.set_item("hint", error.hint.as_deref())?;
        let kind = py
            .import("steelyard.model.errors")?
            .getattr("DriverError")?;
        Ok(PyErr::from_value(
            kind.call((error.primary.as_str(),), Some(&parts))?,
        ))
    };
    raised().unwrap_or_else(|error| error)
}

/// Drives from a plan: JSON lines in, JSON lines out, until a line ends it. False: it ended with an
/// error, which stands in the last line.
#[pyfunction]
fn drive(py: Python<'_>, stdin_fd: RawFd, stdout_fd: RawFd) -> PyResult<bool> {
    let input = duplicate(stdin_fd)?;
    let output = duplicate(stdout_fd)?;
    py.detach(|| {
        let mut input = BufReader::new(File::from(input));
        let mut output = BufWriter::new(File::from(output));
        Ok(steelyard_driver::drive(&mut input, &mut output).is_ok())
    })
}

/// Cancels what servers execute for this process's driver; two seconds at most.
#[pyfunction]
fn cancel_everything(py: Python<'_>) {
    py.detach(steelyard_driver::cancel_everything);
}

/// A descriptor of our own, so that Python keeps its one.
pub(crate) fn duplicate(fd: RawFd) -> PyResult<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes any number and fails for one that is not open.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(PyOSError::new_err(std::io::Error::last_os_error()));
    }
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// The rows of one SQL query as text, on a connection of its own to an arm, which is JSON as in a
/// plan. DriverError: no connection, or the server refuses.
#[pyfunction]
fn ask(py: Python<'_>, arm: &str, sql: &str) -> PyResult<Vec<Vec<Option<String>>>> {
    py.detach(|| steelyard_driver::query(arm, sql))
        .map_err(|error| to_python(py, &error))
}

/// Merges encoded histograms: count, mean_ns, max_ns, and values at the quantiles (0 … 1).
#[pyfunction]
fn histogram_quantiles<'py>(
    py: Python<'py>,
    latencies: Vec<String>,
    quantiles: Vec<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let summary = py
        .detach(|| Latencies::merge(&latencies).map(|merged| merged.summary(&quantiles)))
        .map_err(|error| to_python(py, &error))?;
    let found = PyDict::new(py);
    found.set_item("count", summary.count)?;
    found.set_item("mean_ns", summary.mean_ns)?;
    found.set_item("max_ns", summary.max_ns)?;
    found.set_item("values", summary.values)?;
    Ok(found)
}

/// How many latencies lie in each bin between two edges, merged over encoded histograms.
#[pyfunction]
fn histogram_counts(
    py: Python<'_>,
    latencies: Vec<String>,
    edges_ns: Vec<u64>,
) -> PyResult<Vec<u64>> {
    py.detach(|| Latencies::merge(&latencies).map(|merged| merged.counts(&edges_ns)))
        .map_err(|error| to_python(py, &error))
}

/// Encoded histograms as one encoded histogram.
#[pyfunction]
fn histogram_merge(py: Python<'_>, latencies: Vec<String>) -> PyResult<String> {
    py.detach(|| Latencies::merge(&latencies).and_then(|merged| merged.encoded()))
        .map_err(|error| to_python(py, &error))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(drive, module)?)?;
    module.add_function(wrap_pyfunction!(cancel_everything, module)?)?;
    module.add_function(wrap_pyfunction!(ask, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_quantiles, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_counts, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_merge, module)?)
}
