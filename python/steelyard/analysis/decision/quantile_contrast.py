"""Computes contrasts of latency quantiles: where in the distribution the effect lies.

Each epoch and arm gives one quantile from its pooled histogram; the log ratios of the epochs are
replicates like any other. All quantiles share one joint error rate (max-T), since an eye that runs
along the curve looks at all of them. A quantile needs at least 10 observations beyond it in an
epoch, or it is one stall's luck: p99 asks for 1,000 transactions, p99.9 for 10,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.secondary import secondary_contrasts
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.estimate import Estimate

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
    kept = [
        j for j, q in enumerate(quantiles) if fewest_observations * (1 - q) >= FEWEST_BEYOND - 1e-6
    ]
    columns = {str(j): (list(control_ns[:, j]), list(arm_ns[:, j])) for j in kept}
    return tuple(
        QuantileContrast(quantiles[j], one.control_value, one.arm_value, one.estimate)
        for j, one in zip(kept, secondary_contrasts(columns), strict=True)
        if np.isfinite(one.estimate.value)
    )
