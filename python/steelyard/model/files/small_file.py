"""Reads small files of others: regular ones, up to a size, without waiting and without quoting."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steelyard.model.units import format_bytes

MOST_BYTES = 16 << 20
"""Of a script, a study, a description: real ones have some thousands."""
MOST_OF_LOCK = 64 << 10
"""Of PG_VERSION, postmaster.pid, postmaster.opts."""
MOST_LEVELS = 100
"""Of tables and arrays within each other in TOML."""
_OWN = ("/dev/stdin", "/dev/fd/")
"""What the caller's shell has opened for us: a pipe too, as of <(command)."""


def read_small(
    file: Path, most_bytes: int = MOST_BYTES, *, encoding: str = "utf-8-sig", errors: str = "strict"
) -> str:
    """The text of a small file, its lines ending as `open` has them, without the byte order mark
    that editors put before it. OSError as of `read_small_bytes`; UnicodeDecodeError, which quotes
    nothing but a byte."""
    text = read_small_bytes(file, most_bytes).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_small_bytes(file: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a small file. OSError: it cannot be read, is a directory, a device or a pipe,
    or is larger than `most_bytes`: `strerror` says which."""
    # Without O_NONBLOCK opening a pipe waits for a writer.
    waits = 0 if str(file).startswith(_OWN) else os.O_NONBLOCK
    try:
        opened = os.open(file, os.O_RDONLY | waits | os.O_CLOEXEC)
    except ValueError:  # a zero byte
        raise OSError(errno.EINVAL, "no file has this name", str(file)) from None
    with os.fdopen(opened, "rb") as stream:
        status = os.fstat(opened)
        if waits and not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(file))
        content = b"" if status.st_size > most_bytes else stream.read(most_bytes + 1)
    if status.st_size > most_bytes or len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {format_bytes(most_bytes)}", str(file))
    return content


def parse_toml(text: str, parse_float: Callable[[str], float] = float) -> dict[str, Any]:
    """The tables of a TOML document, numbers with a point or an exponent by `parse_float`.

    TOMLDecodeError: it is none, or nested deeper than MOST_LEVELS.
    """
    try:
        table = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise _too_deep() from None
    level: list[Any] = [table]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return table
    raise _too_deep()


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> tomllib.TOMLDecodeError:
    return tomllib.TOMLDecodeError(f"it is nested deeper than {MOST_LEVELS} levels")
