"""Puts a judged contrast, its numbers and its sentence, into the line that verdict.json keeps."""

from __future__ import annotations

import math

from steelyard.evaluation.contrast import Contrast, Details, WeighedContrast
from steelyard.evaluation.sentence import sentence_of
from steelyard.record.contrast import ContrastLine, JudgedContrast

UNITS = {"throughput": "transactions/s", "latency_mean": "µs", "geometric_mean": "µs"}


def judged_line(contrast: Contrast[Details]) -> JudgedContrast:
    """The contrast by the command line's contract."""
    percent = contrast.estimate.in_percent()
    seconds = contrast.forecast_seconds
    return JudgedContrast(
        arm=contrast.arm,
        control=contrast.control,
        metric=contrast.terms.metric,
        unit=UNITS.get(contrast.terms.metric, contrast.terms.metric),
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
        threats=contrast.threats,
        sentence=sentence_of(contrast),
    )


def line_of(contrast: WeighedContrast) -> ContrastLine:
    """A contrast of a weighing as verdict.json keeps it."""
    return ContrastLine(**dict(judged_line(contrast)), details=contrast.details)
