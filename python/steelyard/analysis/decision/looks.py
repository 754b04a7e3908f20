"""Plans the looks: at which epochs a weighing is judged, at which levels, and what it can see.

Two looks are planned: n₁ = max(8, ⌈2N/3⌉) at α = .01 and N at α = .04; by the union bound both
together keep 5 %. Against a single look at .05 that costs 2–5 points of power, and it saves a third
of the time where an effect is plain. No valid test can reject before 2·2⁻ⁿ ≤ α: 8 epochs at .01.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from steelyard.analysis.decision.student_t import t_quantile

FEWEST_FOR_VERDICT = 8
"""Below this many epochs no verdict is given: the t interval is shown, "too few epochs" said."""
ALPHAS = (0.01, 0.04)
CONFIDENCE = 0.95
"""Nominal confidence of every printed set: 1 − (.01 + .04)."""


BALANCED = {8: 1.18, 10: 1.05, 12: 1.04}
"""Epochs → how much larger an effect must be to be detected at the last look of a plan with two
slots, where only balanced sign changes count: 1 of 70 at 8 epochs, a level of 2.9 %; later none."""

DEFAULT_S0 = 0.005
"""Where the pilot gave no scale. Err low: ten times too large costs four epochs, too small none."""


class Stage(StrEnum):
    """How far in its plan a weighing is when it is judged."""

    TOO_FEW = "too few"
    """Fewer than 8 usable epochs: no verdict."""
    BETWEEN = "between"
    """No planned look: an interval for display, no verdict."""
    FIRST = "first"
    LAST = "last"
    INTERRUPTED = "interrupted"
    """Ended by the clock or by hand before N: judged by what there is."""
    OPEN = "open"
    """Open-ended, not at N: the e-process judges after every epoch."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What was laid down before the first slice and decides how the epochs are judged."""

    epochs: int
    """N, the planned number of epochs."""
    look: int | None = None
    """n₁, the early look; None where there is none."""
    margin: float = 0.01
    """δ as a fraction: a smaller change does not matter."""
    metric: str = "throughput"
    """"throughput" (more is faster), "latency_mean" or "geometric_mean" (less is faster)."""
    alphas: tuple[float, float] = ALPHAS
    open_ended: bool = False
    first_verdict: bool = False
    s0: float = DEFAULT_S0
    """The pilot's standard error of an epoch's log ratio: the scale of the first bets."""
    epoch_seconds: float = 0.0
    """Time that one more epoch takes, restart included, for the forecast; 0: unknown."""
    attempt: int = 1
    looked: int = 0
    """How often it was interrupted, judged and shown before it went on."""
    separate: bool = False
    """Several arms: each judged by its own set, not jointly."""

    more_is_better: bool | None = None
    """None: as the metric says."""

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric is faster."""
        if self.more_is_better is not None:
            return self.more_is_better
        return self.metric == "throughput"

    @property
    def margins(self) -> tuple[float, float]:
        """±δ on the log scale: ln(1 − δ), ln(1 + δ)."""
        return math.log1p(-self.margin), math.log1p(self.margin)

    def stage(self, done: int, usable: int, ended: bool) -> Stage:
        """The stage of the weighing after `done` epochs, `usable` of which have a log ratio.

        `ended`: the clock or the user ended it before its plan did; no epoch will follow.
        """
        if usable < FEWEST_FOR_VERDICT:
            return Stage.TOO_FEW
        if self.open_ended:
            return Stage.LAST if done == self.epochs else Stage.OPEN
        if done >= self.epochs:
            return Stage.LAST
        if ended:
            return Stage.INTERRUPTED
        return Stage.FIRST if done == self.look else Stage.BETWEEN


@lru_cache(maxsize=4096)
def smallest_visible(
    epochs: int, alpha: float = ALPHAS[1], power: float = 0.8, *, balanced: bool = False
) -> float:
    """The effect, in standard deviations of an epoch, that a set at `alpha` detects with `power`.

    (t_{1−α/2,n−1} + t_{power,n−1}) / √n. Within .02 of the simulated table for sign-flip sets of
    Gaussian epochs at α = .04: n = 8: 1.22, 10: 1.04, 12: .93, 18: .73, 30: .55. With `balanced`
    sign changes, those of a plan with two slots: 8: 1.44, 10: 1.09, 12: .97, then the same.
    Cached, since every forecast bisects over the same numbers.
    """
    if epochs < 2:
        return math.inf
    quantiles = t_quantile(1 - alpha / 2, epochs - 1) + t_quantile(power, epochs - 1)
    return quantiles / math.sqrt(epochs) * (BALANCED.get(epochs, 1.0) if balanced else 1.0)
