"""Checks whether the arms did the work they were timed for: rows returned and rows changed, and
whether their standbys follow it.

A built-in script says how many rows a transaction must return, and the driver counts those that
did not. A script of the user has no such number; what can be checked is that all arms do the same,
and that it is not nothing. The driver counts the rows that came back, the server those that were
changed. How far standbys were behind is read at the end of each epoch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.sign_flip import p_value
from steelyard.model.readings import REPLAY_LAG_BYTES, REPLAY_LAG_MS, EpochTotals
from steelyard.model.threat import Observation, ThreatKind
from steelyard.record.environment import Inspection
from steelyard.record.verdict import StandbyLag

FEWEST_ROWS = 0.001
"""Rows a transaction below which nothing was done: a server changes a few rows of its own."""
MOST_UNLIKE = 0.01
"""By how much the rows a transaction returns may differ between arms that only read. Keys are drawn
at random, and so may be the number of rows that they find."""
UNLIKELY = 0.01
MOST_UNSTARTED = 0.01
"""Share of the arrivals of an arm that may not have begun when their slices ended."""
BEHIND_BYTES = 16 << 20
"""A segment of log, in the median epoch: some slices of work, and not what is just under way."""


@dataclass(frozen=True, slots=True)
class ArrivalsNotBegun(Observation):
    """An arm did not come to arrivals before their slice ended."""

    kind: ClassVar[ThreatKind] = ThreatKind.BEHIND_ARRIVALS
    arm: str
    unstarted: int
    arrived: int


@dataclass(frozen=True, slots=True)
class NoRowAtAll(Observation):
    """Neither arm returned or changed a row."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    control: str
    transactions: int
    """Of both."""


@dataclass(frozen=True, slots=True)
class NoRowOfArm(Observation):
    """An arm returned and changed no row, and the other did."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    rows_of_other: float
    """A transaction."""


@dataclass(frozen=True, slots=True)
class RowsUnlike(Observation):
    """Arms that only read returned different numbers of rows."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRONG_ANSWER
    arm: str
    control: str
    log_ratio: float
    """Of the rows a transaction."""


@dataclass(frozen=True)
class _WorkTotals:
    """What an arm did in all epochs that have it."""

    transactions: int
    rows: float  # a transaction, returned and changed


def arrival_threats(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Observation]:
    """Arrivals that an arm did not come to: they would have been its latest."""
    for name in (control, arm):
        totals = [epoch.arms[name] for epoch in epochs]
        unstarted = sum(arm_totals.unstarted for arm_totals in totals)
        arrived = unstarted + sum(
            arm_totals.transactions + arm_totals.failed for arm_totals in totals
        )
        if arrived and unstarted > MOST_UNSTARTED * arrived:
            yield ArrivalsNotBegun(name, unstarted, arrived)


def work_threats(
    epochs: Sequence[EpochTotals], control: str, arm: str, inspection: Inspection
) -> Iterator[Observation]:
    """Work that was not done, or not alike."""
    if not inspection.statements:
        return
    done = {name: _work_totals(epochs, name, writes=inspection.writes) for name in (control, arm)}
    ours, theirs = done[control], done[arm]
    if ours is None or theirs is None:
        return
    idle = [name for name, work in ((control, ours), (arm, theirs)) if work.rows < FEWEST_ROWS]
    if len(idle) == 2:
        yield NoRowAtAll(arm, control, ours.transactions + theirs.transactions)
    elif idle:
        [name] = idle
        other = theirs if name == control else ours
        yield NoRowOfArm(name, other.rows)
    elif not inspection.writes:
        yield from _unlike(epochs, control, arm)


def _unlike(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Observation]:
    """Arms that only read, on the same rows, find as many of them."""
    pairs = [(_returned(epoch, arm), _returned(epoch, control)) for epoch in epochs]
    logs = np.array([math.log(a / b) for a, b in pairs if a and b])
    if len(logs) < FEWEST_FOR_VERDICT:
        return
    change = float(logs.mean())
    if abs(change) > MOST_UNLIKE and p_value(logs) <= UNLIKELY:
        yield RowsUnlike(arm, control, change)


def _returned(epoch: EpochTotals, arm: str) -> float:
    """Rows a transaction returned; 0 where none ended or the record does not have them."""
    totals = epoch.arms[arm]
    return (totals.rows or 0) / totals.transactions if totals.transactions else 0.0


def _work_totals(epochs: Sequence[EpochTotals], arm: str, *, writes: bool) -> _WorkTotals | None:
    """None where no transaction ended, or the record does not have them: changed rows are known
    only where the server's counters are the arm's."""
    returned = transactions = 0
    changed, of_all = 0.0, 0
    for epoch in epochs:
        totals, moved = epoch.arms[arm], epoch.amount(arm, "rows_changed")
        if totals.rows is None:
            return None
        returned += totals.rows
        transactions += totals.transactions
        if not math.isnan(moved):
            changed += moved
            of_all += epoch.transactions_all.get(arm, 0)
    if not transactions or (writes and not of_all):
        return None
    rows = returned / transactions + (changed / of_all if of_all else 0.0)
    return _WorkTotals(transactions, rows)


@dataclass(frozen=True, slots=True)
class StandbyBehind(Observation):
    """A standby did not follow the work of its arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.STANDBY_BEHIND
    arm: str
    log_bytes: float
    """Not replayed, at the end of the median epoch."""
    age_ms: float
    """Of the last transaction that it had replayed, likewise."""


def standby_lags(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> list[StandbyLag]:
    """Of each arm that has standbys, over the epochs that were read."""
    return [lag for arm in arms for lag in _lag_of(epochs, arm)]


def behind_threats(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> Iterator[Observation]:
    """For each arm whose standby was a segment of log behind in most epochs."""
    for lag in standby_lags(epochs, arms):
        if lag.bytes_median > BEHIND_BYTES:
            yield StandbyBehind(lag.arm, lag.bytes_median, lag.ms_median)


def _lag_of(epochs: Sequence[EpochTotals], arm: str) -> Iterator[StandbyLag]:
    amounts = {
        name: [value for epoch in epochs if not math.isnan(value := epoch.amount(arm, name))]
        for name in (REPLAY_LAG_BYTES, REPLAY_LAG_MS)
    }
    log_bytes, ages_ms = amounts[REPLAY_LAG_BYTES], amounts[REPLAY_LAG_MS]
    if log_bytes and ages_ms:
        yield StandbyLag(
            arm=arm,
            bytes_median=statistics.median(log_bytes),
            bytes_most=max(log_bytes),
            ms_median=statistics.median(ages_ms),
            ms_most=max(ages_ms),
            epochs=len(log_bytes),
        )
