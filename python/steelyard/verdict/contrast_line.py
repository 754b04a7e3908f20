"""Puts a contrast, with its sentence and the words of its threats, as verdict.json keeps it."""

from __future__ import annotations

import math

from steelyard.evaluation.contrast import Contrast, Details, WeighedContrast
from steelyard.model.latency_goal import is_rate_metric
from steelyard.record.contrast import ContrastLine, JudgedContrast
from steelyard.wording.threats.threat import threat_of
from steelyard.wording.verdict_sentence import sentence_of

UNITS = {"throughput": "transactions/s", "latency_mean": "µs", "geometric_mean": "µs"}


def unit_of(metric: str) -> str:
    """The unit of a metric; a heading of a file's is its own."""
    return UNITS["throughput"] if is_rate_metric(metric) else UNITS.get(metric, metric)


def judged_line(contrast: Contrast[Details]) -> JudgedContrast:
    """The contrast by the command line's contract."""
    percent = contrast.estimate.in_percent()
    seconds = contrast.forecast_seconds
    return JudgedContrast(
        arm=contrast.arm,
        control=contrast.control,
        metric=contrast.terms.metric,
        unit=unit_of(contrast.terms.metric),
        higher_is_better=contrast.terms.higher_is_better,
        estimate_percent=percent.value,
        low_percent=None if math.isinf(contrast.estimate.low) else percent.low,
        high_percent=None if math.isinf(contrast.estimate.high) else percent.high,
        confidence=contrast.estimate.confidence,
        verdict=contrast.verdict.kind.value,
        nonzero=contrast.verdict.nonzero,
        epochs=contrast.epochs,
        blocks=contrast.blocks,
        forecast_seconds=None if seconds is None else round(seconds, 1),
        threats=tuple(map(threat_of, contrast.threats)),
        sentence=sentence_of(contrast),
    )


def line_of(contrast: WeighedContrast) -> ContrastLine:
    """A contrast of a weighing as verdict.json keeps it."""
    return ContrastLine(**dict(judged_line(contrast)), details=contrast.details)
