"""Lets a test obey the permissions of files as an account does that is not root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VERSION_3 = 0x20080522
"""capget(2): two words of 32 capabilities each."""
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, capabilities(7)."""
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@contextmanager
def obeying_permissions() -> Iterator[None]:
    """This thread may read and search what its account may, and no more; nothing changes for an
    account that is not root."""
    header, sets = _Header(_VERSION_3, 0), (_Sets * 2)()
    _call("capget", header, sets)
    before = sets[0].effective
    sets[0].effective &= ~_OVERRIDES
    _call("capset", header, sets)
    try:
        yield
    finally:
        sets[0].effective = before
        _call("capset", header, sets)


def _call(name: str, header: _Header, sets: ctypes.Array[_Sets]) -> None:
    if getattr(_LIBC, name)(ctypes.byref(header), sets) != 0:
        raise OSError(ctypes.get_errno(), name)


@contextmanager
def closed(directory: Path) -> Iterator[Path]:
    """A directory that its own account may neither read nor search."""
    mode = directory.stat().st_mode
    os.chmod(directory, 0)
    try:
        with obeying_permissions():
            yield directory
    finally:
        os.chmod(directory, mode)
