//! Cancels what servers execute for this process when it ends in the middle of a slice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// For all cancel requests together.
const LONGEST: Duration = Duration::from_secs(2);

/// An arm whose statements can be cancelled, whatever its protocol.
pub(crate) trait Cancellable: Send + Sync {
    /// Cancels the statements of all clients, until a server fails or the deadline has come.
    fn cancel_all(&self, deadline: Instant);
}

/// The arms of the driver that runs in this process.
static DRIVEN: Mutex<Vec<Weak<dyn Cancellable>>> = Mutex::new(Vec::new());

/// No transaction starts any more: a client whose statement was cancelled would start the next one.
static SHUTTING_DOWN: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn is_shutting_down() -> bool {
    SHUTTING_DOWN.load(Ordering::Relaxed)
}

/// Registers the arms that are driven from now on.
pub(crate) fn register_arms<A: Cancellable + 'static>(arms: &[Arc<A>]) {
    let mut driven = DRIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    *driven = arms
        .iter()
        .map(|arm| Arc::downgrade(arm) as Weak<dyn Cancellable>)
        .collect();
}

/// Cancels what the servers execute for all clients, for two seconds at most: a statement that runs
/// on after its client has gone would be charged to the next measurement.
pub fn cancel_everything() {
    SHUTTING_DOWN.store(true, Ordering::SeqCst);
    let deadline = Instant::now() + LONGEST;
    let driven = DRIVEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for arm in driven.iter().filter_map(Weak::upgrade) {
        arm.cancel_all(deadline);
    }
}
