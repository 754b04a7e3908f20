"""Formats a contrast as text: its sentence, interval and method, the sign of each verdict, and what
a million transactions cost in both arms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from steelyard.model.latency_goal import METRIC_WORDS
from steelyard.model.price import money
from steelyard.model.units import (
    NO_INFORMATION,
    format_digits,
    format_percent,
    interval_decimals,
    spread_words,
)
from steelyard.record.contrast import (
    ContrastDetails,
    ContrastLine,
    Cost,
    Ends,
    EpochDetail,
    JudgedContrast,
    KnownTruth,
    PercentInterval,
    ReadContrast,
)

MARKS = {"slower": "▼", "faster": "▲", "equivalent": "=", "inconclusive": "?", "invalid": "✕"}
"""One sign a verdict, so that no verdict rests on colour."""

QUANTITIES = {
    **METRIC_WORDS,
    "cpu_us": "server CPU",
    "wal_bytes": "WAL",
}

_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_DIGITS = ((100.0, 0), (10.0, 1), (0.05, 2), (0.005, 3))
_MOST_DIGITS = 6
"""Widths of an interval in percent, and how many decimals are shown from there on."""


def ends_of(interval: PercentInterval) -> Ends:
    """Low and high."""
    return interval.low_percent, interval.high_percent


def interval_text(ends: Ends) -> str:
    """`"[−3.51, −2.60] %"`; an open end is infinite, no interval is `"no interval"`, and one that
    is too wide for figures is words."""
    low, high = ends
    if spread := spread_words(low, high):
        return spread
    if low is None and high is None:
        return "no interval"
    digits = digits_for(ends)
    return f"[{_end(low, digits, '−∞')}, {_end(high, digits, '+∞')}] %"


def estimate_text(interval: PercentInterval) -> str:
    """`"−3.06 %"`, or a dash where there is none, or its interval is too wide for figures."""
    value, ends = interval.estimate_percent, ends_of(interval)
    if value is None or spread_words(*ends):
        return "–"
    return format_percent(value, digits_for(ends))


def reading_text(interval: PercentInterval) -> str:
    """Estimate and interval together: `"−3.06 % [−3.51, −2.60]"`."""
    if interval.estimate_percent is None:
        return "–"
    if spread := spread_words(*ends_of(interval)):
        return spread
    return f"{estimate_text(interval)} {interval_text(ends_of(interval)).removesuffix(' %')}"


def digits_for(ends: Ends) -> int:
    """Decimals worth showing: two, fewer for wide intervals, more for very narrow ones and for one
    that leaves zero out by less."""
    low, high = ends
    usual = 2
    if low is not None and high is not None and high > low:
        usual = _digits_of(high - low)
    return interval_decimals(low, high, usual)


def _digits_of(width: float) -> int:
    for limit, digits in _DIGITS:
        if width >= limit:
            return digits
    return min(math.ceil(-math.log10(width)) + 1, _MOST_DIGITS)


def sentence_text(contrast: ReadContrast) -> str:
    """One contrast as a sentence, with its interval."""
    arm, control = contrast.arm, contrast.control
    quantity = QUANTITIES.get(contrast.metric, contrast.metric.replace("_", " "))
    size = f"read {reading_text(contrast)} of {quantity}"
    if reading_text(contrast) == NO_INFORMATION:
        size = f"by how much {quantity} changes {NO_INFORMATION}"
    match contrast.verdict:
        case "slower" | "faster" as word:
            return f"{arm} is {word} than {control}: {size.removeprefix('read ')}."
        case "equivalent":
            small = ", though a small difference is there" if contrast.nonzero else ""
            return f"{arm} and {control} are equivalent{small}: {size.removeprefix('read ')}."
        case "invalid":
            it = "it " if size.startswith("read ") else ""
            return f"The weighing of {arm} against {control} is invalid; {it}{size}."
        case _ if size.startswith("read "):
            return f"Inconclusive: {arm} against {control} {size}."
        case _:
            return f"Inconclusive: {arm} against {control}, {size}."


def shown_sentence(contrast: JudgedContrast) -> str:
    """The sentence of the record without the verdict's word, which stands beside it; another one
    where its figures are no information."""
    text = contrast.sentence or sentence_text(contrast)
    if contrast.verdict != "invalid" and spread_words(*ends_of(contrast)):
        text = sentence_text(contrast)
    text = text.removeprefix(f"{contrast.verdict}: ")
    return full_stop(text.removeprefix(f"{contrast.verdict.capitalize()}: "))


def truth_text(truth: KnownTruth | None) -> str:
    """Of equal arms and known weights: `"must read −2.91 %: the interval holds it"`; else empty."""
    if truth is None:
        return ""
    low, high = truth.true_low_percent, truth.true_high_percent
    half = (
        f" ± {format_digits((high - low) / 2, 2)}" if low is not None and high is not None else ""
    )
    must = f"must read {format_percent(truth.true_percent).removesuffix(' %')}{half} %"
    if truth.covered is None:
        return must
    return f"{must}: the interval {'holds' if truth.covered else 'misses'} it"


def shown_epoch(row: EpochDetail) -> int:
    """The epoch as people count: from 1, where the record counts from 0."""
    return row.epoch + 1


def full_stop(text: str) -> str:
    """The text ending as a sentence does."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def method_text(details: ContrastDetails) -> str:
    """How the interval was made: the method, which of its bounds, and at which level."""
    sentences = []
    if "sign flips" in details.method:
        balanced = "balanced " if "balanced" in details.method else ""
        sentences.append(
            "The interval is the set of effects that random changes of the epochs' signs cannot "
            "reject (Hartigan 1969; Canay, Romano and Shaikh 2017): of the means of "
            f"{_grouped(details.subsets)} {balanced}subsets of epochs "
            f"the {ordinal(details.k)} smallest and the {ordinal(details.k)} largest."
        )
    if "e-process" in details.method:
        sentences.append(
            "After every epoch, effects that an e-process of symmetric epochs rejects were removed "
            "(Vovk and Wang 2022), which stays valid under continuous monitoring."
        )
    if not sentences:
        return (
            "Too few epochs for a verdict: an interval shown is a t interval, for orientation only."
        )
    sentences.append(f"Its own level is {format_digits(details.level * 100, 3)} %.")
    sentences.append(
        "Looks were planned before the first slice; their error rates add up to 5 % at most."
    )
    return " ".join(sentences)


def ordinal(number: int) -> str:
    """`"1st"`, `"5th"`, `"22nd"`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"


def scope_text(contrast: ContrastLine, counts: Mapping[str, int]) -> str:
    """What the interval rests on: `"95 % confidence, 12 epochs, 768 blocks"`; `counts`: name → how
    many."""
    parts = [f"{format_digits(contrast.confidence * 100, 3)} % confidence"]
    for name, count in counts.items():
        parts.append(f"{_grouped(count)} {name if count != 1 else name[:-1]}")
    return ", ".join(parts)


def better_side(contrast: ReadContrast) -> tuple[str, str]:
    """What lies left and right of zero: `("slower", "faster")`, turned for latencies."""
    return ("slower", "faster") if contrast.higher_is_better else ("faster", "slower")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _end(value: float | None, digits: int, open_end: str) -> str:
    return open_end if value is None else format_percent(value, digits).removesuffix(" %")


def with_sentences(costs: Sequence[Cost]) -> tuple[Cost, ...]:
    """The control's first; the others with their sentence, where they are compared with it."""
    if not costs:
        return ()
    control, *others = costs
    sentences = [cost_sentence(cost, control) if cost.control else "" for cost in others]
    return (
        control,
        *(
            cost.model_copy(update={"sentence": sentence})
            for cost, sentence in zip(others, sentences, strict=True)
        ),
    )


def cost_sentence(cost: Cost, control: Cost) -> str:
    """`a million transactions cost 0.0280 USD in off and 0.0290 USD in on: −3.4 % [−4.1, −2.7]`;
    without a full stop."""
    both = (
        f"a million transactions cost {money(cost.per_million, cost.currency)} in {cost.arm} and "
        f"{money(control.per_million, control.currency)} in {control.arm}"
    )
    if cost.estimate_percent is None:
        return both
    low, high = cost.low_percent, cost.high_percent
    ends = ", ".join(
        "unbounded" if end is None else format_percent(end).removesuffix(" %")
        for end in (low, high)
    )
    is_open = (low is None or low <= 0) and (high is None or high >= 0)
    open_words = "; which is cheaper is open" if is_open else ""
    return f"{both}: {format_percent(cost.estimate_percent)} [{ends}]{open_words}"
