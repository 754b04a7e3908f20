"""Gathers what verdict.json keeps of a contrast beside the command line's contract."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.analysis.checks.autocorrelation import mean_lag_one
from steelyard.analysis.checks.slots import slot_effect
from steelyard.analysis.decision.epoch_reading import EpochReading
from steelyard.analysis.decision.looks import CONFIDENCE, Stage, Terms, smallest_visible
from steelyard.analysis.decision.sets import JudgingSets
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.estimate import Interval
from steelyard.model.units import percent_of_log

Json = dict[str, Any]


def details_of(
    epochs: Sequence[EpochReading], terms: Terms, sets: JudgingSets, arm: str, control: str
) -> Json:
    """The details of a contrast after `epochs`; None stands for what is unbounded or unknown."""
    usable = [one for one in epochs if not math.isnan(one.d)]
    d = np.array([one.d for one in usable], dtype=float)
    sd = float(np.std(d, ddof=1)) if len(d) > 1 and np.isfinite(d).all() else math.nan
    one_sided = terms.alphas[0] if _early(sets.stage, terms, len(d)) else terms.alphas[1]
    return {
        "d": [_finite(one.d) for one in epochs],
        "epochs": [_epoch(one) for one in epochs],
        "k": sets.k,
        "subsets": sets.group,
        "look": sets.stage.value,
        "method": sets.method,
        "level": sets.level,
        "t_interval_percent": ends_or_none(t_interval(d, CONFIDENCE)),
        "equivalence_interval_percent": ends_or_none(sets.equivalence),
        "equivalence_level_one_sided": one_sided,
        "epoch_sd_percent": _finite(100 * sd),
        "slot_effect_percent": _slot_effect(usable, d, arm, control),
        "typical_percent": _typical(usable),
        "smallest_visible_percent": _finite(_visible(sd, len(d), terms)),
        "block_autocorrelation": _finite(mean_lag_one([e.block_autocorrelation for e in epochs])),
        "drops": {name: sum(e.dropped.get(name, 0) for e in epochs) for name in (control, arm)},
        "capped": {name: sum(e.capped.get(name, 0) for e in epochs) for name in (control, arm)},
        "lost_epochs": [e.epoch for e in epochs if not math.isfinite(e.d)],
        "attempt": terms.attempt,
        "margin_percent": 100 * terms.margin,
    }


def _epoch(one: EpochReading) -> Json:
    return {
        "epoch": one.epoch,
        "slots": dict(one.slots),
        "order": list(one.start_order),
        "d": _finite(one.d),
        "throughput": {name: _finite(value) for name, value in one.throughput.items()},
        "typical_d": _finite(one.typical_d),
        "outcome": one.outcome,
    }


def _early(stage: Stage, terms: Terms, n: int) -> bool:
    return stage is Stage.FIRST or (terms.open_ended and n < terms.epochs)


def _slot_effect(usable: Sequence[EpochReading], d: Floats, arm: str, control: str) -> float | None:
    if any(len(one.slots) != 2 or not {arm, control} <= set(one.slots) for one in usable):
        return None
    effect = slot_effect(d, [one.slots[arm] < one.slots[control] for one in usable])
    return percent_or_none(effect)


def _typical(usable: Sequence[EpochReading]) -> float | None:
    known = [one.typical_d for one in usable if math.isfinite(one.typical_d)]
    return percent_or_none(float(np.mean(known))) if known else None


def _visible(sd: float, n: int, terms: Terms) -> float:
    """In percent: what N epochs of this scatter would see with 80 % power."""
    return 100 * sd * smallest_visible(max(n, terms.epochs), balanced=True) if n > 1 else math.nan


def ends_or_none(interval: Interval) -> list[float | None]:
    """Both ends of log ratios in percent, as JSON keeps them."""
    return [percent_or_none(interval.low), percent_or_none(interval.high)]


def percent_or_none(log_ratio: float) -> float | None:
    """In percent as JSON keeps it: None where it is unbounded or unknown."""
    return _finite(percent_of_log(log_ratio)) if math.isfinite(log_ratio) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
