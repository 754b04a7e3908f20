//! Exposes `crates/datagen`: the rows of a table, as tuples of COPY's binary format or as lines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steelyard_datagen::{
    chunks, digest_of, find, Encoder, Lines, Parameters, Stream, Tuples, HEADER, TRAILER,
};

/// The rows of one table in chunks of bytes, made ahead by `threads`; no header and no trailer, and
/// no row in two chunks. `encoding`: "copy" or "lines". `part`: the first chunk and how many, else
/// all. ValueError: there is no such generator, table, scale or encoding.
#[pyclass(module = "steelyard._core")]
struct RowStream {
    stream: Mutex<Stream>,
    /// Of the whole table, as `chunks` are.
    #[pyo3(get)]
    rows: u64,
    #[pyo3(get)]
    chunks: u64,
}

/// What is to be made, and how.
struct Order<'a> {
    generator: &'a str,
    table: &'a str,
    given: Parameters,
    threads: usize,
    part: Option<(u64, u64)>,
}

#[pymethods]
impl RowStream {
    #[new]
    #[pyo3(signature = (generator, table, scale, options, seed, threads = 1, encoding = "copy",
        part = None))]
    #[allow(clippy::too_many_arguments)] // Python's callers name them
    fn new(
        generator: &str,
        table: &str,
        scale: i64,
        options: BTreeMap<String, String>,
        seed: u64,
        threads: usize,
        encoding: &str,
        part: Option<(u64, u64)>,
    ) -> PyResult<Self> {
        let order = Order {
            generator,
            table,
            given: Parameters {
                scale,
                seed,
                options,
            },
            threads,
            part,
        };
        match encoding {
            "copy" => order.opened::<Tuples>(),
            "lines" => order.opened::<Lines>(),
            _ => Err(format!("there is no encoding \"{encoding}\"")),
        }
        .map_err(PyValueError::new_err)
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
        shown(self.held().digest)
    }

    /// That of each chunk given out so far.
    #[getter]
    fn chunk_digests(&self) -> Vec<String> {
        self.held()
            .chunk_digests
            .iter()
            .copied()
            .map(shown)
            .collect()
    }
}

fn shown(digest: u64) -> String {
    format!("{digest:016x}")
}

/// The digest of a table, from those of all its chunks in order. ValueError: one is none.
#[pyfunction]
fn digest_of_chunks(digests: Vec<String>) -> PyResult<String> {
    let read = |one: &String| u64::from_str_radix(one, 16);
    let known: Result<Vec<u64>, _> = digests.iter().map(read).collect();
    known
        .map(|all| shown(digest_of(all)))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

impl Order<'_> {
    /// A stream of rows, and how large the table is; Err: why there is none.
    fn opened<E: Encoder>(self) -> Result<RowStream, String> {
        let source = find::<E>(self.generator, self.table, &self.given)?;
        let (rows, all) = (source.rows(), chunks(&*source));
        let stream = match self.part {
            None => Stream::new(source, self.threads),
            Some((first, count)) => {
                Stream::part(source, first..first.saturating_add(count), self.threads)
            }
        };
        Ok(RowStream {
            stream: Mutex::new(stream),
            rows,
            chunks: all,
        })
    }
}

impl RowStream {
    fn held(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RowStream>()?;
    module.add_function(wrap_pyfunction!(digest_of_chunks, module)?)?;
    module.add("COPY_HEADER", PyBytes::new(module.py(), HEADER))?;
    module.add("COPY_TRAILER", PyBytes::new(module.py(), TRAILER))
}
