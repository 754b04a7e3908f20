"""Counts what shows that a log lacks statements: none of it was quick, none of it reads,
transactions are in it without their BEGIN, or the numbers of its entries have gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from steelyard.workloads.capturing.leading_words import leading_words
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.memory import MOST_SESSIONS, RecentSessions

_SLOW_MS = 5.0
_FEWEST_UNBEGUN, _UNBEGUN_SHARE = 10, 0.05
_FEWEST_MISSING, _MISSING_SHARE = 10, 0.01
_FEWEST_CHANGES = 20
_READS = {
    "select", "begin", "start", "commit", "end", "rollback", "savepoint", "release", "values",
    "show", "set", "declare", "fetch",
}  # fmt: skip
_CHANGES = {"insert", "update", "delete", "merge", "truncate", "create", "alter", "drop"}
"""First words of what log_statement logs as `all` alone, and as `mod` or `ddl`: where there are the
former, the quick ones are in the log."""


@dataclass
class Completeness:
    """Counts of a log's statements and transactions."""

    least_ms: float = math.inf
    """Of the durations of statements that are in the log; without any, infinity."""
    untimed_reads: int = 0
    untimed_changes: int = 0
    begun: int = 0
    """Transactions whose BEGIN is in the log."""
    unbegun: int = 0
    """Those whose BEGIN is not, though something of their session before it is."""
    numbered: int = 0
    """Lines of entries that the server numbered, session by session."""
    missing: int = 0
    """Lines that are not in the log, though some of their session before and behind them are."""
    _numbers: dict[str, int] = field(default_factory=dict)
    """The latest one of each session."""
    _sessions: RecentSessions = field(default_factory=RecentSessions)
    """Of which a transaction has ended in the log."""

    def count_gaps(self, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
        """The entries as they come, and the gaps between their numbers: session_line_num, %l, or
        syslog's. A number that is no higher is of a next session (backends.py refuses others)."""
        for entry in entries:
            if entry.number and entry.session:
                before = self._numbers.pop(entry.session, 0)
                self._numbers[entry.session] = entry.number
                if len(self._numbers) > MOST_SESSIONS:
                    del self._numbers[next(iter(self._numbers))]
                self.numbered += entry.numbers
                if 0 < before < entry.number:
                    self.missing += max(0, entry.number - entry.numbers - before)
            yield entry

    def note_statement(self, text: str, duration_ms: float | None) -> None:
        """Count a statement; None: the log does not say how long it took."""
        if duration_ms:
            self.least_ms = min(self.least_ms, duration_ms)
        elif duration_ms is None:
            first = leading_words(text)[:1]
            self.untimed_reads += not _READS.isdisjoint(first)
            self.untimed_changes += not _CHANGES.isdisjoint(first)

    def note_transaction(self, session: str, *, has_begin: bool) -> None:
        """Count an explicit transaction. The first one of a session may have begun before the
        log."""
        if has_begin:
            self.begun += 1
        elif session in self._sessions:
            self.unbegun += 1
        self._sessions.add(session)

    @property
    def lacks_quick(self) -> bool:
        """Whether durations are in the log, and none of a quick statement."""
        return _SLOW_MS <= self.least_ms < math.inf and not self.untimed_reads

    @property
    def lacks_reads(self) -> bool:
        """Whether what log_statement logged are changes alone, as with mod and ddl."""
        return self.untimed_changes >= _FEWEST_CHANGES and not self.untimed_reads

    @property
    def lacks_entries(self) -> bool:
        """Whether entries are missing between others of their sessions, as where syslog or journald
        drop what comes too fast."""
        total = self.numbered + self.missing
        return self.missing >= _FEWEST_MISSING and self.missing > _MISSING_SHARE * total

    @property
    def is_partial(self) -> bool:
        """Whether the log seems to have some statements of its transactions alone, as one has
        that is a sample."""
        total = self.begun + self.unbegun
        return self.unbegun >= _FEWEST_UNBEGUN and self.unbegun > _UNBEGUN_SHARE * total
