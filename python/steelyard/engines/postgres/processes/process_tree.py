"""Reads the process tree of a server from /proc: kind and processor time of each process."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.samples import (
    NS_PER_TICK,
    ProcessSample,
    sample,
    times_ns,
    transferred,
    tree,
)
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
