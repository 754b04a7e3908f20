"""Locks files between processes by flock(2): the kernel drops a lock with its holder, even killed.

Lock files stay when they are unlocked: removed while another process waits for it, a lock file
would let two of them in.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock file alone; `waiting` is called first where another process holds it."""
    with path.open("w") as file:
        if waiting is not None and not _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            waiting()
        _lock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Whether the lock file is held alone here: it is not where another process holds it."""
    with path.open("w") as file:
        yield _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def hold(path: Path) -> IO[str]:
    """A new file, open for writing and locked until it is closed or its process has ended."""
    file = path.open("w")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def is_held(path: Path) -> bool:
    """Whether a process holds a file; False where there is none."""
    try:
        with path.open() as file:
            return not _lock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False


def _lock(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True
