"""Checks whether the arms did the work they were timed for: rows returned and rows changed.

A built-in script says how many rows a transaction must return, and the driver counts those that
did not. A script of the user has no such number; what can be checked is that all arms do the same,
and that it is not nothing. The driver counts the rows that came back, the server those that were
changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.sign_flip import p_value
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_digits, format_percent, percent_of_log
from steelyard.record.environment import Inspection

FEWEST_ROWS = 0.001
"""Rows a transaction below which nothing was done: a server changes a few rows of its own."""
MOST_UNLIKE = 0.01
"""By how much the rows a transaction returns may differ between arms that only read. Keys are drawn
at random, and so may be the number of rows that they find."""
UNLIKELY = 0.01
MOST_UNSTARTED = 0.01
"""Share of the arrivals of an arm that may not have begun when their slices ended."""


@dataclass(frozen=True)
class _Done:
    """What an arm did in all epochs that have it."""

    transactions: int
    rows: float  # a transaction, returned and changed


def arrival_threats(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Threat]:
    """Arrivals that an arm did not come to: they would have been its latest."""
    for name in (control, arm):
        totals = [epoch.arms[name] for epoch in epochs]
        unstarted = sum(arm_totals.unstarted for arm_totals in totals)
        arrived = unstarted + sum(
            arm_totals.transactions + arm_totals.failed for arm_totals in totals
        )
        if arrived and unstarted > MOST_UNSTARTED * arrived:
            yield raise_threat(
                ThreatKind.BEHIND_ARRIVALS,
                f"{100 * unstarted / arrived:.1f} % of {arrived} arrivals had not begun in {name} "
                "when their slice ended",
            )


def work_threats(
    epochs: Sequence[EpochTotals], control: str, arm: str, inspection: Inspection
) -> Iterator[Threat]:
    """Work that was not done, or not alike."""
    if not inspection.statements:
        return
    done = {name: _done(epochs, name, writes=inspection.writes) for name in (control, arm)}
    ours, theirs = done[control], done[arm]
    if ours is None or theirs is None:
        return
    idle = [name for name, work in ((control, ours), (arm, theirs)) if work.rows < FEWEST_ROWS]
    if len(idle) == 2:
        many = ours.transactions + theirs.transactions
        observation = (
            f"not one row was returned or changed in {many} transactions of {control} and {arm}"
        )
        yield raise_threat(ThreatKind.WRONG_ANSWER, observation)
    elif idle:
        [name] = idle
        other = theirs if name == control else ours
        theirs_each = format_digits(other.rows, 3)
        observation = (
            f"{name} returned and changed no row, the other arm {theirs_each} rows a transaction"
        )
        yield raise_threat(ThreatKind.WRONG_ANSWER, observation)
    elif not inspection.writes:
        yield from _unlike(epochs, control, arm)


def _unlike(epochs: Sequence[EpochTotals], control: str, arm: str) -> Iterator[Threat]:
    """Arms that only read, on the same rows, find as many of them."""
    pairs = [(_returned(epoch, arm), _returned(epoch, control)) for epoch in epochs]
    logs = np.array([math.log(a / b) for a, b in pairs if a and b])
    if len(logs) < FEWEST_FOR_VERDICT:
        return
    change = float(logs.mean())
    if abs(change) > MOST_UNLIKE and p_value(logs) <= UNLIKELY:
        observation = (
            f"a transaction of {arm} returned {format_percent(percent_of_log(change))} rows "
            f"against {control}, and both only read"
        )
        yield raise_threat(ThreatKind.WRONG_ANSWER, observation)


def _returned(epoch: EpochTotals, arm: str) -> float:
    """Rows a transaction returned; 0 where none ended or the record does not have them."""
    totals = epoch.arms[arm]
    return (totals.rows or 0) / totals.transactions if totals.transactions else 0.0


def _done(epochs: Sequence[EpochTotals], arm: str, *, writes: bool) -> _Done | None:
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
    return _Done(transactions, returned / transactions + (changed / of_all if of_all else 0.0))
