//! The way out in the middle of a slice: servers are asked to stop what nobody waits for any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::arm::Arm;
use crate::connect::send_cancel;

/// For all cancel requests together.
const LONGEST: Duration = Duration::from_secs(2);

/// The arms of the driver that runs in this process.
static DRIVEN: Mutex<Vec<Weak<Arm>>> = Mutex::new(Vec::new());

/// Nothing begins any more: a client whose statement was cancelled would begin the next one.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Whether this process is on its way out.
#[inline]
pub(crate) fn is_leaving() -> bool {
    LEAVING.load(Ordering::Relaxed)
}

/// Notes the arms that are driven from now on.
pub(crate) fn note_arms(arms: &[Arc<Arm>]) {
    let mut driven = DRIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    *driven = arms.iter().map(Arc::downgrade).collect();
}

/// Cancels what the backends of all clients do, for two seconds at most: a statement that runs on
/// after its client has gone would be charged to whoever measures next.
pub fn cancel_everything() {
    LEAVING.store(true, Ordering::SeqCst);
    let deadline = Instant::now() + LONGEST;
    let driven = DRIVEN
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for arm in driven.iter().filter_map(Weak::upgrade) {
        for (process_id, secret_key) in arm.sessions() {
            if Instant::now() >= deadline {
                return;
            }
            // A server that is gone does nothing any more.
            if send_cancel(&arm.server, process_id, secret_key).is_err() {
                break;
            }
        }
    }
}
