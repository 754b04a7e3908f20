"""Processor time and I/O of a server's whole process tree, from outside the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from steelyard.engines.account import Account
from steelyard.engines.engine import Process, TreeUse
from steelyard.engines.postgres.processes import (
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

    Living processes count what /proc/PID/schedstat says, in ns. Processes that ended are in the
    root's cutime + cstime, which the kernel keeps in ns and prints in ticks: right to two ticks
    (20 ms), and never less than what those processes were last seen with. A reading taken before
    and one after load connections close therefore differ by up to 20 ms in all; read before they
    close for ns. Nothing is counted twice: a process is either living (or a zombie) or waited for.
    """

    root: int
    account: Account
    _seen: dict[tuple[int, int], int] = field(default_factory=dict)  # (pid, started) → ns
    _kinds: dict[tuple[int, int], str] = field(default_factory=dict)
    _ended_seen_ns: int = 0

    def use(self) -> TreeUse:
        """What the tree used so far; zeros when the root has gone."""
        members, times = self._consistent()
        living = {(m.pid, m.started): t for m, t in zip(members, times, strict=True)}
        self._ended_seen_ns += sum(t for key, t in self._seen.items() if key not in living)
        self._seen = living
        ended_ns = max(members[0].ended_ticks * NS_PER_TICK if members else 0, self._ended_seen_ns)
        # A descendant's own dead children (archive_command) are not in the root's sum yet.
        nested_ns = sum(m.ended_ticks * NS_PER_TICK for m in members[1:])
        read, written = self._transferred([m.pid for m in members])
        return TreeUse(
            cpu_ns=sum(times) + ended_ns + nested_ns,
            read_bytes=read,
            written_bytes=written,
            processes=tuple(
                Process(m.pid, self._kind(m), t) for m, t in zip(members, times, strict=True)
            ),
        )

    def _consistent(self) -> tuple[list[Sample], list[int]]:
        """Members and their times, with no process waited for while they were read."""
        members: list[Sample] = []
        times: list[int] = []
        for _ in range(_TRIES):
            members = tree(self.root)
            times = [cpu_ns(m) for m in members]
            after = sample(self.root)
            unchanged = after is not None and after.ended_ticks == members[0].ended_ticks \
                if members else True  # fmt: skip
            if unchanged:
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

    def _transferred(self, pids: Sequence[int]) -> tuple[int, int]:
        """Bytes to and from the block layer; a parent's figures hold its dead children's."""
        try:
            read, written = _transferred(pids)
        except PermissionError:
            # Root without CAP_SYS_PTRACE: the same files open for the server's own user id.
            read, written = self.account.call(lambda: _transferred(pids))
        return read, written


def _transferred(pids: Sequence[int]) -> tuple[int, int]:
    read = written = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as file:
                fields = dict(line.split(b": ") for line in file.read().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue
        read += int(fields[b"read_bytes"])
        written += int(fields[b"write_bytes"])
    return read, written
