"""Evicts files from the page cache of the kernel, and counts what stays in it.

posix_fadvise(2) with POSIX_FADV_DONTNEED drops clean pages only, so what is dirty is written back
first; mincore(2) says what is left. A file that another process has mapped, or that lies in memory
(tmpfs), stays.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard.engines.copying import write_back

_CHUNK = 1 << 30


@dataclass(frozen=True)
class Evicted:
    """What came of an eviction."""

    file_bytes: int
    resident_bytes: int | None  # still in the page cache; None: the kernel does not tell


def evict(directories: Iterable[Path]) -> Evicted:
    """Write back and drop every file below the directories; what stayed nevertheless is counted."""
    every = list(directories)
    for directory in {one.stat().st_dev: one for one in every}.values():
        write_back(directory)
    total, resident, told = 0, 0, True
    for path in _files(every):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # a file that went meanwhile, a socket
        try:
            size = os.fstat(descriptor).st_size
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            left = _resident_bytes(descriptor, size)
        finally:
            os.close(descriptor)
        total += size
        if left is None:
            told = False
        else:
            resident += left
    return Evicted(total, resident if told else None)


@cache
def _mincore() -> Callable[[int, int, object], int]:
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    return mincore


def _files(directories: Iterable[Path]) -> Iterator[str]:
    for directory in directories:
        for parent, _, names in os.walk(directory):
            yield from (os.path.join(parent, name) for name in names)


def _resident_bytes(descriptor: int, size: int) -> int | None:
    """By mincore(2), chunk by chunk; None where it is refused."""
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
