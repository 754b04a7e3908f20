"""Reads the attributes that a directory hands on to what is made in it (chattr(1)).

Two directories of one file system may have others, so that files in them are stored otherwise:
`chattr +C` has btrfs write in place, without checksums, as the mount option nodatacow does for all.
Source: ioctl_iflags(2), btrfs(5), btrfs-property(8).
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

_GET_FLAGS = 0x80086601
"""FS_IOC_GETFLAGS of 64-bit kernels; alpha, mips, powerpc and sparc have another number."""
_FLAGS = {
    0x00000004: "compress",
    0x00000008: "sync",
    0x00000080: "noatime",
    0x00000400: "nocompress",
    0x00000800: "encrypted",
    0x00004000: "journal-data",
    0x00010000: "dirsync",
    0x00800000: "nocow",
    0x02000000: "dax",
    0x40000000: "casefold",
}
"""Those that are handed on, by their bits in linux/fs.h."""
_PROPERTIES = ("btrfs.", "bcachefs.")
"""Extended attributes by which a file system is told how to store what is in a directory."""


def handed_on(directory: Path) -> tuple[str, ...]:
    """`("nocow",)`: what files in a directory will have of it; empty where it cannot be told."""
    return (*_flags(directory), *_properties(directory))


def _flags(directory: Path) -> list[str]:
    try:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        answer = fcntl.ioctl(opened, _GET_FLAGS, bytes(8))
    except OSError:  # this file system has none
        return []
    finally:
        os.close(opened)
    flags: int = struct.unpack("=I", answer[:4])[0]  # the kernel writes an int
    return [name for bit, name in _FLAGS.items() if flags & bit]


def _properties(directory: Path) -> list[str]:
    try:
        names = [name for name in os.listxattr(directory) if name.startswith(_PROPERTIES)]
        values = {name: os.getxattr(directory, name) for name in sorted(names)}
    except OSError:
        return []
    return [f"{name}={value.decode(errors='replace')}" for name, value in values.items()]
