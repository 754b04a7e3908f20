"""Copies files, sharing blocks where the file system can, and writes file systems back to disk.

ioctl_ficlone(2), copy_file_range(2), lseek(2) with SEEK_DATA, syncfs(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from pathlib import Path

_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
_CANNOT_SHARE = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS}
_CHUNK = 1 << 30
_BUFFER = 1 << 20


def copy_file(source: str, target: str) -> int:
    """Make `target` (new or not) hold the bytes, holes and mode of `source`; its size in bytes.
    OSError: either is a link."""
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return copy_opened(reader, target, os.fstat(reader).st_mode & 0o7777)
    finally:
        os.close(reader)


def copy_opened(reader: int, target: str, mode: int) -> int:
    """Make `target` (new or not) hold the bytes and holes of an open file; their number."""
    size = os.fstat(reader).st_size
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    writer = os.open(target, flags, 0o600)
    try:
        if size and not _share(reader, writer):
            os.ftruncate(writer, size)
            _copy_extents(reader, writer, size)
        os.fchmod(writer, mode)
    finally:
        os.close(writer)
    return size


def write_back(path: Path) -> None:
    """Wait until the file system of `path` has written its dirty pages: syncfs(2).

    A fresh copy is only in memory; written back by the kernel half a minute later, it would be
    charged to the arm that is under load then.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


def _share(reader: int, writer: int) -> bool:
    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError as error:
        if error.errno not in _CANNOT_SHARE:
            raise
        return False
    return True


def _copy_extents(reader: int, writer: int, size: int) -> None:
    end = 0
    while end < size:
        try:
            start = os.lseek(reader, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                return
            raise
        end = os.lseek(reader, start, os.SEEK_HOLE)
        _copy_range(reader, writer, start, end)


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    while start < end:
        try:
            copied = os.copy_file_range(reader, writer, min(_CHUNK, end - start), start, start)
        except OSError as error:
            if error.errno not in _CANNOT_SHARE:
                raise
            copied = os.pwrite(writer, os.pread(reader, min(_BUFFER, end - start), start), start)
        if copied == 0:  # the source became shorter under our hands
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        start += copied
