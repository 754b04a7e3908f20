"""Holds the background processes of an idle arm still, so that its debt is not paid meanwhile."""

from __future__ import annotations

import signal
import time

from steelyard.engines.postgres.processes import CLIENT, UNKNOWN, kind_of, sample, tree
from steelyard.engines.postgres.stragglers import kill
from steelyard.errors import ServerError

# Who works for a client that waits for it: holding it would hold the client, too.
FOREGROUND = frozenset({CLIENT, "parallel worker", "walsender", "startup"})
_TIMEOUT_S = 2.0
_POLL_S = 0.001


def freeze(postmaster: int) -> list[int]:
    """SIGSTOP every background process and wait until all stand still; their process ids."""
    stopped: list[int] = []
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        waiting = False
        for member in tree(postmaster)[1:]:
            kind = kind_of(member.pid)
            if kind in FOREGROUND or member.state == "Z":
                continue
            if kind == UNKNOWN or member.parent != postmaster:
                waiting = waiting or kind == UNKNOWN  # forked a moment ago: look again
                continue
            if member.pid not in stopped:
                kill(member.pid, signal.SIGSTOP)
                stopped.append(member.pid)
            waiting = waiting or member.state not in "Tt"
        if not waiting:
            return stopped
        if time.monotonic() > deadline:
            thaw(stopped)
            raise ServerError(
                f"could not freeze the background processes of server process {postmaster}",
                detail=f"After {_TIMEOUT_S:.0f} s not all of {sorted(stopped)} stood still.",
            )
        time.sleep(_POLL_S)


def thaw(pids: list[int]) -> None:
    """SIGCONT the processes that `freeze` stopped; those that have gone are no error."""
    for pid in pids:
        now = sample(pid)
        if now is not None and now.state in "Tt":
            kill(pid, signal.SIGCONT)
