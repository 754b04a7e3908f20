//! Exposes the drill of `crates/pages`: faults in memory, and the cost of each way to verify.

use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steelyard_pages as pages;
use steelyard_pages::{Algorithm, Check, Identity, Kernel, PageFault, Scheme, Versions, Work};

/// (page as it is, page as it was, relation).
type Pair = (Vec<u8>, Vec<u8>, u32);

fn named<T: Copy>(all: &[T], name: &str, name_of: impl Fn(T) -> &'static str) -> PyResult<T> {
    let found = all.iter().copied().find(|each| name_of(*each) == name);
    found.ok_or_else(|| PyValueError::new_err(format!("unknown: \"{name}\"")))
}

fn versions(pairs: Vec<Pair>) -> PyResult<Vec<Versions>> {
    if pairs.is_empty() {
        return Err(PyValueError::new_err(
            "there is no page to plant a fault in",
        ));
    }
    let mut found = Vec::with_capacity(pairs.len());
    for (now, before, relation) in pairs {
        if now.len() != pages::PAGE_BYTES || before.len() != now.len() {
            return Err(PyValueError::new_err("a page has 8192 bytes here"));
        }
        found.push(Versions {
            now,
            before,
            relation,
        });
    }
    Ok(found)
}

/// The names of faults, checks, algorithms and identities, in this order.
#[pyfunction]
fn drill_names() -> [Vec<&'static str>; 4] {
    [
        PageFault::ALL.into_iter().map(PageFault::name).collect(),
        Check::ALL.into_iter().map(Check::name).collect(),
        Algorithm::ALL.into_iter().map(Algorithm::name).collect(),
        Identity::ALL.into_iter().map(Identity::name).collect(),
    ]
}

/// How often each check let a fault pass, in the order of `drill_names`, and how often it was
/// planted.
#[pyfunction]
fn fault_trials(
    py: Python<'_>,
    fault: &str,
    pairs: Vec<Pair>,
    start: u64,
    trials: u64,
    seed: u64,
    threads: usize,
) -> PyResult<(Vec<u64>, u64)> {
    let fault = named(&PageFault::ALL, fault, PageFault::name)?;
    let versions = versions(pairs)?;
    interruptible(py, |stop| {
        pages::check_trials(fault, &versions, start, trials, (seed, threads), stop)
    })
}

/// How often an algorithm let a fault pass, and how often it was planted.
#[pyfunction]
#[pyo3(signature = (fault, algorithm, identity, pairs, trials, seed, threads))]
#[allow(clippy::too_many_arguments)]
fn scheme_trials(
    py: Python<'_>,
    fault: &str,
    algorithm: &str,
    identity: &str,
    pairs: Vec<Pair>,
    trials: u64,
    seed: u64,
    threads: usize,
) -> PyResult<(u64, u64)> {
    let fault = named(&PageFault::ALL, fault, PageFault::name)?;
    let scheme = scheme(algorithm, identity, None)?;
    let versions = versions(pairs)?;
    interruptible(py, |stop| {
        pages::algorithm_trials(fault, scheme, &versions, trials, (seed, threads), stop)
    })
}

fn scheme(algorithm: &str, identity: &str, kernel: Option<&str>) -> PyResult<Scheme> {
    let kernel = match kernel {
        Some(name) => named(&Kernel::ALL, name, Kernel::name)?,
        None => Kernel::best(),
    };
    if !kernel.is_available() {
        let name = kernel.name();
        return Err(PyValueError::new_err(format!(
            "{name} is not available here"
        )));
    }
    Ok(Scheme {
        algorithm: named(&Algorithm::ALL, algorithm, Algorithm::name)?,
        identity: named(&Identity::ALL, identity, Identity::name)?,
        kernel,
    })
}

/// Does the work in threads of its own, and stops it on a signal.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let answer = py.detach(|| {
        std::thread::scope(|scope| {
            let started = scope.spawn(|| work(&stop));
            while !started.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(5));
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    return Err(error);
                }
            }
            Ok(started.join())
        })
    })?;
    answer.map_err(|_| PyValueError::new_err("the trials ended by a panic"))
}

/// Bytes, nanoseconds and ticks of sealing ("write") or verifying ("read") a buffer of pages.
#[pyfunction]
#[pyo3(signature = (algorithm, identity, work, buffer_bytes, rounds, kernel=None))]
fn scheme_cost(
    py: Python<'_>,
    algorithm: &str,
    identity: &str,
    work: &str,
    buffer_bytes: usize,
    rounds: u32,
    kernel: Option<&str>,
) -> PyResult<(u64, u64, u64)> {
    let scheme = scheme(algorithm, identity, kernel)?;
    let work = match work {
        "write" => Work::Write,
        "read" => Work::Read,
        _ => return Err(PyValueError::new_err(format!("unknown: \"{work}\""))),
    };
    let cost = py.detach(|| {
        // No page is like the next: none is shared, and nothing is predicted.
        let mut buffer: Vec<u8> = Vec::with_capacity(buffer_bytes);
        let mut word = 1u64;
        while buffer.len() + 8 <= buffer_bytes {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            buffer.extend(word.to_le_bytes());
        }
        pages::timed(scheme, work, &mut buffer, pages::PAGE_BYTES, rounds)
    });
    Ok((cost.bytes, cost.nanoseconds, cost.ticks))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(drill_names, module)?)?;
    module.add_function(wrap_pyfunction!(fault_trials, module)?)?;
    module.add_function(wrap_pyfunction!(scheme_trials, module)?)?;
    module.add_function(wrap_pyfunction!(scheme_cost, module)?)
}
