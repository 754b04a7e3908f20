"""Measures processor time and I/O of a server's whole process tree, from outside the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard.engines.account import Account
from steelyard.engines.engine import Process, TreeUse
from steelyard.engines.postgres.processes.process_tree import (
    NS_PER_TICK,
    POSTMASTER,
    UNKNOWN,
    Sample,
    cpu_ns,
    kind_of,
    sample,
    tree,
)

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
        members, times = self._consistent()
        self._close(members, times)
        read, written, requested = self._transferred([m.pid for m in members])
        return TreeUse(
            cpu_ns=sum(times) + self._ended_ns,
            read_bytes=read,
            written_bytes=written,
            requested_bytes=requested,
            processes=tuple(
                Process(m.pid, self._kind(m), t) for m, t in zip(members, times, strict=True)
            ),
        )

    def _close(self, members: Sequence[Sample], times: Sequence[int]) -> None:
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

    def _consistent(self) -> tuple[list[Sample], list[int]]:
        """Members and their times, with no process waited for while they were read."""
        members: list[Sample] = []
        times: list[int] = []
        for _ in range(_TRIES):
            before = sample(self.root)
            members = tree(self.root)
            times = [
                # The dead children of a child (archive_command) are not in the root's sum yet.
                cpu_ns(m) + (m.ended_ticks * NS_PER_TICK if m.pid != self.root else 0)
                for m in members
            ]
            after = sample(self.root)
            if before is None or after is None or before.ended_ticks == after.ended_ticks:
                break
        return members, times

    def _kind(self, member: Sample) -> str:
        if member.pid == self.root:
            return POSTMASTER
        key = (member.pid, member.started)
        kind = self._kinds.get(key) or kind_of(member.pid)
        if kind != UNKNOWN:
            self._kinds[key] = kind
        return kind

    def _transferred(self, pids: Sequence[int]) -> tuple[int, int, int]:
        """Bytes from and to the block layer, and bytes asked for by read calls; a parent's figures
        hold its dead children's."""
        try:
            return _transferred(pids)
        except PermissionError:
            # Root without CAP_SYS_PTRACE: the same files open for the server's own user id.
            # A process that is just ending is root's there for a moment: it is left out.
            read, written, requested = self.account.call(lambda: _transferred(pids, GONE_OR_GOING))
        return read, written, requested


GONE = (FileNotFoundError, ProcessLookupError)
GONE_OR_GOING = (*GONE, PermissionError)


def _transferred(
    pids: Sequence[int], passed_over: tuple[type[OSError], ...] = GONE
) -> tuple[int, int, int]:
    read = written = requested = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as file:
                fields = dict(line.split(b": ") for line in file.read().splitlines())
        except passed_over:
            continue
        read += int(fields[b"read_bytes"])
        written += int(fields[b"write_bytes"])
        requested += int(fields[b"rchar"])
    return read, written, requested
