"""Makes logs readable several times (a pipe is not), and refuses the same entries twice."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry

_STANDARD_INPUT = Path("-")
_COMPARED = 50
"""First entries of a log that are looked for in the ones before it."""
_READ = 5000
"""So many are read to find them."""
_SAME_SHARE = 0.75


@dataclass(frozen=True)
class LogSource:
    """A log."""

    name: Path  # as it was named
    path: Path  # a file that can be opened again


@contextmanager
def sources(paths: Sequence[Path]) -> Iterator[list[LogSource]]:
    """The logs; of pipes, and of standard input (`-`), copies that are gone at the end.

    UsageError: a file is named twice, or a pipe cannot be copied.
    """
    with tempfile.TemporaryDirectory(prefix="steelyard-log-") as folder:
        opened = [
            LogSource(path, _file(path, Path(folder) / str(number)))
            for number, path in enumerate(paths)
        ]
        _require_different(opened)
        yield opened


def _file(path: Path, copy: Path) -> Path:
    if path != _STANDARD_INPUT and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    try:
        with copy.open("wb") as into:
            if path == _STANDARD_INPUT:
                shutil.copyfileobj(sys.stdin.buffer, into)
            else:
                with path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, into)
    except OSError as error:
        raise UsageError(f'could not copy log "{path}": {error.strerror or error}') from error
    return copy


def _require_different(opened: Sequence[LogSource]) -> None:
    places: dict[tuple[int, int], int] = {}
    for place, source in enumerate(opened):
        try:
            stat = os.stat(source.path)
        except OSError:
            continue  # said when it is opened
        first = places.setdefault((stat.st_dev, stat.st_ino), place)
        if first != place:
            other = opened[first].name
            raise UsageError(
                f'log "{source.name}" is named twice',
                detail=None if other == source.name else f'"{other}" is the same file.',
            )


_Mark = tuple[int, str, str, str]
"""What an entry has in every format: csvlog beside stderr has all of them again."""


def _mark(entry: LogEntry) -> _Mark:
    # A session is its begin and its process in hexadecimal digits: 6563.1a
    _, dot, process = entry.session.rpartition(".")
    if dot:
        with suppress(ValueError):
            process = str(int(process, 16))
    return int(entry.seconds), process, entry.message, entry.detail


class Copies:
    """Refuses a log whose first entries are in one that was read before it."""

    def __init__(self, heads: Sequence[tuple[Path, Sequence[LogEntry]]]) -> None:
        """Of each log its name and `head_of` it, in the order in which they are read."""
        self._names = [name for name, _ in heads]
        self._expected = [Counter(map(_mark, entries[1:])) for _, entries in heads]
        self._least = [(1 - _SAME_SHARE) * marks.total() for marks in self._expected]
        self._seconds = {mark[0] for marks in self._expected for mark in marks}

    def require_new(self, entry: LogEntry, at: int) -> None:
        """An entry of the log in place `at`. UsageError: a later log begins with what is in it."""
        if int(entry.seconds) not in self._seconds or not entry.whole:
            return
        mark = _mark(entry)
        for place in range(at + 1, len(self._expected)):
            expected = self._expected[place]
            if not expected[mark]:
                continue
            expected[mark] -= 1
            if expected.total() <= self._least[place]:
                raise UsageError(
                    f'logs "{self._names[at]}" and "{self._names[place]}" have the same entries',
                    detail="What was logged twice would be driven twice.",
                    hint="Name one of them.",
                )


def head_of(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """Of a log the first entry, and those that tell it from others: of later seconds than the
    first one, if it has them, for in that the log before it may end."""
    first, later = list[LogEntry](), list[LogEntry]()
    for entry in islice(entries, _READ):
        if entry.whole and entry.seconds:
            is_later = bool(first) and int(entry.seconds) > int(first[0].seconds)
            (later if is_later else first).append(entry)
            if len(later) == _COMPARED:
                break
    return [*first[:1], *(later or first)]
