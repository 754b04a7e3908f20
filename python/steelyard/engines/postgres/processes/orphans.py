"""Waits for the children of a killed server: a container's first process often waits for nobody.

Without it they would stay as zombies for as long as the container lives.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Meanwhile grandchildren whose parent ends become children of this process: prctl(2)."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def wait_for_orphans(pids: Iterable[int]) -> None:
    """Wait until these adopted processes, which were killed, have ended; strangers are skipped."""
    for pid in pids:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            continue
