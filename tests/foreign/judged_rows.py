"""Rows of arms to be judged, and what a test asks of the judgement."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.judgement import Judgement, NumberContrast
from steelyard.foreign.metric import Metric
from steelyard.foreign.series import Order, Rows, Series
from steelyard.model.threat import Observation

TIME = Metric("time", "s", False)
Seen = TypeVar("Seen", bound=Observation)


def numbers(
    *arms: Any, order: Order = Order.RANDOM, rows: Rows = Rows.BESIDE, **more: Any
) -> Comparison:
    """Arms a, b, c … of seconds; by default their order was drawn at random."""
    series = tuple(
        arm if isinstance(arm, Series) else Series("abcdefgh"[i], np.asarray(arm, dtype=float))
        for i, arm in enumerate(arms)
    )
    return Comparison(("f",), "CSV", more.pop("metric", TIME), series, order, rows, **more)


def noise(seed: int, n: int, sd: float = 0.01) -> Any:
    return np.exp(np.random.default_rng(seed).normal(0, sd, n))


def names(contrast: NumberContrast) -> set[str]:
    return {threat.name for threat in contrast.threats}


def only(judgement: Judgement) -> NumberContrast:
    (contrast,) = judgement.contrasts
    return contrast


def only_of(contrast: NumberContrast, kind: type[Seen]) -> Seen:
    """The only threat of this class."""
    (threat,) = [threat for threat in contrast.threats if isinstance(threat, kind)]
    return threat


def finding(judgement: Judgement, name: str) -> Any:
    return next(one for one in judgement.findings if one.name == name)
