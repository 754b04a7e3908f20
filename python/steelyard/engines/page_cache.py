"""Evicts files from the page cache of the kernel, and counts what stays in it.

posix_fadvise(2) with POSIX_FADV_DONTNEED drops clean pages only, so what is dirty is written back
first; cachestat(2) says what is left, and mincore(2) before Linux 6.5. A file that another process
has mapped, or that lies in memory (tmpfs), stays.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.copying import write_back

_CHUNK = 1 << 30
_CACHESTAT = 451  # asm-generic/unistd.h; the same number on x86


@dataclass(frozen=True)
class Evicted:
    """What came of an eviction."""

    file_bytes: int
    resident_bytes: int | None  # still in the page cache; None: the kernel does not report it


def evict(directories: Iterable[Path], account: Account) -> Evicted:
    """Write back and drop every file below the directories, which are the account's; what stayed
    nevertheless is counted."""
    every = list(directories)
    for directory in {path.stat().st_dev: path for path in every}.values():
        write_back(directory)
    # By the account: it could put links in these directories.
    total, resident = account.call(lambda: _evict(every))
    return Evicted(total, resident)


def _evict(directories: list[Path]) -> tuple[int, int | None]:
    """Bytes of the files, and of them in the page cache."""
    total, resident, counted = 0, 0, True
    for path in _files(directories):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # a file that went meanwhile, a socket
        try:
            size = os.fstat(descriptor).st_size
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            left = _resident_bytes(descriptor, size)
        except OSError as error:
            if error.errno != errno.ESPIPE:
                raise
            continue  # a pipe
        finally:
            os.close(descriptor)
        total += size
        counted = counted and left is not None
        resident += left or 0
    return total, resident if counted else None


def _files(directories: Iterable[Path]) -> Iterator[str]:
    for directory in directories:
        for parent, _, names in os.walk(directory, onerror=_raise_unless_missing):
            yield from (os.path.join(parent, name) for name in names)


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _resident_bytes(descriptor: int, size: int) -> int | None:
    """Bytes of an open file that are in the page cache; None where the kernel does not report
    it."""
    resident = _by_cachestat(descriptor)
    return _by_mincore(descriptor, size) if resident is None else min(resident, size)


class _Range(ctypes.Structure):
    """struct cachestat_range of linux/mman.h; a length of 0 is to the end."""

    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    """struct cachestat of linux/mman.h, in pages."""

    _fields_ = tuple(
        (f"nr_{name}", ctypes.c_uint64)
        for name in ("cache", "dirty", "writeback", "evicted", "recently_evicted")
    )


@cache
def _system_call() -> Callable[..., int]:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _by_cachestat(descriptor: int) -> int | None:
    """None before Linux 6.5, under a filter of system calls, and of files that are not our own."""
    extent, counts = _Range(0, 0), _Counts()
    number, flags = ctypes.c_long(_CACHESTAT), ctypes.c_uint(0)
    failed = _system_call()(
        number, ctypes.c_uint(descriptor), ctypes.byref(extent), ctypes.byref(counts), flags
    )
    return None if failed else int(counts.nr_cache) * mmap.PAGESIZE


@cache
def _mincore() -> Callable[[int, int, object], int]:
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    return mincore


def _by_mincore(descriptor: int, size: int) -> int | None:
    """Chunk by chunk; None where it is refused."""
    page, resident = mmap.PAGESIZE, 0
    for start in range(0, size, _CHUNK):
        length = min(_CHUNK, size - start)
        # Private, so that its address can be taken though the file is open for reading only.
        with mmap.mmap(
            descriptor,
            length,
            flags=mmap.MAP_PRIVATE,
            prot=mmap.PROT_READ | mmap.PROT_WRITE,
            offset=start,
        ) as mapped:
            vector = ctypes.create_string_buffer(-(-length // page))
            view = ctypes.c_char.from_buffer(mapped)
            failed = _mincore()(ctypes.addressof(view), length, vector)
            del view  # or the mapping cannot be closed
            if failed:
                return None
        # The lowest bit of each byte says that the page is resident; the others are 0 on Linux.
        resident += page * vector.raw[: -(-length // page)].count(1)
    return min(resident, size)
