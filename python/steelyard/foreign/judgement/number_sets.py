"""Computes the sets of one contrast of numbers from elsewhere: replicates, then intervals.

Paired rows: the sign-flip set of a weighing, over the log ratios of rows. Unpaired: studentised
permutations and Welch, the wider of both. There is one look, at 5 % over all contrasts together.
What the order of the rows allows decides how they are counted (`RowOrder`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from steelyard.analysis.decision.forecast import HOPELESS_SHARE, Forecast, forecast, need
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Stage, Terms, smallest_visible
from steelyard.analysis.decision.sets import JudgingSets, judging_sets
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.student_t import t_quantile
from steelyard.analysis.decision.t_interval import t_interval, welch
from steelyard.analysis.two_samples.replicates import (
    FEWEST_EFFECTIVE,
    Replicates,
    batch_means,
    batch_totals,
    correlation_limit,
    replicates_of,
    stretched,
)
from steelyard.analysis.two_samples.unpaired import unpaired_set
from steelyard.foreign.series import Grain, Series
from steelyard.model.estimate import UNBOUNDED, Interval

ALPHA = 0.05
"""Of all contrasts of a judgement together: there is one look at numbers that are all there."""
POWER = 0.8


class RowOrder(StrEnum):
    """What the order of the rows says of their independence."""

    DRAWN = "drawn"
    """Chance drew which arm was measured when: rows are independent by design."""
    IN_TIME = "in time"
    """As they were measured: dependence of neighbours can be estimated, and is."""
    LOST = "lost"
    """Not known: dependence of neighbours cannot be estimated, and there is no verdict."""


@dataclass(frozen=True, eq=False)
class NumberSets:
    """What one contrast of numbers rests on, on the log scale."""

    value: float
    sets: JudgingSets
    parts: tuple[Replicates, ...]
    """Of the log ratios of rows; or of the control and of the arm."""
    by_t: Interval
    visible: float
    """Log ratio that such numbers would show with 80 % power; NaN where there is no spread."""
    forecast: Forecast | None

    @property
    def count(self) -> int:
        """Replicates: of the smaller side where rows are not paired."""
        return min(part.count for part in self.parts)

    @property
    def counted_as(self) -> str:
        """As how many independent replicates they count: `24`, or `19 and 24` for two arms."""
        return " and ".join(dict.fromkeys(str(round(part.effective)) for part in self.parts))

    @property
    def width_as_read(self) -> float:
        """Width of the interval before it was stretched: what the rows themselves scatter."""
        return self.sets.main.width / max(part.stretch for part in self.parts)

    @property
    def too_dependent(self) -> bool:
        """Whether the rows are enough and, for what they may share, too few to carry a verdict."""
        return self.count >= FEWEST_FOR_VERDICT and self.worth < FEWEST_EFFECTIVE

    @property
    def enough(self) -> bool:
        """Whether dependence leaves a valid interval."""
        return all(part.enough for part in self.parts)

    @property
    def worth(self) -> float:
        """Number of independent replicates with the same information; of the side that has
        least."""
        return least_worth(self.parts)


def paired_sets(control: Series, arm: Series, terms: Terms, order: RowOrder) -> NumberSets:
    """Row by row: log ratios, shapes (n,) both."""
    alpha, as_they_are = terms.alphas[1], order is not RowOrder.IN_TIME
    d = replicates_of(_paired_logs(control, arm), as_they_are, alpha)
    if d.batched and Grain.SLICE in (control.grain, arm.grain):
        ratios = _batch_logs(arm) - _batch_logs(control)
        d = stretched(ratios, len(control.values), as_they_are, alpha)
    stage = _stage((d,), (control, arm), order)
    by_t = t_interval(d.values, 1 - alpha)
    if stage is Stage.TOO_FEW:
        sets = JudgingSets(stage, by_t if d.enough else UNBOUNDED, UNBOUNDED, "t", 1 - alpha)
    else:
        sets = judging_sets(d.values, terms, stage)
    sd = float(np.std(d.values, ddof=1)) if d.count > 1 else math.nan
    return NumberSets(
        value=float(np.mean(d.values)),
        sets=sets,
        parts=(d,),
        by_t=by_t,
        visible=sd * smallest_visible(d.count, alpha, POWER) if d.count > 1 else math.nan,
        forecast=forecast(d.values, terms.margins, alpha),
    )


def unpaired_sets(control: Series, arm: Series, terms: Terms, order: RowOrder) -> NumberSets:
    """Two samples. Where chance drew which row was whose, a split of the rows is as likely as
    another whatever the machine did meanwhile."""
    alpha = terms.alphas[1]
    parts = _sides((control, arm), order, alpha)
    below, above = (part.values for part in parts)
    enough = all(part.enough for part in parts)
    stage = _stage(parts, (control, arm), order)
    estimate = welch(below, above)
    by_t = estimate.interval(1 - alpha)
    if stage is Stage.TOO_FEW:
        sets = JudgingSets(stage, by_t if enough else UNBOUNDED, UNBOUNDED, "t", 1 - alpha)
    else:
        main, inner = (unpaired_set(below, above, level) for level in (alpha, 2 * alpha))
        sets = JudgingSets(
            stage,
            main.interval,
            inner.interval,
            "studentised permutations and Welch, the wider",
            1 - alpha,
            main.k,
            main.group,
        )
    return NumberSets(
        value=estimate.difference,
        sets=sets,
        parts=parts,
        by_t=by_t,
        visible=_visible(estimate.error, estimate.freedom, alpha),
        forecast=_forecast(below, above, terms, alpha),
    )


def least_worth(parts: tuple[Replicates, ...]) -> float:
    """Number of independent replicates with the information of the side that has least."""
    return min(part.effective for part in parts)


def _stage(parts: tuple[Replicates, ...], arms: tuple[Series, ...], order: RowOrder) -> Stage:
    """A verdict needs 8 replicates, as in a weighing, and 5 effective ones; an order in which
    dependence could be seen, or that chance drew; parts of one run are no replicates."""
    one_run = any(arm.grain is Grain.SLICE for arm in arms)
    few = min(part.count for part in parts) < FEWEST_FOR_VERDICT
    few = few or least_worth(parts) < FEWEST_EFFECTIVE
    return Stage.TOO_FEW if few or one_run or order is RowOrder.LOST else Stage.LAST


def _sides(arms: tuple[Series, ...], order: RowOrder, alpha: float) -> tuple[Replicates, ...]:
    """The replicates of every arm; what neighbours may share is estimated from all of them."""
    logs = [
        _batch_logs(arm) if arm.grain is Grain.SLICE else batch_means(np.log(arm.values))
        for arm in arms
    ]
    # The order of parts of one run was never drawn.
    free = [order is not RowOrder.IN_TIME and arm.grain is not Grain.SLICE for arm in arms]
    limit = correlation_limit(
        [arm_logs for arm_logs, drawn in zip(logs, free, strict=True) if not drawn]
    )
    return tuple(
        stretched(arm_logs, len(arm.values), drawn, alpha, limit)
        for arm_logs, arm, drawn in zip(logs, arms, free, strict=True)
    )


def _batch_logs(series: Series) -> Floats:
    """ln of the mean of every replicate, from totals: time without work counts."""
    weights = np.ones_like(series.values) if series.weights is None else series.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Floats = np.log(batch_totals(series.values * weights) / batch_totals(weights))
    # A batch in which nothing was done has no place on the log scale: it is as low as the lowest.
    finite = logs[np.isfinite(logs)]
    return np.where(np.isfinite(logs), logs, finite.min() if len(finite) else 0.0)


def _paired_logs(control: Series, arm: Series) -> Floats:
    least = min(series.values[series.values > 0].min() for series in (control, arm))
    logs: Floats = np.log(np.maximum(arm.values, least) / np.maximum(control.values, least))
    return logs


def _visible(error: float, freedom: float, alpha: float) -> float:
    if not math.isfinite(error) or not freedom > 0:
        return math.nan
    return error * (t_quantile(1 - alpha / 2, freedom) + t_quantile(POWER, freedom))


def _forecast(below: Floats, above: Floats, terms: Terms, alpha: float) -> Forecast | None:
    """As for weighings, an epoch being a row of either arm, measured equally often."""
    if min(len(below), len(above)) < 3:
        return None
    count = min(len(below), len(above))
    centre = float(np.mean(above) - np.mean(below))
    variance = float(np.var(below, ddof=1) + np.var(above, ddof=1))
    to_margin = min(abs(centre - margin) for margin in terms.margins)
    hopeless = to_margin < HOPELESS_SHARE * min(abs(margin) for margin in terms.margins)
    return Forecast(
        epochs=count,
        margin=None if hopeless else need(variance, to_margin, count, alpha),
        sign=need(variance, abs(centre), count, alpha) if centre else None,
    )
