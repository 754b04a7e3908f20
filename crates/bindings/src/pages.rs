//! Exposes parts of `crates/pages`: the control file and the page checksum.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use steelyard_pages as pages;
use steelyard_pages::{ControlError, ControlFile};

use crate::os_error;

fn to_python(error: ControlError) -> PyErr {
    match error {
        ControlError::Io(error) => os_error::to_python(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// What stands in a control file. OSError: it cannot be read; ValueError: of no known version, or
/// it says neither that pages have checksums nor that they have none.
#[pyfunction]
fn read_control(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let control = py.detach(|| ControlFile::read(&path)).map_err(to_python)?;
    let crc_ok = control.stored_crc() == control.computed_crc();
    if crc_ok {
        control.checksums().map_err(to_python)?;
    }
    let found = PyDict::new(py);
    found.set_item("system_identifier", control.system_identifier())?;
    found.set_item("pg_control_version", control.control_version())?;
    found.set_item("catalog_version", control.catalog_version())?;
    found.set_item("state", control.state().name())?;
    found.set_item("time", control.time())?;
    found.set_item("checkpoint", control.checkpoint())?;
    found.set_item("redo", control.redo())?;
    found.set_item("timeline", control.timeline())?;
    found.set_item("full_page_writes", control.full_page_writes())?;
    found.set_item("min_recovery_point", control.min_recovery_point())?;
    found.set_item("backup_start_point", control.backup_start_point())?;
    found.set_item("backup_end_point", control.backup_end_point())?;
    found.set_item("backup_end_required", control.backup_end_required())?;
    found.set_item("wal_log_hints", control.wal_log_hints())?;
    found.set_item("block_size", control.block_size())?;
    found.set_item("segment_blocks", control.segment_blocks())?;
    found.set_item("wal_segment_size", control.wal_segment_size())?;
    found.set_item("checksum_version", control.checksum_version())?;
    found.set_item("crc_ok", crc_ok)?;
    Ok(found)
}

/// The files of mapped relations, as (OID, file number), by a pg_filenode.map of a major version.
/// OSError: it cannot be read; ValueError: the server would refuse it, and why.
#[pyfunction]
fn read_relation_map(py: Python<'_>, path: PathBuf, major: u32) -> PyResult<Vec<(u32, u32)>> {
    let read = py.detach(|| pages::read_relation_map(&path, major));
    read.map_err(os_error::to_python)?
        .map_err(|fault| PyValueError::new_err(fault.to_string()))
}

/// Switches page verification in a stopped cluster's control file and syncs it. ValueError: bad
/// CRC, unknown version, or a cluster that was not shut down; the file is then as it was.
#[pyfunction]
#[pyo3(signature = (path, version, time=None))]
fn set_checksum_version(
    py: Python<'_>,
    path: PathBuf,
    version: u32,
    time: Option<i64>,
) -> PyResult<()> {
    py.detach(|| steelyard_pages::set_checksum_version(&path, version, time))
        .map_err(to_python)
}

/// The checksum a page (1 to 32 kB) should carry as block `block` of its relation fork.
#[pyfunction]
fn page_checksum(page: &[u8], block: u32) -> PyResult<u16> {
    crate::scrub::require_page(page)?;
    Ok(steelyard_pages::page_checksum(page, block))
}

/// Writes the checksum of every page below a stopped cluster's data directory; how many pages have
/// one now, and how many had another before. OSError: a file could not be read or written, or a
/// part of the cluster could not be entered.
#[pyfunction]
fn write_checksums(
    py: Python<'_>,
    directory: PathBuf,
    tablespace_version: String,
    page_bytes: usize,
    segment_blocks: u32,
    threads: usize,
) -> PyResult<(u64, u64)> {
    if !matches!(page_bytes, 1024 | 2048 | 4096 | 8192 | 16384 | 32768) {
        return Err(PyValueError::new_err("a page has 1 to 32 kB"));
    }
    let options = steelyard_pages::SealOptions {
        page_bytes,
        segment_blocks,
        threads,
    };
    let sealed = py
        .detach(|| steelyard_pages::seal_cluster(&directory, &tablespace_version, options))
        .map_err(|(place, error)| os_error::of_file(&error, place))?;
    Ok((sealed.pages, sealed.changed))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_control, module)?)?;
    module.add_function(wrap_pyfunction!(read_relation_map, module)?)?;
    module.add_function(wrap_pyfunction!(set_checksum_version, module)?)?;
    module.add_function(wrap_pyfunction!(page_checksum, module)?)?;
    module.add_function(wrap_pyfunction!(write_checksums, module)?)
}
