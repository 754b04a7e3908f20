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
    words = " ".join(map(str, (seed, *what)))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4]) >> 1


def next_point(
    space: Collection[Range],
    seed: int,
    number: int,
    told: Sequence[ReportedTrial],
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
    distributions = {one.name: _distribution(one) for one in space}
    known = [one.log_ratio for one in told if one.log_ratio is not None]
    mean = sum(known) / len(known) if known else 0.0
    worst = min(known, default=0.0) - _WORSE
    for one in (*told, *(ReportedTrial(point, mean) for point in pending)):
        within = {n: v for n, v in one.point.items() if n in distributions}
        study.add_trial(
            optuna.trial.create_trial(
                params=within,
                distributions={name: distributions[name] for name in within},
                value=worst if one.log_ratio is None else one.log_ratio,
            )
        )
    return dict(study.ask(distributions).params)


def _distribution(one: Range) -> optuna.distributions.BaseDistribution:
    import optuna

    if one.kind == "word":
        return optuna.distributions.CategoricalDistribution(one.words)
    if one.kind == "count":
        return optuna.distributions.IntDistribution(round(one.low), round(one.high), log=one.log)
    return optuna.distributions.FloatDistribution(one.low, one.high, log=one.log)
