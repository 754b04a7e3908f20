"""Reads processes from /proc (parents, processor time, what a tree of them is, and their I/O),
finds and kills those that work in a directory, and waits for orphans.

Parents are found by scanning /proc/PID/stat: /proc/PID/task/TID/children is missing from many
kernels, and skips entries while children end.

Every server process has its data directory as working directory, and programs.py starts the rest
there too: what a killed owner left behind is found without any list of process ids.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)
_GONE_OR_GOING = (*_GONE, PermissionError)
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37  # linux/prctl.h
EVERY_PROGRAM = ("",)
"""How the name of any program begins."""
_PATIENCE_S = 10.0


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


def programs_inside(directory: Path, account: Account, programs: tuple[str, ...]) -> list[int]:
    """Processes of the account whose working directory lies in `directory` and whose program's
    name begins with one of `programs`."""
    inside = os.path.realpath(directory)

    def scan() -> list[int]:
        return [pid for pid in every_pid() if _works_inside(pid, inside, programs)]

    # Read as the account: root without CAP_SYS_PTRACE may not read the link /proc/PID/cwd.
    pids: list[int] = account.call(scan)
    return pids


def kill_inside(
    directory: Path, account: Account, programs: tuple[str, ...], timeout_s: float = 10
) -> list[int]:
    """SIGKILL them until none is left; the process ids that were killed."""
    killed: list[int] = []
    deadline = time.monotonic() + timeout_s
    while pids := programs_inside(directory, account, programs):
        for pid in pids:
            if pid not in killed:
                killed.append(pid)
            kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return killed


def kill(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that has gone is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _works_inside(pid: int, inside: str, programs: tuple[str, ...]) -> bool:
    try:
        working = os.readlink(f"/proc/{pid}/cwd").removesuffix(" (deleted)")
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False
    if working != inside and not working.startswith(inside + "/"):
        return False
    now = sample(pid)
    return program.startswith(programs) and now is not None and now.state != "Z"


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Meanwhile grandchildren whose parent ends become children of this process: prctl(2)."""
    libc, before = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def wait_for_orphans(pids: Iterable[int]) -> None:
    """Wait until these adopted processes, which were killed, have ended; others are skipped."""
    for pid in pids:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            continue


@contextmanager
def ending_strays(directory: Path, account: Account) -> Iterator[None]:
    """At the end of the block, kill what the account's servers left running: orphans, and whatever
    works in the directory. For code of others, which a dump or a data directory may bring.

    Nothing where servers run as our own account: an orphan could be any program of the user.
    """
    if not account.switched:
        yield
        return
    before = set(_children(account))
    with adopting_orphans():
        try:
            yield
        finally:
            deadline = time.monotonic() + _PATIENCE_S
            # The children of an orphan become ours when it ends.
            while time.monotonic() < deadline and (
                strays := {*_children(account), *_inside(directory, account)} - before
            ):
                for pid in strays:
                    kill(pid, signal.SIGKILL)
                wait_for_orphans(strays)


def _inside(directory: Path, account: Account) -> list[int]:
    return programs_inside(directory, account, EVERY_PROGRAM)


def _children(account: Account) -> list[int]:
    """Our own child processes that run as the account, ended ones too."""
    children = []
    for pid in every_pid():
        now = sample(pid)
        try:
            if now is not None and now.parent == os.getpid():
                children += [pid] if os.stat(f"/proc/{pid}").st_uid == account.uid else []
        except FileNotFoundError:
            continue
    return children
