"""Writes a verdict as one sentence, with its interval, its confidence and what that rests on: how
many epochs, of what, and how far apart checkpoints were.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from steelyard.analysis.decision.forecast import MOST_EPOCHS
from steelyard.analysis.decision.looks import Stage
from steelyard.evaluation.contrast import (
    AnswerWords,
    Contrast,
    CyclesBasis,
    Details,
    ReplicateFacts,
    ServersBasis,
)
from steelyard.evaluation.rule import VerdictKind
from steelyard.model.estimate import Estimate
from steelyard.model.latency_goal import goal_of, metric_words
from steelyard.model.units import (
    MOST_RATIO,
    NS_PER_S,
    counted,
    format_digits,
    format_duration,
    format_percent,
    format_rate,
    percent_of_log,
)
from steelyard.record.contrast import ContrastDetails
from steelyard.record.plan import Residency
from steelyard.record.turns.turn_summary import near_words, scaled_words

_LONGEST_HEADING = 60
_MOST_PLACES = 6
_EPOCHS = ReplicateFacts().noun
ALIKE = 0.1
"""Relative difference of two arms' distances up to which one is named for both."""
_WHERE: Mapping[Residency, str] = {
    "one server": "sessions of one running server",
    "several servers": "these instances as they stand",
    "own databases": "databases of ours on one running server",
}


def sentence_of(contrast: Contrast[Details]) -> str:
    """One sentence without a full stop, for example
    `off is faster than on by 3.1 % [2.6, 3.5] of throughput (95 % interval, 12 epochs)`."""
    kind = contrast.verdict.kind
    if kind is VerdictKind.INVALID:
        names = [threat.name for threat in contrast.threats if threat.invalidates]
        return f"invalid: nothing can be said of {_pair(contrast)}: {', '.join(names)}"
    if contrast.answer is not None:
        return _answer(contrast, contrast.answer)
    if kind is VerdictKind.INCONCLUSIVE:
        return f"inconclusive: {_reading(contrast)}; {forecast_words(contrast)}"
    if kind is VerdictKind.EQUIVALENT:
        return _equivalent(contrast)
    return _different(contrast)


def _answer(contrast: Contrast[Details], words: AnswerWords) -> str:
    """The verdict in the words of the question: `data checksums cost 2.7 % [2.2, 3.4] of
    throughput (95 % interval, 12 epochs), beyond ±1 %`."""
    kind = contrast.verdict.kind
    does = "" if words.plural else "s"
    if words.reads:
        return _reading_of(contrast, f"{words.subject} read{does}")
    if kind is VerdictKind.INCONCLUSIVE:
        what = f"what {words.subject} cost{does} or gain{does} is open"
        return f"inconclusive: {what}: {_reading(contrast)}; {forecast_words(contrast)}"
    if kind is VerdictKind.EQUIVALENT:
        though = ", though not by nothing" if contrast.verdict.nonzero else ""
        return (
            f"{words.subject} change{does} {_metric(contrast)} by less than "
            f"±{_margin(contrast)}{though}: {_pair(contrast)} reads {_figures(contrast)} "
            f"({_basis(contrast)}; {_inner(contrast)})"
        )
    return _cost_or_gain(contrast, words)


def _cost_or_gain(contrast: Contrast[Details], words: AnswerWords) -> str:
    """Where the arm lacks the subject, the sizes are those of the control against the arm: 100 %
    more without it is a cost of 50 %."""
    does = "" if words.plural else "s"
    estimate = contrast.estimate
    if words.lacks:
        estimate = replace(estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low)
    better = (contrast.verdict.kind is VerdictKind.FASTER) is not words.lacks
    metric = _metric(contrast)
    verb, of = ("gain", "of") if better else ("cost", "of")
    if not contrast.terms.higher_is_better:
        verb, of = ("take", "off") if better else ("add", "to")
    places = _places_of(estimate)
    near, _ = sorted((estimate.low, estimate.high), key=abs)
    other = contrast.arm if words.lacks else contrast.control
    ratio = percent_of_log(estimate.value)
    parts = (
        f"{words.subject} {verb}{does} {_sizes(estimate, places)} {of} {metric}",
        f" against {other}" if words.against else "",
        f": {1 + ratio / 100:.2f} times" if TIMES_FROM <= ratio < math.inf else "",
        f" ({_basis(contrast)})",
        _beyond(contrast) if abs(percent_of_log(near)) >= 100 * contrast.terms.margin else "",
    )
    return "".join(parts)


_LARGEST = format_digits(100 * (MOST_RATIO - 1), 3)
TIMES_FROM = 50.0
"""Percent from which on a change is also said as a factor."""


def _reading_of(contrast: Contrast[Details], subject: str) -> str:
    """Of what must read a known number: the reading, whatever the verdict."""
    reading = f"{subject} {_figures(contrast)} of {_metric(contrast)} ({_basis(contrast)})"
    match contrast.verdict.kind:
        case VerdictKind.INCONCLUSIVE:
            if contrast.epochs == 0:
                return f"inconclusive: {_reading(contrast)}"
            return f"inconclusive: {reading}; {forecast_words(contrast)}"
        case VerdictKind.EQUIVALENT:
            return f"{reading}, equivalent within ±{_margin(contrast)}; {_inner(contrast)}"
        case kind:
            return f"{reading}: {kind.value} than {contrast.control}{_beyond(contrast)}"


def _beyond(contrast: Contrast[Details]) -> str:
    return f", beyond ±{_margin(contrast)}" if contrast.verdict.at_least_margin else ""


def _sizes(estimate: Estimate, places: int) -> str:
    """Without sign, since the words carry it; the end near zero first. Where one arm did no work at
    all, the value is the whole, or has no bound: then what it is at least."""
    near, far = sorted((estimate.low, estimate.high), key=abs)
    value, low, high = (
        _signed(percent_of_log(log), places).lstrip("+−") for log in (estimate.value, near, far)
    )
    if math.isinf(far):
        high = "unbounded"
    if value == "unbounded":
        return f"at least {_LARGEST if low == value else low} %"
    return f"{value} % [{low}, {high}]"


def _different(contrast: Contrast[Details]) -> str:
    goal = goal_of(contrast.terms.metric)
    if goal is not None:
        more = "more" if contrast.verdict.kind is VerdictKind.FASTER else "less"
        return (
            f"{contrast.arm} carries {_sizes(contrast.estimate, _places(contrast))} {more} load "
            f"than {contrast.control} at {goal.words}{_rates(contrast)} ({_basis(contrast)})"
            f"{_beyond(contrast)}"
        )
    return (
        f"{contrast.arm} is {contrast.verdict.kind.value} than {contrast.control} by "
        f"{_sizes(contrast.estimate, _places(contrast))} of {_metric(contrast)} "
        f"({_basis(contrast)}){_beyond(contrast)}"
    )


def _rates(contrast: Contrast[Details]) -> str:
    """`": 5,210 against 5,000 tx/s"`: geometric means over the epochs that have a ratio."""
    details = contrast.details
    if not isinstance(details, ContrastDetails):
        return ""
    pairs = [
        (epoch.throughput.get(contrast.arm), epoch.throughput.get(contrast.control))
        for epoch in details.epochs
        if epoch.d is not None
    ]
    logs = [(math.log(arm), math.log(control)) for arm, control in pairs if arm and control]
    if not logs:
        return ""
    arm, control = (math.exp(math.fsum(column) / len(column)) for column in zip(*logs, strict=True))
    return f": {format_rate(arm)} against {format_rate(control)} tx/s"


def _equivalent(contrast: Contrast[Details]) -> str:
    though = ", though not zero" if contrast.verdict.nonzero else ""
    return (
        f"{contrast.arm} and {contrast.control} are equivalent within ±{_margin(contrast)}"
        f"{though}: {_figures(contrast)} of {_metric(contrast)} ({_basis(contrast)}; "
        f"{_inner(contrast)})"
    )


def _inner(contrast: Contrast[Details]) -> str:
    """The interval that the equivalence test goes by."""
    ends, places = contrast.details.equivalence_interval_percent, _places(contrast)
    low, high = ("unbounded" if end is None else _signed(end, places) for end in ends)
    inner = round(100 * (1 - 2 * contrast.details.equivalence_level_one_sided))
    return f"the {inner} % interval for equivalence is [{low}, {high}]"


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
        return counted(epochs, _noun(contrast))
    return format_duration(epochs * contrast.terms.epoch_seconds * NS_PER_S)


def _figures(contrast: Contrast[Details]) -> str:
    estimate, places = contrast.estimate, _places(contrast)
    value = format_percent(percent_of_log(estimate.value), places)
    if math.isinf(estimate.low) and math.isinf(estimate.high):
        return f"{value} [unbounded]"
    low, high = (
        "unbounded" if log == -math.inf else _signed(percent_of_log(log), places)
        for log in (estimate.low, estimate.high)
    )
    return f"{value} [{low}, {high}]"


def _basis(contrast: Contrast[Details]) -> str:
    level = round(100 * contrast.estimate.confidence)
    kind = "t interval" if contrast.details.look == Stage.TOO_FEW else "interval"
    basis = basis_text(contrast.replicates.basis) or counted(contrast.epochs, _noun(contrast))
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
    return metric_words(contrast.terms.metric)


def _margin(contrast: Contrast[Details]) -> str:
    return f"{100 * contrast.terms.margin:g} %"


def _places(contrast: Contrast[Details]) -> int:
    """Decimals of every figure in a sentence."""
    return _places_of(contrast.estimate)


def _places_of(estimate: Estimate) -> int:
    """One where all are 1 % or more, else two; more where two would make the end that decides, the
    nearer one of an interval without zero, read as zero."""
    value, low, high = (
        abs(percent_of_log(log)) for log in (estimate.value, estimate.low, estimate.high)
    )
    if min(value, low, high) >= 1:
        return 1
    decides = max(low, high) if 0.0 in estimate.interval else min(low, high)
    if not 0 < decides < 0.005:
        return 2
    return min(math.ceil(-math.log10(decides)) + 1, _MOST_PLACES)


def _signed(percent: float, places: int) -> str:
    return format_percent(percent, places).removesuffix(" %")


def basis_text(basis: ServersBasis | CyclesBasis | str) -> str:
    """`"12 epochs in cycles, a checkpoint every 15 s, 20 times as near as the settings have it"`;
    empty where there is nothing to be said."""
    if isinstance(basis, str):
        return basis
    if isinstance(basis, ServersBasis):
        return f"{counted(basis.epochs, 'epochs')}, {_WHERE[basis.residency]}"
    return _of_cycles(basis)


def _of_cycles(basis: CyclesBasis) -> str:
    text = f"{counted(basis.epochs, 'epochs')} in {basis.layout}"
    if basis.turns.continuous and basis.turns.stated_ns is not None:
        near = scaled_words(basis.turns, basis.arms)
        text += f", {format_duration(basis.turns.stated_ns)} of each arm measured"
    else:
        near = near_words(basis.turns, basis.arms)
        text += _distances(basis) or f", no checkpoint cycle within a {basis.unit}"
    return f"{text}, {near} as the settings have it" if near else text


def _distances(basis: CyclesBasis) -> str:
    """One distance where both arms have about the same, else that of each; empty where no arm has
    one."""
    of_control, of_arm = basis.cycle_seconds
    if of_control is None and of_arm is None:
        return ""
    both = of_control is not None and of_arm is not None
    if both and math.isclose(of_control or 0.0, of_arm or 0.0, rel_tol=ALIKE):
        return f", a checkpoint every {_spacing(of_control or 0.0)}"
    clauses = [
        f"{'no cycle' if seconds is None else f'every {_spacing(seconds)}'} in {name}"
        for name, seconds in zip(basis.arms, basis.cycle_seconds, strict=True)
    ]
    return f", checkpoints: {' and '.join(clauses)}"


def _spacing(seconds: float) -> str:
    return format_duration(round(seconds * NS_PER_S))
