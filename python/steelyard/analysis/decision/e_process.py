"""Computes the e-process over epochs: a confidence set that holds however often it is looked at.

E±(θ) = mean over λ ∈ {½, 1, 2} of Πᵢ (1 ± tanh(λ(dᵢ − θ)/sᵢ)), with the scale from past epochs
only, sᵢ² = (3·s₀² + SS_{i−1}) / (3 + max(i − 2, 0)), SS the squared deviations from their mean.
Where d − θ is symmetric about 0 given the past, each is a nonnegative martingale of mean 1, so it
ever reaches 1/α with probability at most α (Ville). tanh is odd and bounded: a spike costs no more
than its sign. s does not depend on θ, so E₊ falls and E₋ rises in θ: one crossing, found by brentq.

max E in the set is the largest value so far: the set is the running intersection.
Λ = {½, 1, 2} stays within 1–3 epochs of the best bet for effects of ½–5 standard deviations; a
scale that is up to ten times too small is harmless. The first finite set comes at 8 epochs, since
2⁸ ≥ 2/.01.

Sources: Vovk & Wang, arXiv 2208.08925 (e-tests of symmetry, the sigmoid bet); Ville 1939; Howard,
Ramdas, McAuliffe & Sekhon, Annals of Statistics 49 (2021) 1055 (confidence sequences).
The set is for the centre of symmetry, which is the mean only where epochs are not skewed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.estimate import UNBOUNDED, Interval

BETS = np.array([0.5, 1.0, 2.0])
"""λ, in units of 1/s."""
PRIOR_WEIGHT = 3.0
"""Epochs that the pilot's scale s₀ counts for."""
_MOST_LOG = 700.0
"""ln of the largest evidence that is represented: more would overflow."""


@dataclass(frozen=True, slots=True)
class EProcess:
    """Everything the bets need: the log ratios, shape (n,), and the scale of each, shape (n,)."""

    d: Floats
    scale: Floats

    def largest(self, theta: float, side: int) -> float:
        """max over epochs so far of E₊ (side +1: θ is too low) or E₋ (side −1); at least 1."""
        if len(self.d) == 0:
            return 1.0
        bets = np.tanh(np.multiply.outer(BETS, side * (self.d - theta) / self.scale))
        with np.errstate(divide="ignore"):
            wealth = np.exp(np.cumsum(np.log1p(bets), axis=1))
        return max(1.0, float(wealth.mean(axis=0).max()))

    def confidence_set(self, alpha: float) -> Interval:
        """{θ: max E₊ < 2/α and max E₋ < 2/α}: valid at level 1 − α at any time."""
        return self._set(2 / alpha)

    def one_sided_set(self, alpha: float) -> Interval:
        """Both one-sided bounds, each at level 1 − α (threshold 1/α), for equivalence."""
        return self._set(1 / alpha)

    def _set(self, threshold: float) -> Interval:
        finite = self.d[np.isfinite(self.d)]
        if len(finite) == 0:
            return UNBOUNDED
        low = self._bound(threshold, +1, finite)
        high = self._bound(threshold, -1, finite)
        # A set that contradicts itself (an event of probability ≤ α) shrinks to a point.
        return Interval(low, high) if low <= high else Interval((low + high) / 2, (low + high) / 2)

    def _bound(self, threshold: float, side: int, finite: Floats) -> float:
        """The θ where max E crosses the threshold; ∓∞ where it never does.

        Beyond all d by 20 scales every bet has won or lost as much as it ever will. Brent's method
        on ln E, to the last digits: ten evaluations where halving the interval takes fifty.
        """
        from scipy.optimize import brentq

        def excess(theta: float) -> float:
            return min(math.log(self.largest(theta, side)), _MOST_LOG) - math.log(threshold)

        reach = 20 * float(self.scale.max()) + 1e-12
        far, near = float(finite.min()) - reach, float(finite.max()) + reach
        if side < 0:
            far, near = near, far
        if excess(far) < 0:
            return -side * math.inf
        if excess(near) >= 0:  # bets of infinite epochs are won whatever θ
            return near
        return float(brentq(excess, far, near, xtol=1e-13, rtol=1e-13))


def e_process(d: Floats, s0: float) -> EProcess:
    """The e-process over the log ratios of the epochs, shape (n,), in the order they came.

    `s0` > 0: the pilot's standard error of an epoch. An epoch of ±∞ is a bet won or lost whole and
    carries no information about the scale; NaN is a ValueError (leave such epochs out).
    """
    if not s0 > 0:
        raise ValueError(f"the scale of the first bets must be positive: {s0}")
    if bool(np.isnan(d).any()):
        raise ValueError("an e-process cannot bet on a missing epoch")
    return EProcess(d=d, scale=past_scale(d, s0))


def past_scale(d: Floats, s0: float) -> Floats:
    """sᵢ of every epoch from the finite ones before it, shape (n,)."""
    scale = np.empty(len(d))
    count, mean, squares = 0, 0.0, 0.0
    for i, value in enumerate(d):
        degrees = PRIOR_WEIGHT + max(count - 1, 0)
        scale[i] = math.sqrt((PRIOR_WEIGHT * s0 * s0 + squares) / degrees)
        if math.isfinite(value):  # Welford's update
            count += 1
            step = float(value) - mean
            mean += step / count
            squares += step * (float(value) - mean)
    return scale
