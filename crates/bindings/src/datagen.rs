//! Exposes `crates/datagen`: the rows of a table, as tuples of COPY's binary format or as lines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steelyard_datagen::{find, Encoder, Lines, Parameters, Stream, Tuples, HEADER, TRAILER};

/// The rows of one table in chunks of bytes, made ahead by `threads`; no header and no trailer, and
/// no row in two chunks. `encoding`: "copy" or "lines". ValueError: there is no such generator,
/// table, scale or encoding.
#[pyclass(module = "steelyard._core")]
struct RowStream {
    stream: Mutex<Stream>,
    #[pyo3(get)]
    rows: u64,
}

#[pymethods]
impl RowStream {
    #[new]
    #[pyo3(signature = (generator, table, scale, options, seed, threads = 1, encoding = "copy"))]
    fn new(
        generator: &str,
        table: &str,
        scale: i64,
        options: BTreeMap<String, String>,
        seed: u64,
        threads: usize,
        encoding: &str,
    ) -> PyResult<Self> {
        let given = Parameters {
            scale,
            seed,
            options,
        };
        let opened = match encoding {
            "copy" => opened::<Tuples>(generator, table, &given, threads),
            "lines" => opened::<Lines>(generator, table, &given, threads),
            _ => Err(format!("there is no encoding \"{encoding}\"")),
        };
        let (stream, rows) = opened.map_err(PyValueError::new_err)?;
        Ok(Self {
            stream: Mutex::new(stream),
            rows,
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let chunk = py.detach(|| self.held().next())?;
        Some(PyBytes::new(py, &chunk))
    }

    /// Rows given out so far.
    #[getter]
    fn sent(&self) -> u64 {
        self.held().rows
    }

    /// The sum of every integer field given out so far, NULL as 0.
    #[getter]
    fn control_sum(&self) -> i64 {
        self.held().control_sum
    }

    /// A hash of the bytes given out so far, as 16 hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.held().digest)
    }
}

/// A stream of all rows of a table, and how many there are; Err: why there is none.
fn opened<E: Encoder>(
    generator: &str,
    table: &str,
    given: &Parameters,
    threads: usize,
) -> Result<(Stream, u64), String> {
    let source = find::<E>(generator, table, given)?;
    let rows = source.rows();
    Ok((Stream::new(source, threads), rows))
}

impl RowStream {
    fn held(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RowStream>()?;
    module.add("COPY_HEADER", PyBytes::new(module.py(), HEADER))?;
    module.add("COPY_TRAILER", PyBytes::new(module.py(), TRAILER))
}
