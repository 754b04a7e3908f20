"""Computes contrasts of secondary metrics: a log ratio an epoch, with joint intervals.

For what explains a verdict (processor time, WAL, blocks per transaction) and for latency quantiles.
A quantile of an epoch comes from one histogram pooled over all of an arm's slices: quantiles
averaged over slices are biased where the arms' tails differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.max_t import ALPHA, joint_flips
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.estimate import LOG_RATIO, Estimate


@dataclass(frozen=True, slots=True)
class SecondaryContrast:
    """An arm against the control on a metric that does not decide."""

    name: str
    control_value: float
    """Geometric mean over the epochs, in the metric's own unit; so is the arm's."""
    arm_value: float
    estimate: Estimate
    """Log ratio; its interval holds jointly with all others of the table at 95 %."""
    p_value: float
    note: str = ""


Columns = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Metric → (control, arm): one positive number an epoch each, in the same epochs."""


def secondary_contrasts(columns: Columns) -> tuple[SecondaryContrast, ...]:
    """Joint contrasts of several metrics, each with one value an epoch and arm, in epoch order.

    Leave epochs without a reading out of all columns. A metric that is 0 in some epoch has no log
    ratio there: it gets an unbounded interval, its arithmetic means, and a note.
    """
    names = list(columns)
    if not names:
        return ()
    pairs = {name: tuple(np.asarray(v, dtype=float) for v in columns[name]) for name in names}
    lengths = {len(v) for pair in pairs.values() for v in pair}
    if len(lengths) != 1:
        raise ValueError("every column needs one value of either arm for every epoch")
    table = np.column_stack([_log_ratios(*pairs[name]) for name in names])
    results = joint_flips(table)
    contrasts = []
    for name, result in zip(names, results, strict=True):
        control, arm = pairs[name]
        positive = bool((control > 0).all() and (arm > 0).all()) and len(control) > 0
        mean = _geometric if positive else _arithmetic
        ends = result.interval.low, result.interval.high
        contrasts.append(
            SecondaryContrast(
                name=name,
                control_value=mean(control),
                arm_value=mean(arm),
                estimate=Estimate(result.value, *ends, len(control), LOG_RATIO, 1 - ALPHA),
                p_value=result.p_value,
                note="" if positive else "zero in some epoch: no ratio",
            )
        )
    return tuple(contrasts)


def _log_ratios(control: Floats, arm: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = np.log(arm) - np.log(control)
    return ratios


def _geometric(values: Floats) -> float:
    return float(np.exp(np.log(values).mean()))


def _arithmetic(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


FEWEST_BEYOND = 10


@dataclass(frozen=True, slots=True)
class QuantileContrast:
    """One latency quantile of an arm against the control."""

    quantile: float
    control_ns: float
    """Geometric mean over the epochs; so is the arm's."""
    arm_ns: float
    estimate: Estimate
    """Log ratio arm ÷ control, with a joint 95 % interval over all quantiles of the call."""


def quantile_contrasts(
    quantiles: Sequence[float], control_ns: Floats, arm_ns: Floats, fewest_observations: int
) -> tuple[QuantileContrast, ...]:
    """The contrast at each quantile that has enough observations beyond it.

    `control_ns`, `arm_ns`: shape (epochs, quantiles), quantiles of pooled histograms, positive.
    `fewest_observations`: the smallest number of transactions of either arm in any epoch.
    """
    if control_ns.shape != arm_ns.shape or control_ns.shape[1] != len(quantiles):
        raise ValueError("quantiles need tables of epochs by quantiles, alike for both arms")
    indices = [
        j for j, q in enumerate(quantiles) if fewest_observations * (1 - q) >= FEWEST_BEYOND - 1e-6
    ]
    columns = {str(j): (list(control_ns[:, j]), list(arm_ns[:, j])) for j in indices}
    return tuple(
        QuantileContrast(
            quantiles[j], contrast.control_value, contrast.arm_value, contrast.estimate
        )
        for j, contrast in zip(indices, secondary_contrasts(columns), strict=True)
        if np.isfinite(contrast.estimate.value)
    )
