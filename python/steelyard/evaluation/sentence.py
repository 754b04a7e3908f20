"""Writes a verdict as one sentence, with its interval, its confidence and its epochs."""

from __future__ import annotations

import math

from steelyard.analysis.decision.forecast import MOST_EPOCHS
from steelyard.analysis.decision.looks import Stage
from steelyard.evaluation.contrast import Contrast, Details, ReplicateWords
from steelyard.evaluation.rule import VerdictKind
from steelyard.model.units import NS_PER_S, format_duration, format_percent, percent_of_log

_LONGEST_HEADING = 60
_EPOCHS = ReplicateWords().noun
_METRICS = {
    "throughput": "throughput",
    "latency_mean": "mean latency",
    "geometric_mean": "geometric mean time",
}


def sentence_of(contrast: Contrast[Details]) -> str:
    """One sentence without a full stop, for example
    `off is faster than on by 3.1 % [2.6, 3.5] of throughput (95 % interval, 12 epochs)`."""
    kind = contrast.verdict.kind
    if kind is VerdictKind.INVALID:
        names = [threat.name for threat in contrast.threats if threat.invalidates]
        return f"invalid: nothing can be said of {_pair(contrast)}: {', '.join(names)}"
    if kind is VerdictKind.INCONCLUSIVE:
        return f"inconclusive: {_reading(contrast)}; {forecast_words(contrast)}"
    if kind is VerdictKind.EQUIVALENT:
        return _equivalent(contrast)
    return _different(contrast)


def _different(contrast: Contrast[Details]) -> str:
    """Sizes without sign, since "slower" and "faster" carry it; the end near zero first."""
    estimate = contrast.estimate
    near, far = sorted((estimate.low, estimate.high), key=abs)
    places = _places(contrast)
    value, low, high = (
        _signed(percent_of_log(log), places).lstrip("+−") if math.isfinite(log) else "unbounded"
        for log in (estimate.value, near, far)
    )
    beyond = f", beyond ±{_margin(contrast)}" if contrast.verdict.at_least_margin else ""
    return (
        f"{contrast.arm} is {contrast.verdict.kind.value} than {contrast.control} by "
        f"{value} % [{low}, {high}] of {_metric(contrast)} ({_basis(contrast)}){beyond}"
    )


def _equivalent(contrast: Contrast[Details]) -> str:
    places = _places(contrast)
    ends = contrast.details.equivalence_interval_percent
    low, high = ("unbounded" if end is None else _signed(end, places) for end in ends)
    though = ", though not zero" if contrast.verdict.nonzero else ""
    inner = round(100 * (1 - 2 * contrast.details.equivalence_level_one_sided))
    return (
        f"{contrast.arm} and {contrast.control} are equivalent within ±{_margin(contrast)}"
        f"{though}: {_figures(contrast)} of {_metric(contrast)} ({_basis(contrast)}; the "
        f"{inner} % interval for equivalence is [{low}, {high}])"
    )


def _reading(contrast: Contrast[Details]) -> str:
    if contrast.epochs == 0:
        return f"{_pair(contrast)} has no epoch with a reading"
    return (
        f"{_pair(contrast)} reads {_figures(contrast)} of {_metric(contrast)} ({_basis(contrast)})"
    )


def forecast_words(contrast: Contrast[Details]) -> str:
    """What more measuring would do: `if the effect is as large as it reads, about 6 min more (3 to
    14 min) would settle ±1 %`."""
    forecast = contrast.forecast
    if contrast.replicates.instead:
        return contrast.replicates.instead
    if forecast is None:
        return f"too few {_noun(contrast)} to say how much more would settle it"
    margin = _margin(contrast)
    hopeless = forecast.margin is None or forecast.margin.likely >= MOST_EPOCHS
    needed = contrast.needed
    if needed is None:
        where = " on this machine" if _noun(contrast) == _EPOCHS else ""
        return f"{_nothing(contrast)} will settle ±{margin}{where}"
    target = f"settle ±{margin}"
    if hopeless:
        target = (
            f"tell it from zero, but it lies so near ±{margin} that {_nothing(contrast)} will "
            "settle that"
        )
    elif forecast.sign is not None and forecast.margin != forecast.sign:
        sign_first = forecast.margin is not None and (forecast.sign.likely < forecast.margin.likely)
        target = "tell it from zero" if sign_first else target
    likely, low, high = (_span(contrast, n) for n in (needed.likely, needed.fewest, needed.most))
    around = f" ({low} to {high})" if low != high else ""
    return f"if the effect is as large as it reads, about {likely} more{around} would {target}"


def _span(contrast: Contrast[Details], epochs: int) -> str:
    if not contrast.terms.epoch_seconds:
        return f"{epochs} {_noun(contrast)}"
    return format_duration(epochs * contrast.terms.epoch_seconds * NS_PER_S)


def _figures(contrast: Contrast[Details]) -> str:
    estimate, places = contrast.estimate, _places(contrast)
    if math.isinf(estimate.low) and math.isinf(estimate.high):
        return f"{_signed(percent_of_log(estimate.value), places)} % [unbounded]"
    low, high = (
        "unbounded" if log == -math.inf else _signed(percent_of_log(log), places)
        for log in (estimate.low, estimate.high)
    )
    return f"{_signed(percent_of_log(estimate.value), places)} % [{low}, {high}]"


def _basis(contrast: Contrast[Details]) -> str:
    level = round(100 * contrast.estimate.confidence)
    kind = "t interval" if contrast.details.look == Stage.TOO_FEW else "interval"
    basis = contrast.replicates.basis or f"{contrast.epochs} {_noun(contrast)}"
    return f"{level} % {kind}, {basis}"


def _nothing(contrast: Contrast[Details]) -> str:
    """What will not help."""
    return "no time" if _noun(contrast) == _EPOCHS else f"no number of {_noun(contrast)}"


def _noun(contrast: Contrast[Details]) -> str:
    """What a replicate is called, in the plural: numbers from elsewhere have rows."""
    return contrast.replicates.noun


def _pair(contrast: Contrast[Details]) -> str:
    return f"{contrast.arm} against {contrast.control}"


def _metric(contrast: Contrast[Details]) -> str:
    column = contrast.replicates.column[:_LONGEST_HEADING]
    if column:
        # A heading comes from a file: what a terminal would act on is not printed.
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in column)
    return _METRICS.get(contrast.terms.metric, contrast.terms.metric)


def _margin(contrast: Contrast[Details]) -> str:
    return f"{100 * contrast.terms.margin:g} %"


def _places(contrast: Contrast[Details]) -> int:
    """Decimals of every figure in a sentence: one where all are 1 % or more, else two."""
    estimate = contrast.estimate
    logs = (estimate.value, estimate.low, estimate.high)
    return 1 if all(abs(percent_of_log(log)) >= 1 for log in logs) else 2


def _signed(percent: float, places: int) -> str:
    return format_percent(percent, places).removesuffix(" %")
