"""Computes the reading of an epoch: the log ratio of an arm to the control, from totals.

d = ln(ΣN₁/ΣT₁) − ln(ΣN₀/ΣT₀). Totals, because they are the ratio of the work done: with stalls in
5 % of one arm's slices (truth −4.08 %) a 10 % trimmed mean of block ratios reads −1.25, the mean of
block logs −8.13, totals −4.16. Errors, timeouts, retries and stalls stay in as time without work.
The trimmed reading is shown beside it as the "typical slice": a gap between the two is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from steelyard.analysis.checks.autocorrelation import lag_one
from steelyard.analysis.checks.littles_law import busy_share, uncharged_share
from steelyard.analysis.checks.slots import carry_over
from steelyard.model.readings import ArmTotals, EpochTotals, SliceTotals

TRIMMED_SHARE = 0.10
"""Cut from either end of the sorted block log ratios for the typical slice."""
COMPLETE = "complete"
GEOMETRIC_MEAN = "geometric_mean"
BLAMING = ("crashed: ", "could not start: ", "out of memory: ")
"""Outcomes of an epoch that name arms, separated by commas, which could not start or survive."""


@dataclass(frozen=True, slots=True)
class EpochReading:
    """One replicate: one arm's log ratio to the control in one epoch, and what the checks need.

    Every mapping goes from arm name to that arm's number, for the two arms of the contrast.
    """

    epoch: int
    slots: Mapping[str, int]
    start_order: tuple[str, ...]
    d: float
    """ln(arm ÷ control) of the metric; ±∞ where one arm did no work, NaN where neither did."""
    typical_d: float = math.nan
    throughput: Mapping[str, float] = field(default_factory=dict)
    """Transactions per second of loaded time."""
    blocks: int = 0
    carry_over: float = math.nan
    """How much more the arm than the control changes (log) when it follows another arm."""
    block_autocorrelation: float = math.nan
    busy_share: Mapping[str, float] = field(default_factory=dict)
    """Σ latency ÷ Σ time under load: Little's law, near 1 in a closed loop."""
    uncharged_share: Mapping[str, float] = field(default_factory=dict)
    """Time after the bell that no client was charged with, ÷ time of the slices: near 0."""
    attempted: Mapping[str, int] = field(default_factory=dict)
    """Transactions completed, failed and retried."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Transactions failed or retried."""
    capped: Mapping[str, int] = field(default_factory=dict)
    """Clients that were not back at the border's cap."""
    clients: Mapping[str, int] = field(default_factory=dict)
    """Clients of an arm."""
    slices: Mapping[str, int] = field(default_factory=dict)
    """Slices kept."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Slices dropped for an arm-blind cause seen between slices."""
    outcome: str = COMPLETE


def read_epoch(
    totals: EpochTotals,
    arm: str,
    control: str,
    metric: str,
) -> EpochReading:
    """The reading of one epoch for one contrast.

    `metric` is "throughput", "latency_mean" or "geometric_mean".
    """
    both = {name: totals.arms[name] for name in (control, arm)}
    # Seconds of two turns lie minutes apart: they are no blocks.
    ratios = [] if totals.turns else block_log_ratios(both[arm], both[control], metric)
    return EpochReading(
        epoch=totals.epoch,
        slots=dict(totals.slots),
        start_order=tuple(totals.start_order),
        d=epoch_log_ratio(totals, arm, control, metric),
        typical_d=typical(ratios),
        throughput={name: arm_totals.throughput for name, arm_totals in both.items()},
        blocks=1 if totals.turns else len(ratios),
        carry_over=math.nan if totals.turns else carry_over(totals, arm, control),
        block_autocorrelation=lag_one(ratios),
        busy_share={name: busy_share(arm_totals) for name, arm_totals in both.items()},
        uncharged_share={name: uncharged_share(arm_totals) for name, arm_totals in both.items()},
        attempted={k: v.transactions + v.failed + v.retries for k, v in both.items()},
        failed={k: v.failed + v.retries for k, v in both.items()},
        capped={k: v.capped for k, v in both.items()},
        clients={k: v.clients for k, v in both.items()},
        slices={k: len(v.slices) for k, v in both.items()},
        dropped={k: v.dropped for k, v in both.items()},
        outcome=totals.outcome,
    )


def blamed(outcome: str) -> frozenset[str]:
    """The arms that an outcome says could not start or survive; empty for any other outcome, and
    for one that names no arm: `crashed: on, off` and `could not start: off` do."""
    for prefix in BLAMING:
        if outcome.startswith(prefix):
            names = [name.strip() for name in outcome.removeprefix(prefix).split(",")]
            return frozenset(names if not any(" " in name for name in names) else ())
    return frozenset()


def epoch_log_ratio(totals: EpochTotals, arm: str, control: str, metric: str) -> float:
    """ln(arm ÷ control) of the metric. An arm that could not start or survive did no work, however
    much it did before, and the other one would have, however early the epoch ended; one that failed
    for another reason, or of which no slice of an arm was kept, has no ratio (NaN)."""
    guilty = blamed(totals.outcome)
    if totals.outcome != COMPLETE and not guilty & {arm, control}:
        return math.nan
    pair = totals.arms[arm], totals.arms[control]
    if guilty:
        return _log_ratio(*pair, [name not in guilty for name in (arm, control)], metric)
    if any(side.dropped and not side.slices for side in pair):
        return math.nan
    works = [side.transactions > 0 for side in pair]
    if metric == GEOMETRIC_MEAN and any(works):
        return _geometric_log_ratio(*pair)
    return _log_ratio(*pair, works, metric)


def _log_ratio(arm: ArmTotals, control: ArmTotals, works: list[bool], metric: str) -> float:
    """An arm without work has throughput 0 and infinite latency; without both, no ratio."""
    if works == [False, False]:
        return math.nan
    if works == [True, True]:
        if metric == "throughput":
            return math.log(arm.throughput) - math.log(control.throughput)
        return math.log(arm.latency_mean_ns) - math.log(control.latency_mean_ns)
    control_works = works[1]
    return -math.inf if control_works == (metric == "throughput") else math.inf


def _geometric_log_ratio(arm: ArmTotals, control: ArmTotals) -> float:
    """ln of the ratio of geometric means: the mean of the log ratios of the times of the blocks,
    and of a query that has several blocks first their mean, so that each query weighs the same.

    A query that failed or was given up is never dropped: a timeout counts as its limit. NaN where
    no block has both arms.
    """
    of_control = {part.block: part for part in control.slices}
    ratios: dict[str | int, list[float]] = {}
    for part in arm.slices:
        if part.block in of_control and not part.excluded:
            of_script = ratios.setdefault(part.script or part.block, [])
            of_script.append(_log_ratio_of_times(part, of_control[part.block]))
    return (
        float(np.mean([np.mean(of_script) for of_script in ratios.values()]))
        if ratios
        else math.nan
    )


def _log_ratio_of_times(arm: SliceTotals, control: SliceTotals) -> float:
    """Of one block. An execution that failed did no work, and however early its error came, it
    counts as no quicker than the other arm's: a timeout is longer. Equal where both have one."""
    ratio = math.log(max(arm.busy_ns, 1)) - math.log(max(control.busy_ns, 1))
    if arm.failed:
        ratio = max(ratio, 0.0)
    return min(ratio, 0.0) if control.failed else ratio


def block_log_ratios(arm: ArmTotals, control: ArmTotals, metric: str) -> list[float]:
    """Log ratio of each block in which both arms completed something, in order. For pictures, the
    typical slice and the pilot only: blocks are not replicates and carry no interval."""
    of_control = {part.block: part for part in control.slices if part.transactions > 0}
    return [
        log_metric(part, arm.clients, metric)
        - log_metric(of_control[part.block], control.clients, metric)
        for part in arm.slices
        if part.transactions > 0
        and part.block in of_control
        and not (part.excluded and metric == GEOMETRIC_MEAN)
    ]


def log_metric(slice_totals: SliceTotals, clients: int, metric: str) -> float:
    """ln of a slice's throughput (transactions per ns) or mean latency (ns); it completed some."""
    if metric == GEOMETRIC_MEAN:
        return math.log(max(slice_totals.busy_ns, 1))
    if metric == "throughput":
        return math.log(clients * slice_totals.transactions / max(slice_totals.busy_ns, 1))
    return math.log(max(slice_totals.latency_sum_ns, 1) / slice_totals.transactions)


def typical(block_ratios: list[float]) -> float:
    """Mean of the block log ratios without the largest and smallest tenth; NaN without blocks."""
    if not block_ratios:
        return math.nan
    cut = int(TRIMMED_SHARE * len(block_ratios))
    return float(np.mean(sorted(block_ratios)[cut : len(block_ratios) - cut]))
