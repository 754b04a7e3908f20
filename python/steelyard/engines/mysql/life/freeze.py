"""Stops a server with all its threads, so that an idle arm's debt is not paid meanwhile."""

from __future__ import annotations

import signal
import time

from steelyard.engines.local.ending import kill
from steelyard.engines.local.samples import sample
from steelyard.engines.mysql.life.thread_account import threads_of
from steelyard.model.errors import ServerError

_TIMEOUT_S = 10.0
"""What waits for the disk stops when it has its answer."""
_POLL_S = 0.001


def freeze(pid: int) -> None:
    """SIGSTOP a process and wait until each of its threads stands still; ServerError: one does
    not, and the process goes on."""
    deadline = time.monotonic() + _TIMEOUT_S
    try:
        kill(pid, signal.SIGSTOP)
        while not _stands_still(pid):
            if time.monotonic() > deadline:
                raise ServerError(
                    "could not freeze a server",
                    detail=f"After {_TIMEOUT_S:.0f} s not all threads of {pid} stood still.",
                )
            time.sleep(_POLL_S)
    except BaseException:  # an interrupt as well
        thaw(pid)
        raise


def thaw(pid: int) -> None:
    """SIGCONT what `freeze` stopped; a process that has gone is no error."""
    kill(pid, signal.SIGCONT)


def _stands_still(pid: int) -> bool:
    """Every thread is stopped, or has gone: SIGSTOP reaches each when it is next scheduled, and
    the leading thread's state, which is /proc's for the process, tells nothing of the others."""
    states = map(sample, threads_of(pid))
    return all(seen is None or seen.still for seen in states)
