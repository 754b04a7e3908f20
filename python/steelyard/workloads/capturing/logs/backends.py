"""Refuses logs whose sessions do what no process of a server does: one statement within another, or
lines that are not counted upward. They are of two servers, in no order, or twice in the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.memory import MOST_SESSIONS

_STEP = re.compile(r"duration: (?P<ms>\d+(?:\.\d+)?) ms(?:$|  (?!plan:))")
"""What auto_explain writes is of a statement that goes on."""
_EARLIER_S = 0.003
"""Times are cut to milliseconds."""
_MOST_EARLIER, _EARLIER_SHARE = 5, 0.01
_FEWEST_LOWER = 2
_UNTIMED = ("statement: ", "execute ")
_FEWEST_RUNS, _ODD_SHARE = 20, 0.02
"""So many runs that are the same tell that all are doubled: of one's own doing some are not."""


@dataclass
class _Backends:
    """What is known of sessions by their entries so far."""

    path: str
    _ended: dict[str, float] = field(default_factory=dict)
    """When the latest statement of each session ended."""
    timed: int = 0
    within: int = 0
    """Statements that began well before the one before them in their session ended."""

    def note(self, entry: LogEntry) -> None:
        """Count an entry."""
        if not (entry.session and entry.whole and entry.exact) or entry.received or entry.context:
            return
        match = _STEP.match(entry.message) if entry.severity == "LOG" else None
        if match is None or entry.of_worker:
            return
        before = self._ended.pop(entry.session, None)
        self._ended[entry.session] = entry.seconds
        if len(self._ended) > MOST_SESSIONS:
            del self._ended[next(iter(self._ended))]
        self.timed += 1
        # Where the clock was set back, the time between them is not known.
        if before is not None and entry.seconds >= before:
            begun = entry.seconds - float(match["ms"]) / 1000
            self.within += begun < before - _EARLIER_S

    def require_one_server(self) -> None:
        """UsageError: more statements than a few are within another one of their session."""
        if self.within > max(_MOST_EARLIER, _EARLIER_SHARE * self.timed):
            raise UsageError(
                f"could not read log {self.path}: it has lines of several servers",
                detail=f"{self.within} of {self.timed} statements began before the one before them "
                "in their session ended.",
                hint="Name the log of one: their processes have the same numbers, and nothing else "
                "tells their lines apart (%c in log_line_prefix does).",
            )


@dataclass
class _Numbers:
    """The numbers by which servers count what a session writes: session_line_num, %l, syslog's."""

    path: str
    rises: bool = False
    """Whether one was higher than the one before it: else they are no numbers of lines."""
    lower: int = 0
    """Those that were not, within a second, in sessions that a process number alone names."""
    _latest: dict[str, LogEntry] = field(default_factory=dict)
    _first: tuple[LogEntry, LogEntry] | None = None
    """The first that was not higher, behind the one before it."""

    def note(self, entry: LogEntry) -> None:
        """UsageError: an entry is in the log again, or behind one that was written later."""
        if not (entry.number and entry.session) or entry.other_format:
            return
        before = self._latest.pop(entry.session, None)
        self._latest[entry.session] = entry
        if len(self._latest) > MOST_SESSIONS:
            del self._latest[next(iter(self._latest))]
        if before is None:
            return
        self.rises = self.rises or entry.number > before.number
        if self._is_lower(before, entry):
            self._first = self._first or (before, entry)
        if self.rises and self._first is not None:
            self._refuse(*self._first)

    def _is_lower(self, before: LogEntry, entry: LogEntry) -> bool:
        if entry.number > before.number:
            return False
        if "." in entry.session:  # its begin and its process, which no other has
            return True
        # Another process with that number begins at 1, or later: its first lines may be missing.
        # What syslog counted instead of repeating it has one number and no time.
        is_next = entry.number == 1 or abs(entry.seconds - before.seconds) >= 1
        self.lower += not is_next and entry.exact
        return self.lower >= _FEWEST_LOWER

    def _refuse(self, before: LogEntry, entry: LogEntry) -> None:
        raise UsageError(
            f"could not read log {self.path}: its entries are in no order, twice in it, or of "
            "several servers",
            detail=f"Line {entry.number} of session {entry.session} comes behind its line "
            f"{before.number}.",
            hint="A table is written in order by ORDER BY log_time, session_id, session_line_num, "
            "jsonlog by jq -cs 'unique_by(.session_id, .line_num) | sort_by(.timestamp)[]' LOG > "
            "NEW.",
        )


@dataclass
class _Doubles:
    """Runs of entries of a session that are the same to their times: where all are of two, four or
    six, what carried the log wrote every line twice."""

    path: str
    runs: int = 0
    odd: int = 0
    _latest: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each session a hash of its latest entry, and how many there were of it."""

    def note(self, entry: LogEntry) -> None:
        """Count an entry of a statement that has no number, which would tell it from another."""
        if entry.number or not (entry.session and entry.seconds and entry.whole):
            return
        if _STEP.match(entry.message) is None and not entry.message.startswith(_UNTIMED):
            return
        key = hash((entry.seconds, entry.message, entry.detail))
        before, count = self._latest.pop(entry.session, (key, 0))
        if before != key:
            self._end(count)
            count = 0
        self._latest[entry.session] = key, count + 1
        if len(self._latest) > MOST_SESSIONS:
            self._end(self._latest.pop(next(iter(self._latest)))[1])

    def _end(self, count: int) -> None:
        self.runs += 1
        self.odd += count % 2

    def require_single(self) -> None:
        """UsageError: the log has everything twice."""
        for _, count in self._latest.values():
            self._end(count)
        if self.runs >= _FEWEST_RUNS and self.odd <= _ODD_SHARE * self.runs:
            raise UsageError(
                f"could not read log {self.path}: it has every entry twice",
                detail="Entries of statements come in pairs that are the same to their times.",
                hint="What carried the log wrote its lines twice, or two did: name what one of "
                "them wrote, or the server's own files.",
            )


def of_backends(paths: Sequence[Path], entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """The entries of logs, as they come. UsageError: those of a session cannot be one's."""
    names = ", ".join(f'"{path}"' for path in paths)
    backends, numbers, doubles = _Backends(names), _Numbers(names), _Doubles(names)
    for entry in entries:
        backends.note(entry)
        numbers.note(entry)
        doubles.note(entry)
        yield entry
    doubles.require_single()
    backends.require_one_server()
