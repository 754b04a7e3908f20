"""Reads the causes beside the verdict: what a transaction cost the server, as contrasts.

Each cause is a count per transaction of an epoch, so it has one log ratio an epoch and an interval
that holds jointly with those of all other causes. They explain a verdict; they do not decide it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.secondary import SecondaryContrast
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.evaluation.epoch_contrasts import Read, contrast_row, contrasts
from steelyard.model.readings import EpochTotals

Json = dict[str, Any]
FEWEST_PAGES = 0.01
"""Pages read per transaction below which a cost per page would be noise divided by nothing."""


@dataclass(frozen=True)
class Cause:
    """One cause: its name, unit, and how it is read from an epoch of an arm."""

    metric: str
    unit: str
    read: Read


def _cpu_us(epoch: EpochTotals, arm: str) -> float:
    """Processor time of the arm's whole process tree over the measured slices, in µs."""
    done = epoch.transactions_measured.get(arm) or epoch.arms[arm].transactions
    used_ns = epoch.cpu_ns.get(arm, 0)
    return used_ns / 1000 / done if done and used_ns else math.nan


def _counter(name: str) -> Read:
    """A server counter per transaction, both over the whole epoch: the server counts no slices."""

    def read(epoch: EpochTotals, arm: str) -> float:
        done = epoch.transactions_all.get(arm, 0)
        amount = epoch.counters.get(arm, {}).get(name)
        return math.nan if amount is None or not done else amount / done

    return read


BLOCKS_READ = _counter("blocks_read")
CAUSES = (
    Cause("server_cpu_us_per_transaction", "µs", _cpu_us),
    Cause("wal_bytes_per_transaction", "bytes", _counter("wal_bytes")),
    Cause("full_page_images_per_transaction", "images", _counter("wal_fpi")),
    Cause("blocks_read_per_transaction", "blocks", BLOCKS_READ),
    Cause("blocks_written_per_transaction", "blocks", _counter("blocks_written")),
)


def cause_contrasts(
    epochs: Sequence[EpochTotals], control: str, arm: str
) -> dict[str, SecondaryContrast]:
    """Metric → contrast, of the causes that every complete epoch tells; joint intervals."""
    reads = {cause.metric: cause.read for cause in CAUSES}
    return {one.name: one for one in contrasts(epochs, control, arm, reads)}


def cause_rows(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Json]:
    """The cause table of one contrast as verdict.json keeps it."""
    units = {cause.metric: cause.unit for cause in CAUSES}
    rows = []
    for metric, found in cause_contrasts(epochs, control, arm).items():
        none = found.control_value == 0 and found.arm_value == 0
        row = {"metric": metric, "unit": units[metric], **contrast_row(found, control, arm)}
        if found.note:
            row["note"] = "none in either arm" if none else found.note
        rows.append(row)
    return rows


def page_cost(epochs: Sequence[EpochTotals], verifying: str, other: str) -> Json | None:
    """Pages verified per transaction, and server CPU in ns that one verified page costs.

    The arm that verifies minus the one that does not, per page that the former read: the figure
    that carries over to another hit ratio. None where too few pages were read to tell.
    """
    pages = [BLOCKS_READ(epoch, verifying) for epoch in epochs]
    spent_us = [_cpu_us(epoch, verifying) - _cpu_us(epoch, other) for epoch in epochs]
    if not pages or not all(page > FEWEST_PAGES for page in pages):
        return None
    costs = np.array([1000 * us / page for us, page in zip(spent_us, pages, strict=True)])
    if not np.isfinite(costs).all() or len(costs) < 2:
        return None
    known = len(costs) >= FEWEST_FOR_VERDICT
    interval = confidence_set(costs, 0.05).interval if known else t_interval(costs)
    return {
        "verified_per_transaction": float(np.mean(pages)),
        "nanoseconds_per_page": float(np.mean(costs)),
        "low": interval.low,
        "high": interval.high,
        "confidence": 0.95,
        "verifying": verifying,
    }


def complete(epochs: Sequence[EpochTotals]) -> list[EpochTotals]:
    """The epochs that both arms survived: the others have no cause to tell."""
    return [epoch for epoch in epochs if epoch.outcome == "complete"]
