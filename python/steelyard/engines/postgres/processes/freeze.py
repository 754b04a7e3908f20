"""Stops processes of an idle arm: its background processes, or every one of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.engines.local.process_cleanup import kill
from steelyard.engines.local.samples import processor_ns, sample, stands_still, tree
from steelyard.engines.postgres.processes.process_tree import CLIENT, UNKNOWN, kind_of
from steelyard.model.errors import ServerError

# These work for clients that wait for them: stopping one would stop its client, too.
FOREGROUND = frozenset({CLIENT, "parallel worker", "walsender", "startup"})
_TIMEOUT_S = 10.0
"""What waits for the disk stops when it has its answer."""
_POLL_S = 0.001


def freeze(postmaster: int) -> list[int]:
    """SIGSTOP every background process and wait until all stand still; their process ids."""
    deadline = time.monotonic() + _TIMEOUT_S
    stopped: list[int] = []
    try:
        while True:
            pids, unsettled = _background(postmaster)
            stopped = sorted({*stopped, *pids})
            for pid in pids:
                kill(pid, signal.SIGSTOP)
            if not unsettled and all(_still(pid, deadline) for pid in stopped):
                return stopped
            _pause(deadline, stopped)
    except BaseException:  # an interrupt as well
        thaw(stopped)
        raise


def _background(postmaster: int) -> tuple[list[int], bool]:
    """Background processes; whether a process was so young that it had no title yet."""
    pids = []
    unsettled = False
    for member in tree(postmaster)[1:]:
        if member.state == "Z" or member.parent != postmaster:
            continue
        kind = kind_of(member.pid)
        if kind == UNKNOWN:
            unsettled = True
        elif kind not in FOREGROUND:
            pids.append(member.pid)
    return pids, unsettled


def _still(pid: int, deadline: float) -> bool:
    """Wait until a process stands still (or has ended)."""
    while (now := sample(pid)) is not None and not stands_still(now):
        _pause(deadline, [pid])
    return True


def _pause(deadline: float, pids: list[int]) -> None:
    if time.monotonic() > deadline:
        raise ServerError(
            "could not freeze the background processes of a server",
            detail=f"After {_TIMEOUT_S:.0f} s not all of processes {pids} stood still.",
        )
    time.sleep(_POLL_S)


def suspend(postmaster: int) -> list[int]:
    """SIGSTOP every process of a server and wait until all stand still; their process ids.

    The postmaster is stopped first: it starts no further process meanwhile, and so the list is
    complete when nothing in it moves. No process is stopped before its parent stands still: one
    that starts a program by vfork(2), as system(3) does for archive_command, cannot be stopped
    until its child has begun that program, and a child that was stopped before never does.
    """
    deadline = time.monotonic() + _TIMEOUT_S
    stopped: list[int] = [postmaster]
    try:
        kill(postmaster, signal.SIGSTOP)
        _still(postmaster, deadline)
        while True:
            members = [member for member in tree(postmaster) if member.state != "Z"]
            moving = {member.pid: member for member in members if not stands_still(member)}
            stopped = sorted({*stopped, *(member.pid for member in members)})
            if not moving:
                return stopped
            parents = [pid for pid, member in moving.items() if member.parent not in moving]
            for pid in parents:
                kill(pid, signal.SIGSTOP)
            for pid in parents:
                _still(pid, deadline)
    except BaseException:  # an interrupt as well
        thaw(stopped)
        raise


@dataclass(frozen=True)
class Suspension:
    """Processes of a server that were stopped, each with the processor time used by then."""

    used_ns: Mapping[int, int]

    @classmethod
    def of(cls, postmaster: int, *programs: int) -> Suspension:
        """Stop every process of a server; before it those of programs beside it, by their first
        processes."""
        stopped: list[int] = []
        try:
            for root in (*programs, postmaster):
                stopped += suspend(root)
        except BaseException:
            thaw(stopped)
            raise
        return cls({pid: processor_ns(pid) for pid in stopped})

    def end(self) -> int:
        """Resume them; ns of processor time that they used meanwhile. One that was killed meanwhile
        counts nothing."""
        used_ns = sum(max(0, processor_ns(pid) - before) for pid, before in self.used_ns.items())
        thaw([*self.used_ns])
        return used_ns


def thaw_all(postmaster: int) -> None:
    """SIGCONT every process of a server: one that stands still would hold up its shutdown."""
    thaw([member.pid for member in tree(postmaster)])


def thaw(pids: list[int]) -> None:
    """SIGCONT the processes that `freeze` stopped; those that have gone are no error.

    Also those that do not stand still yet: on a busy machine a SIGSTOP waits for its process to be
    scheduled, and SIGCONT takes it back (signal(7)). Left pending it would stop a process after its
    last SIGCONT, and the shutdown of its server would wait for that one forever.
    """
    for pid in pids:
        if sample(pid) is not None:
            kill(pid, signal.SIGCONT)
