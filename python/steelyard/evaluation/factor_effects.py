"""Reads the effects of a factorial from the epochs in which all its cells were measured.

An epoch gives every cell the log ratio to the control; an effect is a weighted sum of these, fixed
in the plan. All effects are judged together by joint sign flips with the largest |t| (max_t.py),
and so are all simple effects among themselves. A cell without work would make every effect
infinite, so such an epoch is left out here, counted and reported; the contrasts of the cells keep
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np

from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.analysis.decision.looks import Terms
from steelyard.analysis.decision.max_t import ALPHA, JointResult, joint_flips
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.judging import terms_of
from steelyard.evaluation.rates import read_search_epoch
from steelyard.evaluation.rule import VerdictKind, decide
from steelyard.model.estimate import UNBOUNDED
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Observation
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import Percent
from steelyard.record.factors import (
    EffectLine,
    FactorEffects,
    FactorsPlan,
    PlannedEffect,
    SimpleEffectLine,
)
from steelyard.record.reader import RecordContents

EffectVerdict = Literal[
    "slower", "faster", "equivalent", "matters", "nonzero", "negligible", "inconclusive", "invalid"
]
Weights = Mapping[str, float]


def factor_effects(
    recorded: RecordContents, contrasts: Sequence[WeighedContrast]
) -> FactorEffects | None:
    """Effects of a weighing that has ended, without their sentences; None where its arms are no
    cells."""
    plan = recorded.plan.factors
    if plan is None:
        return None
    terms = terms_of(recorded.plan, recorded.events)
    logs = cell_logs(recorded, plan, terms.metric)
    whole = [bool(np.isfinite(row).all()) for row in logs]
    used = logs[np.array(whole, dtype=bool)]
    threats = [threat for contrast in contrasts for threat in contrast.threats]
    return FactorEffects(
        sentences=(),
        fraction=plan.fraction,
        cells=plan.cells,
        effects=_effects(plan, used, terms, threats, len(logs)),
        simple_effects=_simple_effects(plan, used),
        metric=terms.metric,
        higher_is_better=terms.higher_is_better,
        margin_percent=100 * terms.margin,
        confidence=1 - ALPHA,
        epochs=len(used),
        left_out=tuple(
            epoch.totals.epoch
            for epoch, complete in zip(recorded.epochs, whole, strict=True)
            if not complete
        ),
    )


def cell_logs(recorded: RecordContents, plan: FactorsPlan, metric: str) -> Floats:
    """ln(cell ÷ control) of the metric, shape (epochs, cells), in the order of the plan's cells.
    Not finite where a cell, or the control, has no reading."""
    _, *others = [cell.arm for cell in plan.cells]
    rows = []
    for epoch in recorded.epochs:
        ratios = [_log_ratio(recorded, epoch.totals, arm, metric) for arm in others]
        rows.append([0.0 if np.isfinite(ratios).any() else math.nan, *ratios])
    return np.array(rows, dtype=float).reshape(-1, len(plan.cells))


def _log_ratio(recorded: RecordContents, totals: EpochTotals, arm: str, metric: str) -> float:
    """Of a cell to the control."""
    search, control = recorded.plan.search, recorded.study.control.name
    if search is not None:
        return read_search_epoch(totals, arm, control, search).d
    return epoch_log_ratio(totals, arm, control, metric)


def joint_effects(
    logs: Floats, arms: Sequence[str], weights: Sequence[Weights]
) -> tuple[JointResult, ...]:
    """Contrasts of the cells' logs, shape (epochs, cells), each with its joint interval; `weights`:
    by arm, one mapping a contrast. With fewer than two epochs every interval is unbounded."""
    if len(logs) < 2 or not weights:
        return tuple(JointResult(math.nan, UNBOUNDED, 1.0) for _ in weights)
    table = np.array([[by_arm[arm] for arm in arms] for by_arm in weights], dtype=float)
    return joint_flips(logs @ table.T)


def _effects(
    plan: FactorsPlan, logs: Floats, terms: Terms, threats: Sequence[Observation], epochs: int
) -> tuple[EffectLine, ...]:
    arms = [cell.arm for cell in plan.cells]
    results = joint_effects(logs, arms, [effect.weights for effect in plan.effects])
    stage = terms.stage(epochs, len(logs), True)
    lines = []
    for planned, result in zip(plan.effects, results, strict=True):
        decision = decide(stage, result.interval, result.interval, terms, threats)
        lines.append(
            EffectLine(
                factors=planned.factors,
                aliases=planned.aliases,
                **_percents(result),
                p_value=result.p_value,
                verdict=_word(planned, decision.kind, beyond=decision.at_least_margin),
            )
        )
    return tuple(lines)


def _simple_effects(plan: FactorsPlan, logs: Floats) -> tuple[SimpleEffectLine, ...]:
    arms = [cell.arm for cell in plan.cells]
    results = joint_effects(logs, arms, [effect.weights for effect in plan.simple_effects])
    return tuple(
        SimpleEffectLine(
            factor=effect.factor, by=effect.by, level=effect.level, **_percents(result)
        )
        for effect, result in zip(plan.simple_effects, results, strict=True)
    )


class _Percents(TypedDict):
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent


def _percents(result: JointResult) -> _Percents:
    """Values that are not finite are unbounded or unknown: the record keeps None."""
    return {
        "estimate_percent": percent_of_log(result.value),
        "low_percent": percent_of_log(result.interval.low) if _finite(result) else None,
        "high_percent": percent_of_log(result.interval.high) if _finite(result) else None,
    }


def _finite(result: JointResult) -> bool:
    return math.isfinite(result.interval.width)


def _word(planned: PlannedEffect, kind: VerdictKind, *, beyond: bool) -> EffectVerdict:
    """A main effect has the verdict of an arm; an interaction is no treatment, and has its own
    words."""
    match kind:
        case VerdictKind.INVALID:
            return "invalid"
        case VerdictKind.INCONCLUSIVE:
            return "inconclusive"
        case VerdictKind.EQUIVALENT:
            return "equivalent" if len(planned.factors) == 1 else "negligible"
    if len(planned.factors) == 1:
        return "slower" if kind is VerdictKind.SLOWER else "faster"
    return "matters" if beyond else "nonzero"


def parts_of(effect: EffectLine, effects: FactorEffects) -> tuple[SimpleEffectLine, ...]:
    """Of two factors that interact the effect of one at both levels of the other: of that which
    comes nearest to doing nothing at one of them. None of more factors."""
    by_factor = [
        [s for s in effects.simple_effects if _is(s, name, effect)] for name in effect.factors
    ]
    if len(by_factor) != 2 or not all(by_factor):
        return ()
    return tuple(min(by_factor, key=lambda parts: min(map(size_of, parts))))


def _is(simple: SimpleEffectLine, factor: str, of: EffectLine) -> bool:
    return simple.factor == factor and simple.by in of.factors


def size_of(simple: SimpleEffectLine) -> float:
    """In percent, without sign."""
    return abs(simple.estimate_percent or 0.0)
