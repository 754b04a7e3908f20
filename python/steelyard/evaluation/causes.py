"""Reads the causes beside the verdict: what a transaction cost the server, as contrasts.

Each cause is a count per transaction of an epoch, so it has one log ratio an epoch and an interval
that holds jointly with those of all other causes. They explain a verdict; they do not decide it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.decision.part_differences import part_differences
from steelyard.analysis.decision.secondary import SecondaryContrast, secondary_contrasts
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.readings import SERVER_CPU, EpochTotals, Reading, known_values
from steelyard.record.verdict import Cause, Counted, Pages

FEWEST_PAGES = 0.01
"""Pages read per transaction below which a cost per page would be noise divided by nothing."""
MORE_LOG = 100.0
"""Bytes of log that the verifying arm writes more for each page it reads, above which images are in
its processor time."""

BLOCKS_READ = "blocks_read"
_BLOCKS = frozenset({BLOCKS_READ, "blocks_written"})
_EXTENDED = "blocks_extended"
"""Before PostgreSQL 16 a server counts what a relation was extended by among the blocks that were
read and written, and not by itself."""


def metric_of(reading: str) -> str:
    """The name of a reading as a cause."""
    return f"{reading}_per_transaction"


def cause_read(name: str) -> Read:
    """A reading over the transactions of its span; NaN where it is missing, and for processor time
    that was not read."""

    def read(epoch: EpochTotals, arm: str) -> float:
        amount = epoch.per_transaction(arm, name)
        return math.nan if name == SERVER_CPU and not amount else amount

    return read


def _cause_reads(epochs: Sequence[EpochTotals], control: str, arm: str) -> dict[str, Read]:
    """Name → read, of the readings that are shown as causes and that both arms count alike, in the
    order of their sources."""
    extended = _EXTENDED in known_values(_readings(epochs, control))
    alike = extended == (_EXTENDED in known_values(_readings(epochs, arm)))
    return {
        reading.name: cause_read(reading.name)
        for reading in _readings(epochs, control)
        if reading.per_transaction and (alike or reading.name not in _BLOCKS)
    }


def _readings(epochs: Sequence[EpochTotals], arm: str) -> list[Reading]:
    """Those of an arm in every epoch."""
    return [reading for epoch in epochs for reading in epoch.readings.get(arm, {}).values()]


def cause_contrasts(
    epochs: Sequence[EpochTotals], control: str, arm: str
) -> dict[str, SecondaryContrast]:
    """Reading → contrast, of the causes that every complete epoch has; joint intervals."""
    reads = _cause_reads(epochs, control, arm)
    return {contrast.name: contrast for contrast in epoch_contrasts(epochs, control, arm, reads)}


def cause_rows(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Cause]:
    """The cause table of one contrast."""
    units = {
        name: reading.unit for e in epochs for name, reading in e.readings.get(control, {}).items()
    }
    reads = _cause_reads(epochs, control, arm)
    names = {name: (metric_of(name), units[name]) for name in reads}
    rows = counted_rows(epochs, control, arm, reads, names)
    return [Cause(**row.model_dump(exclude_unset=True)) for row in rows.values()]


def counted_rows(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    reads: Mapping[str, Read],
    names: Mapping[str, tuple[str, str]],
) -> dict[str, Counted]:
    """Key → its row, of what every epoch has: a ratio, or where an arm has none of it the
    difference. `names`: key → metric and unit."""
    contrasts = {
        contrast.name: contrast for contrast in epoch_contrasts(epochs, control, arm, reads)
    }
    without = {name: reads[name] for name, contrast in contrasts.items() if contrast.note}
    apart = _differences(epochs, control, arm, without)
    rows = {}
    for name, contrast in contrasts.items():
        none = contrast.control_value == 0 and contrast.arm_value == 0
        note = "none in either arm" if none and contrast.note else contrast.note
        metric, unit = names[name]
        rows[name] = Counted.model_validate(
            {
                "metric": metric,
                "unit": unit,
                **compared(contrast, control, arm),
                "control_value": contrast.control_value,
                "arm_value": contrast.arm_value,
                **({"note": note} if contrast.note else {}),
                **apart.get(name, {}),
            }
        )
    return rows


def _differences(
    epochs: Sequence[EpochTotals], control: str, arm: str, reads: Mapping[str, Read]
) -> dict[str, dict[str, float]]:
    """Name → the keys of its difference with joint intervals, of those that are not 0 in both
    arms."""
    differences = part_differences(
        {name: [read(epoch, control) for epoch in epochs] for name, read in reads.items()},
        {name: [read(epoch, arm) for epoch in epochs] for name, read in reads.items()},
    )
    return {
        part.name: {
            "difference": part.difference,
            "difference_low": part.interval.low,
            "difference_high": part.interval.high,
        }
        for part in differences
        if (part.control or part.arm) and math.isfinite(part.interval.low)
    }


def page_cost(epochs: Sequence[EpochTotals], verifying: str, other: str) -> Pages | None:
    """Pages verified per transaction, and server CPU in ns that one verified page costs.

    The arm that verifies minus the one that does not, per page that the former read: the figure
    that carries over to another hit ratio. None where too few pages were read, and where the
    verifying arm also logs more: then a page's image is most of it, and no verification.
    """
    cpu_us, blocks = cause_read(SERVER_CPU), cause_read(BLOCKS_READ)
    pages = [blocks(epoch, verifying) for epoch in epochs]
    spent_us = [cpu_us(epoch, verifying) - cpu_us(epoch, other) for epoch in epochs]
    if not pages or not all(page > FEWEST_PAGES for page in pages):
        return None
    log = cause_read("wal_bytes")
    logged = [log(epoch, verifying) - log(epoch, other) for epoch in epochs]
    if np.nanmean([more / page for more, page in zip(logged, pages, strict=True)]) > MORE_LOG:
        return None
    costs = np.array([1000 * us / page for us, page in zip(spent_us, pages, strict=True)])
    if not np.isfinite(costs).all() or len(costs) < 2:
        return None
    enough = len(costs) >= FEWEST_FOR_VERDICT
    interval = confidence_set(costs, 0.05).interval if enough else t_interval(costs)
    return Pages(
        verified_per_transaction=float(np.mean(pages)),
        nanoseconds_per_page=float(np.mean(costs)),
        low=interval.low,
        high=interval.high,
        confidence=0.95,
        verifying=verifying,
    )


def complete(epochs: Sequence[EpochTotals]) -> list[EpochTotals]:
    """The epochs that both arms survived: the others have no causes."""
    return [epoch for epoch in epochs if epoch.outcome == "complete"]


Read = Callable[[EpochTotals, str], float]
"""The value of an arm in an epoch; NaN where it is missing."""


def epoch_contrasts(
    epochs: Sequence[EpochTotals], control: str, arm: str, reads: Mapping[str, Read]
) -> tuple[SecondaryContrast, ...]:
    """The contrasts of an arm with the control, of what every epoch has, in the order given."""
    columns: dict[str, tuple[list[float], list[float]]] = {}
    for name, read in reads.items():
        of_control = [read(epoch, control) for epoch in epochs]
        of_arm = [read(epoch, arm) for epoch in epochs]
        if epochs and all(map(math.isfinite, [*of_control, *of_arm])):
            columns[name] = (of_control, of_arm)
    return secondary_contrasts(columns)


def compared(secondary: SecondaryContrast, control: str, arm: str) -> dict[str, str | float | None]:
    """The keys of a row (record/verdict.py, Compared): what is compared is named by the caller."""
    return {
        "arm": arm,
        "control": control,
        **percent_ends(secondary.estimate),
        "confidence": secondary.estimate.confidence,
    }
