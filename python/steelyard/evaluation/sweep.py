"""Judges the points of a sweep together: intervals that hold jointly.

The points are weighings of their own, each judged once at the end of its plan, so that their
errors are independent of each other; each has its share of 5 % (Bonferroni, which independence
makes nearly exact), so that with 95 % confidence no interval of an arm misses its truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats, confidence_set, one_sided_set
from steelyard.evaluation.judge_epochs import (
    ends_of_set,
    is_equal_within,
    unrecorded_log_ratio,
)
from steelyard.model.estimate import UNBOUNDED
from steelyard.record.contrast import ContrastLine, median_throughput
from steelyard.record.sweep import SweepPlan, Swept, SweptContrast, SweptPoint
from steelyard.record.verdict import Verdict

ALPHA = 0.05
FEWEST_EPOCHS = 8
P95 = 0.95
LEAST_BEND = 0.1
"""How far above its chord a curve rises at its knee, as a share of its whole rise."""
WeighedPoints = Mapping[str, Verdict | str]
"""Value → its verdict, or why it could not be weighed."""


def judge_points(
    plan: SweepPlan, question: str, weighed: WeighedPoints, record_of: Callable[[str], str]
) -> Swept:
    """All points, without sentences; `record_of` names the folder of a value's weighing."""
    verdicts = [verdict for verdict in weighed.values() if isinstance(verdict, Verdict)]
    alpha = ALPHA / max(1, len(verdicts))
    points = []
    for value in plan.values:
        weighing = weighed[value]
        if isinstance(weighing, str):
            points.append(SweptPoint(value=value, failed=weighing))
            continue
        named = {time.arm: time.named_cause for time in weighing.time}
        causes = {arm: cause.part for arm, cause in named.items() if cause is not None}
        contrasts = tuple(
            _contrast(line, alpha, causes.get(line.arm), weighing) for line in weighing.contrasts
        )
        pairs = tuple(_contrast(line, alpha, None, weighing) for line in weighing.pairs)
        points.append(
            SweptPoint(value=value, contrasts=contrasts, pairs=pairs, record=record_of(value))
        )
    margins = [line.details.margin_percent for verdict in verdicts for line in verdict.contrasts]
    return Swept(
        key=plan.key,
        study=plan.study,
        question=question,
        margin_percent=margins[0] if margins else 1.0,
        confidence=1 - ALPHA,
        points=tuple(points),
        sentences=(),
        seed=plan.seed,
        command=plan.command,
        seconds=round(sum(verdict.whole_seconds for verdict in verdicts), 1),
    )


def _contrast(line: ContrastLine, alpha: float, cause: str | None, whole: Verdict) -> SweptContrast:
    """A contrast with the interval and the verdict that it has among all points."""
    control_us, arm_us = _p95_us(line, whole)
    d = _log_ratios(line)
    invalid = line.verdict == "invalid" or len(d) < FEWEST_EPOCHS
    both = confidence_set(d, alpha).interval if not invalid else UNBOUNDED
    inner = one_sided_set(d, alpha).interval if not invalid else both
    verdict = "inconclusive"
    if line.verdict == "invalid":
        verdict = "invalid"
    elif is_equal_within(inner, line.details.margin_percent):
        verdict = "equivalent"
    elif both.low > 0 or both.high < 0:
        verdict = "faster" if (both.low > 0) is line.higher_is_better else "slower"
    low_percent, high_percent = ends_of_set(both)
    return SweptContrast.model_validate(
        {
            "arm": line.arm,
            "control": line.control,
            "metric": line.metric,
            "higher_is_better": line.higher_is_better,
            "estimate_percent": line.estimate_percent,
            "low_percent": low_percent,
            "high_percent": high_percent,
            "verdict": verdict,
            "epochs": line.epochs,
            "cause": cause,
            "threats": tuple(dict.fromkeys(threat.name for threat in line.threats)),
            "control_throughput": median_throughput(line.details, line.control),
            "arm_throughput": median_throughput(line.details, line.arm),
            "control_p95_us": control_us,
            "arm_p95_us": arm_us,
            "forecast_seconds": line.forecast_seconds,
        }
    )


def _p95_us(line: ContrastLine, whole: Verdict) -> tuple[float | None, float | None]:
    """Of the control, or of the other arm as it is beside the control, and of the arm; None: not
    kept."""
    rows = {row.arm: row for row in whole.latency if row.quantile == P95}
    row, other = rows.get(line.arm), rows.get(line.control)
    if row is None:
        return None, None
    if row.control == line.control:
        return row.control_us, row.arm_us
    return (None if other is None else other.arm_us), row.arm_us


def _log_ratios(line: ContrastLine) -> Floats:
    """Of the epochs that count, as the point's own verdict has them: infinite, which a record does
    not hold, where one arm did no work."""
    ratios = [
        unrecorded_log_ratio(line, line.details.epochs[number]) if ratio is None else ratio
        for number, ratio in enumerate(line.details.d)
    ]
    return np.array([ratio for ratio in ratios if not math.isnan(ratio)], dtype=float)


def knee(values: Sequence[str], rates: Sequence[float | None]) -> int | None:
    """Number of the point from which on throughput grows little with the swept value: where the
    curve, both axes from 0 to 1, lies highest above its chord (Satopää et al. 2011, "Finding a
    Kneedle in a Haystack"). None: values are no rising numbers, there are fewer than four points,
    or it nowhere bends so."""
    try:
        x = np.array([float(value) for value in values])
    except ValueError:
        return None
    if len(x) < 4 or any(rate is None for rate in rates) or not (np.diff(x) > 0).all():
        return None
    y = np.array(rates, dtype=float)
    last = int(np.argmax(y))
    if last == 0 or y[last] <= y[0]:
        return None
    above = (y - y[0]) / (y[last] - y[0]) - (x - x[0]) / (x[-1] - x[0])
    index = int(np.argmax(above[: last + 1]))
    return index if above[index] >= LEAST_BEND else None
