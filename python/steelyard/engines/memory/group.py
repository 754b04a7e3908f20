"""Makes the control group that holds one server's memory cap, reads it, and removes it again.

The server's first process enters the group between fork and exec, before it drops its user id, so
that whatever it and its children touch is charged there: the kernel charges a page to the group
that touches it first, and moving a process moves no page (kernel's cgroup-v1/memory.rst,
cgroup-v2.rst). The path of a group is kept in its slot, in `memory-group`, before it is made: what
a killed owner left is found by it.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import mkdir, rmdir
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.capabilities.memory import MemoryCap, MemoryUse
from steelyard.engines.memory.control_groups import (
    ROOT,
    admit,
    groups_in,
    lacking_rates,
    own_groups,
    pairs_of,
    scope_properties,
    text_of,
    v1_limits,
    v2_limits,
    words_of,
)
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.units import format_bytes

MARKER = "memory-group"
_REMOVAL_TIMEOUT_S = 5.0
_POLL_S = 0.01


class MemoryGroup:
    """The group of one life of a server."""

    def __init__(self, cap: MemoryCap, slot: Path, root: Path = ROOT) -> None:
        self.cap = cap
        self._root = root
        self._marker = slot / MARKER
        self._name = group_name(slot)
        self._path = None if cap.parent is None else cap.parent / self._name
        self._rates: Path | None = None
        """The group of version 1 that holds the rates of its disk."""
        self._last: MemoryUse | None = None

    @classmethod
    def make(cls, cap: MemoryCap, slot: Path, root: Path = ROOT) -> MemoryGroup:
        """A new group for the server of a slot; EngineError: it could not be made or capped."""
        group = cls(cap, slot, root)
        if group._path is not None:
            group._make(group._path)
        return group

    def _make(self, path: Path) -> None:
        try:
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            if self.cap.disk is not None and self.cap.by == "v1":
                self._rates = next(own_groups("blkio", self._root)) / self._name
            ours = [each for each in (path, self._rates) if each is not None]
            self._marker.write_text("".join(f"{each}\n" for each in ours))
            for group in ours:
                if group.exists():  # of this slot, from a life that could not be cleaned up after
                    _remove(group)
                mkdir(group)
            for name, value in _limits(self.cap, path).items():
                _write(path / name, value)
            for name, value in self._disk_limits():
                _write((self._rates or path) / name, value)
        except StopIteration as error:
            raise EngineError("no control group here holds the rates of a disk") from error
        except OSError as error:
            if path.exists():
                self.close()
            self._marker.unlink(missing_ok=True)
            raise EngineError(
                f'could not make memory group "{path}": {error.strerror}',
                detail=f"It was to hold {format_bytes(self.cap.size_bytes)}.",
            ) from error

    def _disk_limits(self) -> list[tuple[str, str]]:
        if self.cap.disk is None:
            return []
        limits = v2_limits if self._rates is None else v1_limits
        return list(limits(self.cap.disk))

    def command(self, account: Account, command: Sequence[str]) -> list[str]:
        """The command with which a program is started in the group."""
        if self.cap.by != "systemd-run":
            return list(command)
        whose = [f"--uid={account.uid}", f"--gid={account.gid}"] if account.switched else []
        manager = [] if os.geteuid() == 0 else ["--user"]
        limits = [f"--property=MemoryMax={self.cap.size_bytes}", "--property=MemorySwapMax=0"]
        if self.cap.disk is not None:
            limits += scope_properties(self.cap.disk)
        if self.cap.oom_policy:  # else systemd stops the scope, and its count of kills goes with it
            limits.append("--property=OOMPolicy=continue")
        scope = ["--scope", "--quiet", "--collect", f"--unit={self._name}.scope"]
        # In a scope systemd-run becomes the program: the process id stays.
        program = shutil.which("systemd-run") or "systemd-run"
        return [program, *manager, *scope, *whose, *limits, "--", *command]

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that lead systemd-run to the user's manager."""
        names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
        by_user = self.cap.by == "systemd-run" and os.geteuid() != 0
        return {name: os.environ[name] for name in names if by_user and name in os.environ}

    @contextmanager
    def entrance(self) -> Iterator[int | None]:
        """A descriptor to which a forked child writes "0" to enter; None: its command enters."""
        if self._path is None:
            yield None
            return
        door = os.open(self._path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        try:
            yield door
        finally:
            os.close(door)

    def settle(self, pid: int) -> None:
        """Find the scope of a server that has started; EngineError where it holds no such cap."""
        if self._rates is not None and self._path is not None:
            admit(self._path, self._rates)
        if self.cap.by != "systemd-run":
            return
        listing = text_of(self._root / f"proc/{pid}/cgroup")
        groups = (
            group
            for group in groups_in(listing, "memory", self._root)
            if group.name.endswith(".scope")
        )
        self._path = next(groups, None)
        limit = words_of(self._path / "memory.max") if self._path else []
        if limit != [str(self.cap.size_bytes)]:
            raise EngineError(
                "systemd-run started a server without its memory cap",
                detail=f'Its group is "{self._path}", whose limit is {" ".join(limit) or "none"}.',
                hint="Memory may not be delegated to this user; weigh as root.",
            )
        disk = self.cap.disk
        lacking = (
            lacking_rates(disk, self._path) if disk is not None and self._path is not None else []
        )
        if lacking:
            raise EngineError(
                "systemd-run started a server whose disk is not held to the rates",
                detail=f'Its group is "{self._path}", and its io.max lacks {", ".join(lacking)}.',
                hint="The io controller may not be delegated to this user; weigh as root.",
            )

    def use(self) -> MemoryUse | None:
        """The readings of the group now; the last ones where it has gone; None: it was never
        read."""
        if self._path is not None and (self._path / "memory.stat").exists():
            self._last = read_use(self._path)
        return self._last

    def close(self) -> None:
        """Remove the group, which no process may be in any more; safe to call twice. EngineError
        where it cannot be yet: the end of the weighing tries again."""
        if self._path is None or self.cap.by == "systemd-run":  # a scope goes with its processes
            return
        self.use()
        _remove(self._path)
        if self._rates is not None:
            _remove(self._rates)
        self._marker.unlink(missing_ok=True)


def group_name(slot: Path) -> str:
    """`steelyard-20261123T073737Z-21124-1d40-slot0`: by weighing and slot, so it is ours alone."""
    return f"steelyard-{slot.parent.name}-{slot.name}"


def remove_groups(directory: Path) -> list[Path]:
    """Remove the groups of an ended weighing's slots, whose servers have been killed.

    Only those with the name that belongs to their slot, and only where they are groups.
    """
    removed = []
    for marker in sorted(directory.glob(f"*/{MARKER}")):
        for path in map(Path, text_of(marker).splitlines()):
            if path.name == group_name(marker.parent) and (path / "cgroup.procs").exists():
                _remove(path)
                removed.append(path)
    return removed


def read_use(path: Path) -> MemoryUse:
    """The readings in the files of a group, v1 or v2; its page cache is what is neither anonymous
    nor shared memory."""
    counts = pairs_of(text_of(path / "memory.stat"))
    if (path / "memory.limit_in_bytes").exists():
        return MemoryUse(
            used_bytes=_number(path / "memory.usage_in_bytes") or 0,
            cache_bytes=counts.get("total_cache", 0) - counts.get("total_shmem", 0),
            refaulted_pages=counts.get("total_workingset_refault_file"),
            limit_hits=_failures(path),
            oom_kills=pairs_of(text_of(path / "memory.oom_control")).get("oom_kill", 0),
            peak_bytes=_number(path / "memory.max_usage_in_bytes"),
        )
    events = pairs_of(text_of(path / "memory.events"))
    return MemoryUse(
        used_bytes=_number(path / "memory.current") or 0,
        cache_bytes=counts.get("file", 0) - counts.get("shmem", 0),
        # Before 5.9 files alone had them, under the name of both.
        refaulted_pages=counts.get("workingset_refault_file", counts.get("workingset_refault")),
        limit_hits=events.get("max", 0),
        oom_kills=events.get("oom_kill", 0),
        peak_bytes=_number(path / "memory.peak"),
    )


def _failures(path: Path) -> int | None:
    """Of version 1, of memory and of memory with swap, whose limit is met first where both are
    equal. Linux 6.18 was seen to count none at the limit: then they are not known."""
    counted = sum(_number(path / f"memory.{name}failcnt") or 0 for name in ("", "memsw."))
    limit, most = (_number(path / f"memory.{name}_in_bytes") for name in ("limit", "max_usage"))
    return None if not counted and most == limit else counted


@contextmanager
def naming_oom_kills(group: MemoryGroup | None, failed: str) -> Iterator[None]:
    """A ServerError inside is named after the OOM killer, where that struck in the group; `failed`:
    what was not done then."""
    try:
        yield
    except ServerError as failure:
        used = None if group is None else group.use()
        if group is None or used is None or not used.oom_kills:
            raise
        raise ServerError(
            f"{failed}: the kernel's OOM killer struck at its cap of "
            f"{format_bytes(group.cap.size_bytes)}",
            detail=failure.detail,
            hint=failure.hint,
        ) from failure


def _limits(cap: MemoryCap, path: Path) -> dict[str, str]:
    """File → what is written to it, in this order: memory, and no swap beside it."""
    size = str(cap.size_bytes)
    if cap.by == "v2":
        limits = {"memory.max": size}
        if (path / "memory.swap.max").exists():  # not where the kernel has no swap
            limits["memory.swap.max"] = "0"
        return limits
    limits = {"memory.limit_in_bytes": size}
    if (path / "memory.memsw.limit_in_bytes").exists():  # memory and swap together
        limits["memory.memsw.limit_in_bytes"] = size
    else:
        limits["memory.swappiness"] = "0"
    return limits


def _write(path: Path, value: str) -> None:
    """Without making the file: a group has its own."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _number(path: Path) -> int | None:
    fields = words_of(path)
    return int(fields[0]) if fields and fields[0].isdigit() else None


def _remove(path: Path) -> None:
    """rmdir(2), which is refused for a moment after the last process ended."""
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    while True:
        try:
            rmdir(path)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno == errno.EBUSY and time.monotonic() < deadline:
                time.sleep(_POLL_S)
                continue
            raise EngineError(
                f'could not remove memory group "{path}": {error.strerror}',
                detail=f"Its processes: {' '.join(words_of(path / 'cgroup.procs')) or 'none'}.",
            ) from error
        return
