"""Reads the process tree of a server from /proc, kind and processor time of each process, and stops
the processes of an idle arm: those of its background, or every one.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.processes import (
    NS_PER_TICK,
    ProcessSample,
    kill,
    processor_ns,
    sample,
    stands_still,
    times_ns,
    transferred,
    tree,
)
from steelyard.model.errors import ServerError
from steelyard.model.process import Duty, Process, TreeUse

POSTMASTER = "postmaster"
CLIENT = "client backend"
UNKNOWN = "starting"
_DUTIES: Mapping[str, Duty] = {
    CLIENT: "session",
    "io worker": "helper",
    "parallel worker": "helper",
    "checkpointer": "checkpoint",
}

# Titles that init_ps_display() gives, src/backend/utils/misc/ps_status.c and its callers.
_TITLES = (
    "checkpointer", "background writer", "walwriter", "wal writer", "autovacuum launcher",
    "autovacuum worker", "logical replication launcher", "logical replication worker",
    "logical replication apply worker", "logical replication parallel apply worker",
    "logical replication tablesync worker", "parallel worker", "io worker", "walsummarizer",
    "archiver", "startup", "walreceiver", "walsender", "logger", "slotsync worker",
    "stats collector",
)  # fmt: skip
_KINDS = re.compile(r"(?:\S+: )?(" + "|".join(map(re.escape, _TITLES)) + r")\b")
_CLIENT_TITLE = re.compile(r"(?:\S+: )?\S+ \S+ (?:\[local\]|[0-9a-fA-F.:]+\(\d+\))(?: |$)")
# These work for clients that wait for them: stopping one would stop its client, too.
FOREGROUND = frozenset({CLIENT, "parallel worker", "walsender", "startup"})
_TIMEOUT_S = 10.0
"""What waits for the disk stops when it has its answer."""
_POLL_S = 0.001


def kind_of(pid: int) -> str:
    """What a child of the postmaster is, from the title it gave itself.

    UNKNOWN while it has none yet; "background worker" for one that an extension named.
    """
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0 ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return UNKNOWN
    return kind_of_title(title)


def kind_of_title(title: str) -> str:
    """The kind of process behind a title such as "postgres: checkpointer "."""
    label, colon, rest = title.partition(": ")
    if not colon or not label.endswith("postgres"):
        return UNKNOWN
    match = _KINDS.match(rest)
    if match:
        return match[1]
    return CLIENT if _CLIENT_TITLE.match(rest) else "background worker"


_TRIES = 5


@dataclass
class TreeAccount:
    """The running account of one process tree; counts from the start of its root.

    Living processes count what /proc/PID/schedstat says, in ns. Of those that ended, the kernel
    keeps the sum in the root's cutime + cstime, in ns, but prints it in ticks, rounded down twice.
    So what ended since the last reading counts at least what it was last seen with, and the sum
    never falls below that: the total never shrinks and never exceeds the truth, by which it is
    short at most 20 ms and what ended processes used after they were last seen. A difference is
    exact to the ns when both readings are taken while the load connections are open. Nothing is
    counted twice: a process is living (or a zombie), or it was waited for.
    """

    root: int
    account: Account
    _seen: dict[tuple[int, int], int] = field(default_factory=dict)  # root's children → ns
    _kinds: dict[tuple[int, int], str] = field(default_factory=dict)
    _ended_ns: int = 0

    def use(self) -> TreeUse:
        """What the tree used so far; a process carries what its own dead children used."""
        members, times, queued = self._consistent()
        self._close(members, times)
        counted = transferred([m.pid for m in members], self.account)
        read, written, requested = counted or (0, 0, 0)
        processes = tuple(
            Process(m.pid, kind, time, queue, _DUTIES.get(kind, "background"))
            for m, time, queue in zip(members, times, queued, strict=True)
            for kind in [self._kind(m)]
        )
        return TreeUse(
            cpu_ns=sum(times) + self._ended_ns,
            read_bytes=read,
            written_bytes=written,
            requested_bytes=requested,
            mapped_pages=sum(m.minor_faults for m in members),
            processes=processes,
            transfers_known=counted is not None,
            session_pids=frozenset(each.pid for each in processes if each.duty == "session"),
        )

    def _close(self, members: Sequence[ProcessSample], times: Sequence[int]) -> None:
        """Book what ended since the last reading."""
        children = {
            (m.pid, m.started): t
            for m, t in zip(members, times, strict=True)
            if m.parent == self.root
        }
        gone = sum(t for key, t in self._seen.items() if key not in children)
        printed = members[0].ended_ticks * NS_PER_TICK if members else 0
        self._ended_ns = max(printed, self._ended_ns + gone)
        self._seen = children

    def _consistent(self) -> tuple[list[ProcessSample], list[int], list[int]]:
        """Members, their processor time and their time without a processor, with no process waited
        for while they were read."""
        members: list[ProcessSample] = []
        times: list[int] = []
        queued: list[int] = []
        for _ in range(_TRIES):
            before = sample(self.root)
            members = tree(self.root)
            both = [times_ns(member) for member in members]
            queued = [queue for _, queue in both]
            times = [
                # The dead children of a child (archive_command) are not in the root's sum yet.
                time + (m.ended_ticks * NS_PER_TICK if m.pid != self.root else 0)
                for m, (time, _) in zip(members, both, strict=True)
            ]
            after = sample(self.root)
            if before is None or after is None or before.ended_ticks == after.ended_ticks:
                break
        return members, times, queued

    def _kind(self, member: ProcessSample) -> str:
        if member.pid == self.root:
            return POSTMASTER
        key = (member.pid, member.started)
        kind = self._kinds.get(key) or kind_of(member.pid)
        if kind != UNKNOWN:
            self._kinds[key] = kind
        return kind


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
