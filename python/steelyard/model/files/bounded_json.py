"""Reads JSON of others within bounds: of size, depth, digits, and finite numbers alone.

What the standard library makes of such a file is a RecursionError, gigabytes of memory, a wait for
a pipe that is never written, or a NaN that every comparison lets pass.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

MOST_BYTES = 16 << 20
"""Of a file that is read whole: its values take some twenty times as much memory."""
MOST_LEVELS = 200
"""Of arrays and objects within each other, as pydantic's parser has it."""
_HUGE = re.compile(rb"[eE]\+?\d{3}"), re.compile(rb"\d{300}")
"""In a number that may be beyond what a double holds; two are searched faster than one of both."""


class JsonError(ValueError):
    """JSON that cannot be read: why, and at which line and column where that is known."""


def read_bounded(file: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file. OSError: it cannot be read; JsonError: it is no regular file,
    or has more than `most_bytes`."""
    with open_regular(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = stream.read(most_bytes + 1) if size <= most_bytes else b""
    if max(size, len(content)) > most_bytes:
        raise JsonError(f"it has more than {most_bytes >> 20} MB")
    return content


def open_regular(file: Path) -> BinaryIO:
    """A regular file, open for reading; no pipe is waited for. OSError; JsonError: none."""
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise JsonError("it is not a regular file")
    return os.fdopen(opened, "rb")


def read_json(file: Path, most_bytes: int = MOST_BYTES) -> Any:
    """The value in a file. OSError: it cannot be read; JsonError: why it is not taken."""
    return parse_json(read_bounded(file, most_bytes))


def parse_json(content: bytes | str) -> Any:
    """The value of JSON in UTF-8. JsonError: it is none, or is nested deeper than MOST_LEVELS, or
    holds NaN, an infinite number, or an integer of more than 4,300 digits."""
    from pydantic_core import from_json  # half the time of the standard library's parser

    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        numbers = _outside_strings(raw)
        if not any(huge.search(numbers) for huge in _HUGE):  # it makes infinite ones of them
            return from_json(raw, allow_inf_nan=False)
    except ValueError:
        pass  # the other one accepts lone surrogates, which names of files are written as
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError as reason:
        raise JsonError(_TOO_DEEP) from reason
    except JsonError:
        raise
    except ValueError as reason:
        raise JsonError(_in_words(reason)) from reason
    require_shallow(value)
    return value


_TOO_DEEP = f"it is nested deeper than {MOST_LEVELS} levels"


def _refuse_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"the number {text[:20]} is beyond what can be computed with")
    return number


def _outside_strings(raw: bytes) -> bytes:
    """What of JSON stands outside of strings, or all of it where one has an escaped character."""
    return raw if b"\\" in raw else b'"'.join(raw.split(b'"')[::2])


def _in_words(reason: ValueError) -> str:
    if isinstance(reason, json.JSONDecodeError):
        return f"{reason.msg}: line {reason.lineno} column {reason.colno}"
    if isinstance(reason, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {reason.start}"
    return "an integer has more than 4,300 digits"


def require_shallow(value: Any) -> None:
    """JsonError: a value is nested deeper than MOST_LEVELS."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [
            inside
            for outside in level
            if isinstance(outside, list | dict)
            for inside in (outside.values() if isinstance(outside, dict) else outside)
        ]
        if not level:
            return
    raise JsonError(_TOO_DEEP)
