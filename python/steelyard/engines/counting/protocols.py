"""Protocols of servers that count or time more than they do by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from steelyard.engines.engine import Settings
from steelyard.model.statements import StatementCounts


@runtime_checkable
class StatementCounting(Protocol):
    """An engine whose servers can count what each statement costs."""

    def statement_counting(self, settings: Settings) -> Settings:
        """What is to be set beside an arm's own settings."""


@runtime_checkable
class LogTiming(Protocol):
    """An engine whose servers can time what sessions write and sync of the log."""

    def log_timing(self, settings: Settings) -> Settings:
        """What is to be set beside an arm's own settings, which stay as they are."""


@runtime_checkable
class CountedStatements(Protocol):
    """Counts log and blocks of each statement."""

    def prepare_statement_counts(self) -> None:
        """Before the load connects; EngineError: its build cannot."""

    def statement_counts(self, database: str) -> StatementCounts:
        """What the load's statements in a database did so far, each complete when it ends."""


@runtime_checkable
class CountedTransactions(Protocol):
    """Counts the transactions of a database, of all sessions together."""

    def counted_in(self) -> Sequence[str]:
        """Identifies that database: equal for two addresses of one."""

    def ended_transactions(self) -> int | None:
        """Committed or rolled back so far, every one of the load's once it has gone; None: it is
        not counted, or sessions of the load are still there."""
