"""Computes the true effect, where it is known: of equal arms, and of arms with a known weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard._core import histogram_counts
from steelyard.analysis.calibration import (
    KnownWeight,
    stall_edges,
    stall_length,
    truth,
)
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.estimate import Interval
from steelyard.model.readings import EpochTotals
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import ContrastLine, KnownTruth, StallCounts
from steelyard.record.plan import Plan, Stall
from steelyard.study.arm import Arm
from steelyard.study.study import Study


@dataclass(frozen=True)
class Weighed:
    """The parts of a weighing that its truths are computed from."""

    study: Study
    plan: Plan
    epochs: Sequence[EpochTotals]  # those that every arm survived


def compute_truth(weighed: Weighed, arm: Arm, contrast: ContrastLine) -> KnownTruth | None:
    """`true_percent` of an arm and its bounds, which go beside its contrast in verdict.json, and
    whether the contrast's interval holds it; None where it is not known.

    It is known of an arm that is the control but for its weight, against a control without one.
    Stalls need a single client (see `analysis/calibration.py`).
    """
    study = weighed.study
    if not (study.differs_only_in_weight(arm) and study.control.weight.is_none):
        return None
    if arm.weight.is_none:
        return KnownTruth(true_percent=0.0, covered=_is_covered(contrast, Interval(0.0, 0.0)))
    if weighed.plan.search is not None:
        return None  # of what a weight does to a quantile of latency no formula is known
    times_ns, debts = _control_times(weighed)
    if not len(times_ns) or (arm.weight.stalls and study.workload.clients > 1):
        return None
    stall = weighed.plan.stalls.get(arm.name)
    stall_counts = stall and _stall_counts(weighed.epochs, arm.name, study.control.name, stall)
    weight = KnownWeight(
        double_work=arm.weight.double_work,
        stall_ns=stall.probability * stall_counts.length_ns if stall and stall_counts else 0.0,
        background=arm.weight.background if weighed.plan.cost != "foreground" else 0.0,
        writes=weighed.plan.writes,
    )
    computed = truth(weight, times_ns, debts, weighed.plan.metric)
    ends = percent_ends(computed.estimate)
    fields: dict[str, object] = {"true_percent": ends["estimate_percent"]}
    if computed.estimate.interval.width:
        fields |= {
            "true_low_percent": ends["low_percent"],
            "true_high_percent": ends["high_percent"],
        }
    fields["covered"] = _is_covered(contrast, computed.bounds)
    return KnownTruth.model_validate(
        fields if stall_counts is None else {**fields, "stalls": stall_counts}
    )


def _is_covered(contrast: ContrastLine, bounds: Interval) -> bool | None:
    """Whether a contrast's interval holds a truth within bounds; None without an interval."""
    low, high = contrast.low_percent, contrast.high_percent
    if low is None and high is None:
        return None
    above = low is None or low <= percent_of_log(bounds.high)
    return above and (high is None or percent_of_log(bounds.low) <= high)


def _control_times(weighed: Weighed) -> tuple[Floats, Floats]:
    """By epoch: the control's mean time of a transaction under load, and its debt as a share."""
    control = [epoch.arms[weighed.study.control.name] for epoch in weighed.epochs]
    loaded = np.array(
        [arm_totals.busy_ns - arm_totals.clients * arm_totals.debt_ns for arm_totals in control],
        dtype=float,
    )
    done = np.array([arm_totals.transactions for arm_totals in control], dtype=float)
    debts = np.array([arm_totals.clients * arm_totals.debt_ns for arm_totals in control]) / loaded
    if weighed.plan.metric == "throughput":
        return loaded / done, debts
    return np.array([arm_totals.latency_mean_ns for arm_totals in control]), debts


def _stall_counts(
    epochs: Sequence[EpochTotals], arm: str, control: str, stall: Stall
) -> StallCounts:
    """How often and how long the arm really stalled, beside what was asked for."""
    edges = stall_edges(stall.length_ns)
    counts = [histogram_counts(_latencies(epochs, name), edges) for name in (arm, control)]
    done = [sum(epoch.arms[name].transactions for epoch in epochs) for name in (arm, control)]
    spent_ns = sum(epoch.arms[control].latency_sum_ns for epoch in epochs)
    number, length_ns = stall_length(
        edges, counts[0], counts[1], done[0] / max(done[1], 1), spent_ns / max(done[1], 1)
    )
    return StallCounts(
        probability=stall.probability,
        asked_length_ns=stall.length_ns,
        seen=round(number),
        length_ns=stall.length_ns if np.isnan(length_ns) else round(length_ns),
    )


def _latencies(epochs: Sequence[EpochTotals], arm: str) -> list[str]:
    return [text for epoch in epochs for text in epoch.arms[arm].latencies.values()]
