"""Reads small text files of a data directory; what is no regular file is not waited for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(file: Path) -> str:
    """The text of a file. OSError: it cannot be read, or is a directory, a device or a pipe."""
    # Without O_NONBLOCK opening a pipe waits for somebody who writes into it.
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(opened, encoding="utf-8", errors="replace") as stream:
        require_regular(file, os.fstat(opened).st_mode)
        return stream.read()


def require_regular(file: Path, mode: int) -> None:
    """OSError: a file of this mode (st_mode) is not a regular one."""
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(file))
