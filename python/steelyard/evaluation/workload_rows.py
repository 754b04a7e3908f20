"""Reads what a workload counts of its own work, what its scripts take, and what its probes say.

Orders entered or payments made, by the server's own tables, over the time the arm was under load:
one rate an epoch and arm, and a contrast as every cause has one. They decide no verdict.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from steelyard.analysis.decision.secondary import quantile_contrasts
from steelyard.evaluation.causes import Read, compared, counted_rows, epoch_contrasts
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.units import NS_PER_S
from steelyard.record.slice import SliceLine
from steelyard.record.verdict import Latency, Lateness, ProbeCount, Query, StatementCost, Work

NS_PER_MINUTE = 60 * NS_PER_S
SHOWN_QUANTILES = (0.5, 0.95, 0.99)


def work_per_minute(
    before: Mapping[str, float], after: Mapping[str, float], lines: Iterable[SliceLine]
) -> dict[str, float]:
    """What was counted in the measured slices of one arm, over the time that they took.

    Where it counts something and transactions are of several kinds, all of these are counted too.
    The time is the slices' own, from their start until the last client was back, and what the arm
    then paid for what it had left behind: not a nominal length.
    """
    measured = [line for line in lines if line.kind == "measured"]
    under_load_ns = sum(line.end_ns - line.start_ns + line.debt_ns for line in measured)
    if under_load_ns <= 0 or not after:
        return {}
    counted = {name: count - before.get(name, 0) for name, count in after.items()}
    if len({script.name for line in measured for script in line.scripts}) > 1:
        counted["transactions"] = sum(line.transactions for line in measured)
    minutes = under_load_ns / NS_PER_MINUTE
    return {name: count / minutes for name, count in counted.items()}


def work_rows(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Work]:
    """The rates that every epoch has."""
    names = epochs[0].work_per_minute.get(control, {}) if epochs else ()
    contrasts = epoch_contrasts(epochs, control, arm, {name: _rate_of(name) for name in names})
    return [
        Work.model_validate(
            {
                "metric": f"{contrast.name}_per_minute",
                "unit": "1/min",
                **compared(contrast, control, arm),
                "control_value": contrast.control_value,
                "arm_value": contrast.arm_value,
            }
        )
        for contrast in contrasts
    ]


def _rate_of(name: str) -> Read:
    return lambda epoch, arm: epoch.work_per_minute.get(arm, {}).get(name, math.nan)


def script_rows(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Latency]:
    """Latency quantiles of each script by itself, where several are driven."""
    names = sorted({name for epoch in epochs for name in epoch.arms[control].latencies})
    if len(names) < 2:
        return []
    return [
        row
        for name in names
        for row in latency_rows(epochs, control, arm, script=name, quantiles=SHOWN_QUANTILES)
    ]


STATEMENT_COSTS = {
    "wal_bytes": "bytes",
    "full_page_images": "images",
    "blocks_read": "blocks",
}
"""What is reported of each statement, per execution, with its unit."""


def statement_cost_rows(
    epochs: Sequence[EpochTotals], control: str, arm: str
) -> list[StatementCost]:
    """What an execution of each statement cost by the server's own count, where all epochs have it
    and it is not 0 in both arms; those first that wrote most log."""
    counted = [epoch.statements[control] for epoch in epochs if control in epoch.statements]
    log: Counter[str] = Counter()
    for statements in counted:
        log.update({text: count.wal_bytes for text, count in statements.by_text.items()})
    columns = {
        f"{metric} {text}": (text, metric)
        for text, _ in log.most_common()
        for metric in STATEMENT_COSTS
    }
    reads = {key: _cost_of(text, metric) for key, (text, metric) in columns.items()}
    names = {key: (metric, STATEMENT_COSTS[metric]) for key, (_, metric) in columns.items()}
    return [
        StatementCost(statement=columns[key][0], **row.model_dump(exclude_unset=True))
        for key, row in counted_rows(epochs, control, arm, reads, names).items()
        if row.control_value or row.arm_value
    ]


def _cost_of(text: str, metric: str) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        counts = epoch.statements.get(arm)
        count = None if counts is None else counts.by_text.get(text)
        return math.nan if count is None else float(getattr(count, metric)) / count.executions

    return read


def query_rows(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Query]:
    """The time of each query in milliseconds, where each is a slice of its own, with how many were
    not finished: what fails or is given up counts with the time that it took until then. What
    is excluded from the geometric mean comes last."""
    slices = [part for epoch in epochs for part in epoch.arms[control].slices]
    excluded = {part.script: part.excluded for part in slices if part.script is not None}
    names = sorted(excluded, key=lambda name: (excluded[name], name))
    contrasts = epoch_contrasts(epochs, control, arm, {name: _query_ms_of(name) for name in names})
    return [
        Query.model_validate(
            {
                "query": contrast.name,
                "excluded": excluded[contrast.name],
                **compared(contrast, control, arm),
                "control_ms": contrast.control_value,
                "arm_ms": contrast.arm_value,
                "control_unfinished": _unfinished(epochs, control, contrast.name),
                "arm_unfinished": _unfinished(epochs, arm, contrast.name),
            }
        )
        for contrast in contrasts
    ]


def _query_ms_of(query: str) -> Read:
    def read(epoch: EpochTotals, arm: str) -> float:
        times = [part.busy_ns for part in epoch.arms[arm].slices if part.script == query]
        return statistics.fmean(times) / 1e6 if any(times) else math.nan

    return read


def _unfinished(epochs: Sequence[EpochTotals], arm: str, query: str) -> int:
    every = (part for epoch in epochs for part in epoch.arms[arm].slices)
    return sum(part.failed for part in every if part.script == query)


def probe_rows(epochs: Sequence[EpochTotals], arms: Sequence[str]) -> list[ProbeCount]:
    """What each probe counted in each arm: the median over epochs, the least and the most."""
    rows = []
    for arm in arms:
        by_epoch = [epoch.probes.get(arm, {}) for epoch in epochs]
        for probe in dict.fromkeys(name for probes in by_epoch for name in probes):
            counts = [probes[probe] for probes in by_epoch if probe in probes]
            for counter in counts[0]:
                values = [float(count[counter]) for count in counts]
                rows.append(
                    ProbeCount(
                        arm=arm,
                        probe=probe,
                        counter=counter,
                        median=statistics.median(values),
                        least=min(values),
                        most=max(values),
                        epochs=len(values),
                    )
                )
    return rows


def lateness(epochs: Sequence[EpochTotals], arm: str) -> Lateness:
    """How an arm kept up with given arrivals, over all epochs."""
    totals = [epoch.arms[arm] for epoch in epochs]
    begun = sum(arm_totals.transactions + arm_totals.failed for arm_totals in totals)
    return Lateness(
        arm=arm,
        begun=begun,
        late_starts=sum(arm_totals.late_starts for arm_totals in totals),
        lag_mean_us=sum(arm_totals.lag_sum_ns for arm_totals in totals) / begun / 1000
        if begun
        else 0.0,
        lag_max_us=max((arm_totals.lag_max_ns for arm_totals in totals), default=0) / 1000,
        unstarted=sum(arm_totals.unstarted for arm_totals in totals),
    )


QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


def latency_rows(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    *,
    script: str | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> list[Latency]:
    """One row for each quantile that every epoch has, in the order of the quantiles.

    Without a `script` those of an epoch are pooled: the quantile is of the mix that was driven.
    """
    tables: dict[str, list[list[int]]] = {control: [], arm: []}
    counts = []
    for epoch in epochs:
        for name in (control, arm):
            count, values = _quantiles(epoch.arms[name], script, tuple(quantiles))
            tables[name].append(values)
            counts.append(count)
    if not counts or min(counts) == 0:
        return []
    of_control, of_arm = (np.array(tables[name], dtype=float) for name in (control, arm))
    fields = {} if script is None else {"script": script}
    return [
        Latency.model_validate(
            {
                **fields,
                "arm": arm,
                "control": control,
                "quantile": contrast.quantile,
                "control_us": contrast.control_ns / 1000,
                "arm_us": contrast.arm_ns / 1000,
                **percent_ends(contrast.estimate),
                "confidence": contrast.estimate.confidence,
            }
        )
        for contrast in quantile_contrasts(quantiles, of_control, of_arm, min(counts))
    ]


@memoize_by_identity
def _quantiles(
    arm: ArmTotals, script: str | None, quantiles: tuple[float, ...]
) -> tuple[int, list[int]]:
    """How many latencies an arm had in an epoch, and their quantiles in ns; cached, since those of
    the control are used for every arm."""
    from steelyard._core import histogram_quantiles

    driven = [histogram for name, histogram in arm.latencies.items() if script in (None, name)]
    pooled = histogram_quantiles(driven, list(quantiles))
    return pooled["count"], pooled["values"]
