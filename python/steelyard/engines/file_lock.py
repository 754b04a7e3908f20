"""Locks files between processes by flock(2): the kernel drops a lock with its holder, even killed.

Lock files stay when they are unlocked: removed while another process waits for it, a lock file
would let two of them in. A link is not followed, and what is in a file stays in it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from steelyard.model.files.own_directory import open_to_append


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock file alone; `waiting` is called first where another process holds it."""
    with open_to_append(path) as file:
        if waiting is not None and not _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            waiting()
        _lock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Whether the lock file is held alone here: it is not where another process holds it."""
    with open_to_append(path) as file:
        yield _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def hold(path: Path) -> IO[bytes]:
    """A file, open for appending and locked until it is closed or its process has ended."""
    file = open_to_append(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def is_held(path: Path) -> bool:
    """Whether a process holds a file; False where there is none, or what is no file of its own."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        opened = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return False
        raise
    try:
        return not _lock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(opened)


def _lock(file: IO[bytes] | int, how: int) -> bool:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True
