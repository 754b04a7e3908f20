"""Finds and kills the processes that work in a directory, and waits for orphans.

Every server process has its data directory as working directory, and programs.py starts the rest
there too: what a killed owner left behind is found without any list of process ids.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.samples import every_pid, sample

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37  # linux/prctl.h
EVERY_PROGRAM = ("",)
"""How the name of any program begins."""
_PATIENCE_S = 10.0


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
