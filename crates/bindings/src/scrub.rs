//! Exposes parts of `crates/pages`: the walk over a cluster, and the judgement of one page.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steelyard_pages as pages;
use steelyard_pages::{Catalogue, Fork, Kernel};

use crate::os_error;

/// A stretch of a file that holds a segment of a relation fork.
#[pyclass(frozen, get_all)]
#[derive(Clone)]
pub(crate) struct Segment {
    path: PathBuf,
    pub(crate) label: String,
    offset: u64,
    bytes: u64,
    tablespace: u32,
    database: u32,
    filenode: u32,
    fork: &'static str,
    segment: u32,
    temporary: bool,
}

#[pymethods]
impl Segment {
    #[new]
    fn new(
        path: PathBuf,
        label: String,
        offset: u64,
        bytes: u64,
        tablespace: u32,
        database: u32,
    ) -> PyResult<Self> {
        let name = label.rsplit('/').next().unwrap_or_default();
        let file = pages::parse_relation_file(name).ok_or_else(|| {
            PyValueError::new_err(format!("not the name of a relation file: \"{name}\""))
        })?;
        Ok(Self::of(pages::Segment {
            path,
            label,
            offset,
            bytes,
            tablespace,
            database,
            file,
        }))
    }
}

impl Segment {
    fn of(found: pages::Segment) -> Self {
        Self {
            path: found.path,
            label: found.label,
            offset: found.offset,
            bytes: found.bytes,
            tablespace: found.tablespace,
            database: found.database,
            filenode: found.file.filenode,
            fork: found.file.fork.name(),
            segment: found.file.segment,
            temporary: found.file.temporary_of.is_some(),
        }
    }

    fn inner(&self) -> pages::Segment {
        let fork = Fork::ALL.into_iter().find(|fork| fork.name() == self.fork);
        pages::Segment {
            path: self.path.clone(),
            label: self.label.clone(),
            offset: self.offset,
            bytes: self.bytes,
            tablespace: self.tablespace,
            database: self.database,
            file: pages::RelationFile {
                filenode: self.filenode,
                fork: fork.unwrap_or(Fork::Main),
                segment: self.segment,
                temporary_of: self.temporary.then_some(0),
            },
        }
    }
}

/// Labels of what was left out, with the reason.
type LeftOut = Vec<(String, String)>;

/// Every relation file of a data directory, what was skipped, and what could not be entered.
#[pyfunction]
fn walk_cluster(
    py: Python<'_>,
    directory: PathBuf,
    tablespace_version: String,
) -> PyResult<(Vec<Segment>, LeftOut, LeftOut)> {
    let found = py
        .detach(|| pages::walk(&directory, &tablespace_version))
        .map_err(os_error::to_python)?;
    let segments = found.segments.into_iter().map(Segment::of).collect();
    let told = |left_out: Vec<pages::Skipped>| -> LeftOut {
        let told = left_out.into_iter().map(|s| (s.label, s.reason));
        told.collect()
    };
    Ok((segments, told(found.skipped), told(found.denied)))
}

/// Forks whose segments do not follow each other: [(label, first missing block, reason)].
#[pyfunction]
fn broken_forks(
    segments: Vec<PyRef<'_, Segment>>,
    page_bytes: u32,
    segment_blocks: u32,
) -> Vec<(String, u32, String)> {
    let inner = inner_segments(&segments);
    let broken = pages::broken_forks(&inner, page_bytes, segment_blocks);
    broken
        .into_iter()
        .map(|b| (b.label, b.block, b.reason))
        .collect()
}

/// The kernels that this processor has, the widest last: names as `scan_segments` takes them.
#[pyfunction]
fn kernels() -> Vec<&'static str> {
    let available = Kernel::ALL
        .into_iter()
        .filter(|kernel| kernel.is_available());
    available.map(Kernel::name).collect()
}

/// What probably happened to a damaged page of a fork of `blocks` blocks: (kind, evidence).
#[pyfunction]
fn guess_damage(page: &[u8], block: u32, blocks: u32) -> PyResult<(&'static str, String)> {
    require_page(page)?;
    let found = pages::guess(page, block, blocks);
    Ok((found.kind, found.detail))
}

/// What is wrong with a page as the scan judges it: (fault, expected, found, LSN, LSN
/// before), or None.
#[pyfunction]
fn judge_page(page: &[u8], block: u32, checksums: bool) -> PyResult<Option<Told>> {
    require_page(page)?;
    let judge = pages::Judge {
        kernel: Kernel::best(),
        page_bytes: page.len(),
        checksums,
    };
    Ok(judge.page(page, block).map(told))
}

pub(crate) type Told = (&'static str, u16, u16, u64, u64);

pub(crate) fn told(wrong: pages::Wrong) -> Told {
    let name = wrong.fault.name();
    (name, wrong.expected, wrong.found, wrong.lsn, wrong.before)
}

pub(crate) fn require_page(page: &[u8]) -> PyResult<()> {
    let bytes = page.len();
    if bytes.is_power_of_two() && (1024..=32768).contains(&bytes) {
        return Ok(());
    }
    let allowed = "a page has 1024, 2048, 4096, 8192, 16384 or 32768 bytes";
    Err(PyValueError::new_err(format!("{allowed}, not {bytes}")))
}

/// Of which cluster a catalogue is: (system identifier, timeline, page bytes, segment blocks,
/// checkpoint, seconds since 1970, digest). OSError: it cannot be read; ValueError: it is none.
#[pyfunction]
fn catalogue_origin(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(u64, u32, u32, u32, u64, i64, u32)> {
    let origin = py.detach(|| read_catalogue(&path))?.origin;
    Ok((
        origin.system_identifier,
        origin.timeline,
        origin.page_bytes,
        origin.segment_blocks,
        origin.checkpoint,
        origin.time,
        origin.digest,
    ))
}

pub(crate) fn read_catalogue(path: &std::path::Path) -> PyResult<Catalogue> {
    Catalogue::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => PyValueError::new_err(error.to_string()),
        _ => os_error::to_python(error),
    })
}

pub(crate) fn inner_segments(segments: &[PyRef<'_, Segment>]) -> Vec<pages::Segment> {
    segments.iter().map(|segment| segment.inner()).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Segment>()?;
    module.add_function(wrap_pyfunction!(walk_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(broken_forks, module)?)?;
    module.add_function(wrap_pyfunction!(kernels, module)?)?;
    module.add_function(wrap_pyfunction!(guess_damage, module)?)?;
    module.add_function(wrap_pyfunction!(judge_page, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue_origin, module)?)
}
