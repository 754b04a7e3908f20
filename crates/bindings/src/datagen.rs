//! `crates/datagen` for Python: rows as tuples of COPY's binary format.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steelyard_datagen::pgbench::{rows, Table, MAX_SCALE};
use steelyard_datagen::{HEADER, TRAILER};

/// Tuples `first .. first + count` of a pgbench table, as `pgbench -i` fills it: no header, no
/// trailer, none past the end of the table. ValueError: no such table or scale.
#[pyfunction]
fn pgbench_rows<'py>(
    py: Python<'py>,
    table: &str,
    scale: i64,
    first: i64,
    count: i64,
) -> PyResult<Bound<'py, PyBytes>> {
    let Some(found) = Table::find(table) else {
        return Err(PyValueError::new_err(format!(
            "no rows are generated for table \"{table}\""
        )));
    };
    if !(1..=MAX_SCALE).contains(&scale) {
        return Err(PyValueError::new_err(format!(
            "scale must be 1 to {MAX_SCALE}, not {scale}"
        )));
    }
    let tuples = py.detach(|| rows(found, scale, first, count));
    Ok(PyBytes::new(py, &tuples))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(pgbench_rows, module)?)?;
    module.add("COPY_HEADER", PyBytes::new(module.py(), HEADER))?;
    module.add("COPY_TRAILER", PyBytes::new(module.py(), TRAILER))
}
