"""Keeps account of a server's threads from /proc: processor time, and which serve a client.

A server of MySQL is one process, and each connection is served by a thread of its own, which is
kept for the next one when the client has gone. Times of a thread are those of
/proc/PID/task/TID/schedstat; that of the whole process, ended threads with it, is its own clock
(clock_getcpuclockid(3)), which counts in ns.

Stops a server with all its threads, so that an idle arm's debt is not paid meanwhile.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from steelyard.engines.account import Account
from steelyard.engines.local.process_cleanup import kill
from steelyard.engines.local.samples import processor_ns, sample, threads_of, transferred
from steelyard.model.errors import ServerError
from steelyard.model.process import Duty, Process, TreeUse

SERVER = "server"
SESSION = "client session"
BACKGROUND = "background thread"


@dataclass
class ThreadAccount:
    """The running account of one server's process; counts from its start."""

    pid: int
    account: Account
    sessions: set[int] = field(default_factory=set)
    """Threads that were seen to serve a client."""
    looked_at: int = -1
    """How many threads there were when the server was asked which serve clients."""

    def use(self) -> TreeUse:
        """What the process used so far."""
        counted = transferred([self.pid], self.account)
        read, written, requested = counted or (0, 0, 0)
        now = sample(self.pid)
        return TreeUse(
            cpu_ns=processor_ns(self.pid),
            read_bytes=read,
            written_bytes=written,
            requested_bytes=requested,
            mapped_pages=0 if now is None else now.minor_faults,
            processes=tuple(self._threads()),
            transfers_known=counted is not None,
        )

    def serving(self, threads: Mapping[int, int] | Collection[int]) -> None:
        """These threads serve clients."""
        self.sessions |= set(threads.values() if isinstance(threads, Mapping) else threads)

    def _threads(self) -> list[Process]:
        processes = []
        for tid in threads_of(self.pid):
            cpu_ns, queue_ns = _times_ns(self.pid, tid)
            session = tid in self.sessions
            kind = SERVER if tid == self.pid else SESSION if session else BACKGROUND
            # Most of what they do is writing out pages, as a checkpoint does.
            duty: Duty = "session" if session else "checkpoint"
            processes.append(Process(tid, kind, cpu_ns, queue_ns, duty))
        return processes


def _times_ns(pid: int, tid: int) -> tuple[int, int]:
    """On a processor, and runnable without one; 0 where the thread has gone."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", "rb") as file:
            on, queued = map(int, file.read().split()[:2])
    except (OSError, ValueError):
        return 0, 0
    return on, queued


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
    return all(state is None or state.still for state in states)
