"""Chooses the next point of a search by Optuna's tree-structured Parzen estimator.

Bergstra et al. (2011), multivariate as in Falkner et al. (2018). The sampler of every point is
seeded by the search's seed and the point's number: a resumed search asks for the same points.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.model.errors import UsageError
from steelyard.tuning.search.space import Point, Range

if TYPE_CHECKING:
    import optuna

STARTUP = 8
"""Points that are drawn at random before the estimator is asked."""
_WORSE = 1.0
"""By how much a point that failed is worse than the worst: the estimator only ranks."""


@dataclass(frozen=True)
class ReportedTrial:
    """A point that was weighed; None: it failed."""

    point: Point
    log_ratio: float | None


def require_optuna() -> None:
    """UsageError: it is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError(
            "optuna is needed to search settings, and is not installed",
            hint="pip install 'steelyard[search]'",
        )


def derived_seed(seed: int, *what: object) -> int:
    """A seed of its own for each thing that is drawn, below 2³¹."""
    key = " ".join(map(str, (seed, *what)))
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4]) >> 1


def next_point(
    space: Collection[Range],
    seed: int,
    number: int,
    reported: Sequence[ReportedTrial],
    pending: Sequence[Point],
) -> Point:
    """Point `number` (from 0).

    One that failed counts as worse than all others: the estimator reads no trial of Optuna's state
    FAIL, and would go on proposing what crashes. Those under way count as the mean of those
    reported, so that the points of one round differ (constant liar: Ginsbourger et al., 2010).
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(
        seed=derived_seed(seed, "point", number),
        n_startup_trials=STARTUP,
        multivariate=True,
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {dimension.name: _distribution(dimension) for dimension in space}
    ratios = [trial.log_ratio for trial in reported if trial.log_ratio is not None]
    mean = sum(ratios) / len(ratios) if ratios else 0.0
    worst = min(ratios, default=0.0) - _WORSE
    for trial in (*reported, *(ReportedTrial(point, mean) for point in pending)):
        within = {n: v for n, v in trial.point.items() if n in distributions}
        study.add_trial(
            optuna.trial.create_trial(
                params=within,
                distributions={name: distributions[name] for name in within},
                value=worst if trial.log_ratio is None else trial.log_ratio,
            )
        )
    return dict(study.ask(distributions).params)


def _distribution(dimension: Range) -> optuna.distributions.BaseDistribution:
    import optuna

    if dimension.kind == "word":
        return optuna.distributions.CategoricalDistribution(dimension.words)
    if dimension.kind == "count":
        return optuna.distributions.IntDistribution(
            round(dimension.low), round(dimension.high), log=dimension.log
        )
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
