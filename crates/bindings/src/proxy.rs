//! Exposes `crates/proxy`: passes connections through to a server, and notes what they execute.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use steelyard_driver::DriveError;
use steelyard_proxy::ProxyOptions;

use crate::driver::{duplicate, to_python};

/// A proxy that listens, on threads of its own.
#[pyclass(frozen)]
struct Proxy {
    proxy: steelyard_proxy::Proxy,
}

#[pymethods]
impl Proxy {
    /// `arm`: JSON as in a plan; `spool_fd`: a file for at most so many bytes of notes.
    /// DriverError: it cannot listen, or a certificate cannot be used.
    #[new]
    #[pyo3(signature = (
        listen, arm, spool_fd, most_bytes, most_connections, certificate=None
    ))]
    fn new(
        py: Python<'_>,
        listen: &str,
        arm: String,
        spool_fd: RawFd,
        most_bytes: u64,
        most_connections: usize,
        certificate: Option<(PathBuf, PathBuf)>,
    ) -> PyResult<Proxy> {
        let listen: SocketAddr = listen
            .parse()
            .map_err(|error| PyValueError::new_err(format!("{listen}: {error}")))?;
        let options = ProxyOptions {
            listen,
            arm,
            certificate,
            spool: File::from(duplicate(spool_fd)?),
            most_bytes,
            most_connections,
        };
        let started = py.detach(|| steelyard_proxy::Proxy::start(options));
        let proxy = started.map_err(|error| to_python(py, &error))?;
        Ok(Proxy { proxy })
    }

    /// Where it listens: `"127.0.0.1:6432"`.
    #[getter]
    fn address(&self) -> String {
        self.proxy.address.to_string()
    }

    /// Counts so far, by name.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = self.proxy.status();
        let counts = PyDict::new(py);
        for (name, count) in [
            ("connections", status.connections),
            ("open", status.open as u64),
            ("refused", status.refused),
            ("unreachable", status.unreachable),
            ("cancels", status.cancels),
            ("replication", status.replication),
            ("encrypted", status.encrypted),
            ("unreadable", status.unreadable),
            ("slow", status.slow),
            ("lost_statements", status.lost_statements),
            ("lost_ns", status.lost_ns),
            ("full", status.full.into()),
        ] {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }

    /// End the notes: all of them are in the file then. Connections are still passed through.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        match py.detach(|| self.proxy.stop()) {
            true => Ok(()),
            false => Err(to_python(
                py,
                &DriveError::new("could not end the notes of every connection in time"),
            )),
        }
    }

    /// Time from receipt to forward, as an encoded histogram of nanoseconds.
    fn latencies(&self, py: Python<'_>) -> PyResult<String> {
        self.proxy
            .latencies()
            .map_err(|error| to_python(py, &error))
    }

    /// End every connection; safe to call twice.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.proxy.close());
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Proxy>()
}
