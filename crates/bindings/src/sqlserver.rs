//! Exposes a control connection to SQL Server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use steelyard_driver::{ControlSession, DriveError, ResultRows};

use crate::driver::to_python;

/// Between two looks at signals, and at whether the execution was cancelled.
const LOOK: Duration = Duration::from_millis(100);

/// Columns and rows of a result; None: NULL.
type Rows = (Vec<String>, Vec<Vec<Option<String>>>);

/// A connection on which texts are executed one by one. DriverError: it cannot be opened.
#[pyclass(frozen)]
struct SqlServerSession {
    /// None: it was lost or closed, or a thread executes something on it.
    session: Mutex<Option<ControlSession>>,
    cancelled: AtomicBool,
}

impl SqlServerSession {
    fn take(&self) -> Option<ControlSession> {
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        held.take()
    }

    fn put_back(&self, session: ControlSession) {
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(session);
    }
}

#[pymethods]
impl SqlServerSession {
    #[new]
    fn new(py: Python<'_>, arm: &str) -> PyResult<SqlServerSession> {
        let session = py.detach(|| ControlSession::open(arm));
        Ok(SqlServerSession {
            session: Mutex::new(Some(session.map_err(|error| to_python(py, &error))?)),
            cancelled: AtomicBool::new(false),
        })
    }

    /// The results of a text that have rows, or could have. DriverError: the server refused, which
    /// leaves the connection as it is, or the connection is no more. A signal handler's exception
    /// closes it.
    fn execute(&self, py: Python<'_>, sql: &str) -> PyResult<Vec<Rows>> {
        let Some(mut session) = self.take() else {
            return Err(to_python(py, &DriveError::new("there is no connection")));
        };
        let mut reply = py.detach(|| session.send(sql).map(|()| None));
        while let Ok(None) = reply {
            py.check_signals()?;
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(to_python(py, &DriveError::new("it was cancelled")));
            }
            reply = py.detach(|| session.receive(LOOK));
        }
        if session.is_usable() {
            self.put_back(session);
        }
        match reply {
            Ok(results) => Ok(results.into_iter().flatten().map(rows).collect()),
            Err(error) => Err(to_python(py, &error)),
        }
    }

    /// End what another thread executes with an error; the connection is closed, which stops the
    /// server too.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Disconnect; safe to call twice.
    fn close(&self) {
        drop(self.take());
    }
}

fn rows(result: ResultRows) -> Rows {
    (result.columns, result.rows)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SqlServerSession>()
}
