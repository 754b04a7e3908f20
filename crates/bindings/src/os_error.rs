//! Raises errors of the operating system in Python, with number and text.

use std::io;

use pyo3::exceptions::PyOSError;
use pyo3::PyErr;

/// Of errors that are not the operating system's own: 22 wherever PostgreSQL runs.
const EINVAL: i32 = 22;

/// OSError or the subclass of it that belongs to the number.
pub(crate) fn to_python(error: io::Error) -> PyErr {
    let number = error.raw_os_error().unwrap_or(EINVAL);
    PyOSError::new_err((number, words(&error)))
}

/// The same with the name of the file that it happened to.
pub(crate) fn of_file(error: &io::Error, place: String) -> PyErr {
    let number = error.raw_os_error().unwrap_or(EINVAL);
    PyOSError::new_err((number, words(error), place))
}

/// Its text, without the number that Rust adds.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
