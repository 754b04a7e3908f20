"""Reads the process tree of a server from /proc: kind and processor time of each process.

Parents are found by scanning /proc/PID/stat: /proc/PID/task/TID/children is missing from many
kernels, and skips entries while children end.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
POSTMASTER = "postmaster"
CLIENT = "client backend"
UNKNOWN = "starting"

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


@dataclass(frozen=True)
class Sample:
    """One line of /proc/PID/stat, as far as it matters here."""

    pid: int
    parent: int
    state: str  # "R", "S", "D", "T" stopped by a signal, "Z" ended and not yet waited for, ...
    ticks: int  # user + system time
    ended_ticks: int  # user + system time of children that ended and were waited for
    started: int  # ticks since boot; with the pid it names a process for good


def sample(pid: int) -> Sample | None:
    """The process now; None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in parentheses and may hold spaces and parentheses itself.
    rest = line[line.rindex(b")") + 2 :].split()
    return Sample(
        pid=pid,
        state=rest[0].decode(),
        parent=int(rest[1]),
        ticks=int(rest[11]) + int(rest[12]),
        ended_ticks=int(rest[13]) + int(rest[14]),
        started=int(rest[19]),
    )


def tree(root: int) -> list[Sample]:
    """The process and all its descendants, the root first; empty when it has gone."""
    samples = {s.pid: s for s in map(sample, every_pid()) if s is not None}
    if root not in samples:
        return []
    children: dict[int, list[Sample]] = {}
    for one in samples.values():
        children.setdefault(one.parent, []).append(one)
    found = [samples[root]]
    for member in found:  # grows while it is walked: breadth first
        found += sorted(children.get(member.pid, []), key=lambda s: s.pid)
    return found


def every_pid() -> list[int]:
    """Every process id that /proc lists."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def cpu_ns(one: Sample) -> int:
    """User and system time so far, in ns.

    The first field of /proc/PID/schedstat counts ns; without CONFIG_SCHED_INFO it is 0 or
    missing, and ticks (10 ms as a rule) are all there is.
    """
    try:
        with open(f"/proc/{one.pid}/schedstat", "rb") as file:
            precise = int(file.read().split()[0])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        precise = 0
    return precise or one.ticks * NS_PER_TICK


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
    known = _KINDS.match(rest)
    if known:
        return known[1]
    return CLIENT if _CLIENT_TITLE.match(rest) else "background worker"
