//! Exposes the Rust crates to Python: converts values, releases the interpreter lock, maps errors.

mod datagen;
mod drill;
mod driver;
mod innodb;
mod os_error;
mod pages;
mod proxy;
mod scan;
mod script;
mod scrub;
mod sqlserver;

use pyo3::prelude::*;

/// How this extension was built: `"release"` or `"debug"`.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(build_profile, module)?)?;
    datagen::register(module)?;
    drill::register(module)?;
    driver::register(module)?;
    innodb::register(module)?;
    pages::register(module)?;
    proxy::register(module)?;
    script::register(module)?;
    scan::register(module)?;
    scrub::register(module)?;
    sqlserver::register(module)?;
    Ok(())
}
