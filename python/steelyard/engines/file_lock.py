"""Locks files between processes by flock(2): the kernel drops a lock with its holder, even killed.

Lock files stay when they are unlocked: removed while another process waits for it, a lock file
would let two of them in. A link is not followed, and what is in a file stays in it. Where a file
system locks nothing that is an EngineError: two weighings would take each other for dead.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from steelyard.model.errors import EngineError
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
    """A file, open for appending and locked until it is closed or its process has ended.
    BlockingIOError: another process holds it."""
    file = open_to_append(path)
    try:
        _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        file.close()
        raise
    return file


def is_locked(path: Path) -> bool:
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
        _flock(file, how)
    except BlockingIOError:
        return False
    return True


def _flock(file: IO[bytes] | int, how: int) -> None:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        raise
    except OSError as error:
        opened = file if isinstance(file, int) else file.fileno()
        raise EngineError(
            f'could not lock "{os.readlink(f"/proc/self/fd/{opened}")}": {error.strerror}',
            detail="Its file system locks no files, as NFS does not without its lock service.",
            hint="Set STEELYARD_CACHE to a directory on a disk of this machine.",
        ) from error
