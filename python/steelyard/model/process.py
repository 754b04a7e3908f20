"""Holds what the processes of a server used, as /proc shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Duty = Literal["session", "helper", "checkpoint", "background"]
"""What a process works for: a client's connection; sessions that wait for it, as workers that read
blocks for them do; checkpoints, or writing out what they would; anything else, by itself."""


@dataclass(frozen=True)
class Process:
    """One process of a server, as /proc shows it."""

    pid: int
    kind: str  # "postmaster", "checkpointer", "background writer", "client backend", ...
    cpu_ns: int  # user + system time so far
    queue_ns: int = 0  # time so far in which it could run and had no processor
    duty: Duty = "background"


@dataclass(frozen=True)
class TreeUse:
    """What the whole process tree of a server used so far; differences of two are readings."""

    cpu_ns: int  # user + system, live processes and those that have ended
    read_bytes: int  # from the block layer, /proc/PID/io
    written_bytes: int
    requested_bytes: int = 0  # by read calls, from the page cache too: rchar of /proc/PID/io
    mapped_pages: int = 0  # page faults without a read: memory that a process touched first
    processes: tuple[Process, ...] = field(default=())
    transfers_known: bool = True
    """False: the kernel does not show what was read, written and requested; the numbers are 0."""
    session_pids: frozenset[int] = frozenset()
    """Processes that serve a connection and end with it; none where threads serve one after the
    other."""

    @property
    def session_cpu_ns(self) -> int:
        """Processor time of the processes that serve connections now."""
        return self.cpu_ns_for("session")

    @property
    def session_queue_ns(self) -> int:
        """Time in which they could run and had no processor."""
        return sum(process.queue_ns for process in self.processes if process.duty == "session")

    def cpu_ns_for(self, duty: Duty) -> int:
        """Processor time of the processes there are now with this duty."""
        return sum(process.cpu_ns for process in self.processes if process.duty == duty)
