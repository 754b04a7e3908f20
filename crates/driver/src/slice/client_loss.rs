//! Counts clients that a slice loses: to the server, to their scripts, or at the cap.

use std::io;

use crate::clock::now_ns;
use crate::connection::link::ClientError;
use crate::plan::AbortRule;
use crate::protocol::{Fault, Protocol};
use crate::slice::hot_loop::Slice;

impl<P: Protocol> Slice<'_, P> {
    /// A client that waits for no reply has lost its connection: a sleeping one in the middle of a
    /// transaction.
    #[cold]
    pub(crate) fn drop_idle_client(&mut self, index: usize, error: ClientError) -> io::Result<()> {
        if self.clients[index].is_asleep() {
            return self.drop_client(index, error);
        }
        if let ClientError::Connection(fault) = error {
            self.count_loss(&fault);
        }
        self.backend.release(index)?;
        self.clients[index].detach();
        self.forget_idle(index);
        Ok(())
    }

    #[cold]
    fn count_loss(&mut self, fault: &Fault) {
        self.tally.count_error(fault);
        if self.programs.abort != AbortRule::Never {
            self.tally.abort(fault);
        }
    }

    /// A busy client has lost its connection, or its script cannot go on.
    #[cold]
    pub(crate) fn drop_client(&mut self, index: usize, error: ClientError) -> io::Result<()> {
        match error {
            ClientError::Connection(fault) => self.count_loss(&fault),
            ClientError::Script(message) => {
                self.tally.script_error = Some(message);
                // The driver ends with it: no other thread is waited for until the bell.
                self.limits.abort();
            }
        }
        self.backend.release(index)?;
        self.clients[index].detach();
        self.tally.failed += 1;
        self.active -= 1;
        self.now_ns = now_ns();
        self.charge_absence();
        Ok(())
    }

    /// A client without a connection does no work until the slice stops; by count there is no time
    /// to wait for.
    #[cold]
    pub(crate) fn charge_absence(&mut self) {
        let until_ns = if self.limits.is_by_count() {
            self.now_ns
        } else {
            self.stop_ns.max(self.now_ns)
        };
        self.tally.busy_ns += until_ns - self.start_ns;
    }

    /// At the cap: clients that are not done are charged until now, and left to be cancelled.
    #[cold]
    pub(crate) fn give_up(&mut self) {
        for _ in self.clients.iter().filter(|client| client.is_busy()) {
            self.tally.busy_ns += self.now_ns - self.start_ns;
            self.tally.capped += 1;
        }
        self.active = 0;
    }
}
