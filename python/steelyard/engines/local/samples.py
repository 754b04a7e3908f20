"""Reads processes from /proc: parents, processor time, what a tree of them is, and their I/O.

Parents are found by scanning /proc/PID/stat: /proc/PID/task/TID/children is missing from many
kernels, and skips entries while children end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.engines.account import Account

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)
_GONE_OR_GOING = (*_GONE, PermissionError)


@dataclass(frozen=True)
class ProcessSample:
    """One line of /proc/PID/stat, as far as it matters here."""

    pid: int
    parent: int
    state: str  # "R", "S", "D", "T" stopped by a signal, "Z" ended and not yet waited for, ...
    ticks: int  # user + system time
    ended_ticks: int  # user + system time of children that ended and were waited for
    started: int  # ticks since boot; with the pid it names a process for good
    minor_faults: int = 0
    threads: int = 1

    @property
    def still(self) -> bool:
        """Whether the process is stopped or has ended, so that it uses no processor time."""
        return self.state in "TtZX"


def sample(pid: int) -> ProcessSample | None:
    """The process now; None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in parentheses and may hold spaces and parentheses itself.
    rest = line[line.rindex(b")") + 2 :].split()
    return ProcessSample(
        pid=pid,
        state=rest[0].decode(),
        parent=int(rest[1]),
        ticks=int(rest[11]) + int(rest[12]),
        ended_ticks=int(rest[13]) + int(rest[14]),
        started=int(rest[19]),
        minor_faults=int(rest[7]),
        threads=int(rest[17]),
    )


def tree(root: int) -> list[ProcessSample]:
    """The process and all its descendants, the root first; empty when it has gone."""
    samples = {s.pid: s for s in map(sample, every_pid()) if s is not None}
    if root not in samples:
        return []
    children: dict[int, list[ProcessSample]] = {}
    for process in samples.values():
        children.setdefault(process.parent, []).append(process)
    members = [samples[root]]
    for member in members:  # grows while it is walked: breadth first
        members += sorted(children.get(member.pid, []), key=lambda s: s.pid)
    return members


def every_pid() -> list[int]:
    """Every process id that /proc lists."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def threads_of(pid: int) -> list[int]:
    """The thread ids of a process; none when it has gone."""
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def stands_still(process: ProcessSample) -> bool:
    """It was stopped or has ended, with every thread: SIGSTOP reaches each when it is next
    scheduled, and the state that /proc has for a process is that of its first."""
    if not process.still or process.threads < 2:
        return process.still
    states = map(sample, threads_of(process.pid))
    return all(state is None or state.still for state in states)


def processor_ns(pid: int) -> int:
    """User and system time of all threads of a process, of those that ended too; 0: it has gone."""
    # MAKE_PROCESS_CPUCLOCK of linux/posix-timers.h: the id's complement, and CPUCLOCK_SCHED.
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def times_ns(process: ProcessSample) -> tuple[int, int]:
    """User and system time so far, and the time spent runnable without a processor, in ns.

    The first two fields of /proc/PID/schedstat count ns; without CONFIG_SCHED_INFO they are 0 or
    missing, and ticks (10 ms as a rule) of the former are all there is.
    """
    try:
        with open(f"/proc/{process.pid}/schedstat", "rb") as file:
            precise, queued = map(int, file.read().split()[:2])
    except (FileNotFoundError, ProcessLookupError, ValueError):
        precise = queued = 0
    return precise or process.ticks * NS_PER_TICK, queued


Transfers = tuple[int, int, int]
"""Bytes from the block layer, bytes to it, and bytes asked for by read calls."""


def transferred(pids: Sequence[int], account: Account) -> Transfers | None:
    """What processes transferred so far; a parent's figures hold its dead children's. None: none of
    them has its file, as on kernels without CONFIG_TASK_IO_ACCOUNTING, or it may not be read.
    `account`: whose processes they are."""
    try:
        return _transferred(pids)
    except PermissionError:
        # Root without CAP_SYS_PTRACE: the same files open for the server's own user id.
        # A process that is just ending is root's there for a moment: it is left out.
        counted: Transfers | None = account.call(lambda: _transferred(pids, _GONE_OR_GOING))
        return counted


def _transferred(
    pids: Sequence[int], passed_over: tuple[type[OSError], ...] = _GONE
) -> Transfers | None:
    read = written = requested = counted = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as file:
                fields = dict(line.split(b": ") for line in file.read().splitlines())
        except passed_over:
            continue
        read += int(fields[b"read_bytes"])
        written += int(fields[b"write_bytes"])
        requested += int(fields[b"rchar"])
        counted += 1
    return (read, written, requested) if counted else None
