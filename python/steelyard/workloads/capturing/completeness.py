"""Counts what shows that a log lacks statements: none of it was quick, or transactions are in it
without their BEGIN."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from steelyard.workloads.capturing.leading_words import leading_words
from steelyard.workloads.capturing.memory import RecentSessions

_SLOW_MS = 5.0
_FEWEST_UNBEGUN, _UNBEGUN_SHARE = 10, 0.05
_READS = {"select", "begin", "start", "commit"}
"""First words of what log_statement logs as `all` alone: the quick ones are then in the log."""


@dataclass
class Completeness:
    """Counts of a log's statements and transactions."""

    least_ms: float = math.inf
    """Of the durations of statements that are in the log; without any, infinity."""
    untimed_reads: int = 0
    begun: int = 0
    """Transactions whose BEGIN is in the log."""
    unbegun: int = 0
    """Those whose BEGIN is not, though something of their session before it is."""
    _sessions: RecentSessions = field(default_factory=RecentSessions)
    """Of which a transaction has ended in the log."""

    def note_statement(self, text: str, duration_ms: float | None) -> None:
        """Count a statement; None: the log does not say how long it took."""
        if duration_ms:
            self.least_ms = min(self.least_ms, duration_ms)
        elif duration_ms is None:
            self.untimed_reads += not _READS.isdisjoint(leading_words(text)[:1])

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
    def is_partial(self) -> bool:
        """Whether the log seems to have some statements of its transactions alone, as one has
        that is a sample."""
        total = self.begun + self.unbegun
        return self.unbegun >= _FEWEST_UNBEGUN and self.unbegun > _UNBEGUN_SHARE * total
