"""Protocols of what servers count and time: counters, waits, plans, statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from steelyard.engines.engine import Settings
from steelyard.model.readings import StatementCounts

if TYPE_CHECKING:
    from steelyard.model.process import TreeUse
    from steelyard.model.readings import Kind, Sample, WaitPart


@dataclass(frozen=True)
class SessionWaits:
    """Sessions that were seen at work, summed over all samples."""

    active: int
    log_flush: int  # of them, those that waited for the write-ahead log to reach the disk


@dataclass(frozen=True)
class SampledWait:
    """Sessions that were at work and waited for one thing at one moment."""

    event: str  # in the engine's own words: "LWLock:WALWrite"
    part: WaitPart
    sessions: int


@runtime_checkable
class Observable(Protocol):
    """The use of its process tree can be measured from outside."""

    def use(self) -> TreeUse:
        """Processor time and I/O of the whole process tree so far."""


@runtime_checkable
class Countable(Protocol):
    """Reports cumulative counters of its work."""

    @property
    def counter_kinds(self) -> Sequence[Kind]:
        """What it counts, in the order in which it is shown."""

    def counters(self, database: str) -> Sample:
        """What the server counted so far, once the load's connections have closed."""


class WaitWatch(Protocol):
    """Sampling of waits under way."""

    def stop(self) -> SessionWaits:
        """End the sampling; what was seen."""


class WaitProbe(Protocol):
    """An open session that sees what all others wait for."""

    def sample(self) -> Sequence[SampledWait]:
        """Sessions at work now, by what they wait for; EngineError: the server has gone."""

    def close(self) -> None:
        """Disconnect; safe to call twice."""


@runtime_checkable
class Waits(Protocol):
    """What its sessions wait for can be sampled."""

    def wait_probe(self, database: str) -> WaitProbe:
        """Look at single moments; EngineError where that is not allowed."""

    def watch_waits(self, database: str) -> WaitWatch:
        """Begin to sample, beside the load."""


@runtime_checkable
class Plans(Protocol):
    """Explains how it would execute statements."""

    def plans(self, database: str, scripts: Mapping[str, str]) -> Mapping[str, str]:
        """`script: statement` → its plan, of each statement in the scripts (name → text)."""


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
class ArchivedLog(Protocol):
    """Tells what an archive of the log that it writes would take."""

    def log_segment(self) -> str:
        """The file of its log that it writes now, by name."""

    def archive_share(self, first: str, last: str) -> float | None:
        """Bytes that gzip makes of a byte of the log between two such files; None: there is no
        whole file of it."""


@runtime_checkable
class CountedTransactions(Protocol):
    """Counts the transactions of a database, of all sessions together."""

    def counted_in(self) -> Sequence[str]:
        """Identifies that database: equal for two addresses of one."""

    def ended_transactions(self) -> int | None:
        """Committed or rolled back so far, every one of the load's once it has gone; None: it is
        not counted, or sessions of the load are still there."""
