"""Says a contrast in words: the sentence, the interval, the verdict's mark and colour."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from steelyard.model.units import format_percent

Facts = Mapping[str, Any]

MARKS = {"slower": "▼", "faster": "▲", "equivalent": "=", "inconclusive": "?", "invalid": "✕"}
"""One sign a verdict, so that no verdict rests on colour."""

QUANTITIES = {
    "throughput": "throughput",
    "latency_mean": "mean latency",
    "geometric_mean": "geometric mean time",
    "cpu_us": "server CPU",
    "wal_bytes": "WAL",
}


_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_DIGITS = ((100.0, 0), (10.0, 1), (0.05, 2), (0.0, 3))
"""Widths of an interval in percent, and how many decimals are shown from there on."""


def finite(value: object) -> float | None:
    """The value as a number, None where there is no bound (null, NaN, infinite)."""
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def quantity(contrast: Facts) -> str:
    """What was weighed, in words: `"throughput"`."""
    metric = str(contrast.get("metric", "throughput"))
    return QUANTITIES.get(metric, metric.replace("_", " "))


def interval(entry: Facts) -> str:
    """`"[−3.51, −2.60] %"`; an open end is infinite, no interval is `"no interval"`."""
    low, high = finite(entry.get("low_percent")), finite(entry.get("high_percent"))
    if low is None and high is None:
        return "no interval"
    digits = digits_for(entry)
    return f"[{_end(low, digits, '−∞')}, {_end(high, digits, '+∞')}] %"


def estimate(entry: Facts) -> str:
    """`"−3.06 %"`, or a dash where there is none."""
    value = finite(entry.get("estimate_percent"))
    return "–" if value is None else format_percent(value, digits_for(entry))


def reading(entry: Facts) -> str:
    """Estimate and interval in one breath: `"−3.06 % [−3.51, −2.60]"`."""
    if finite(entry.get("estimate_percent")) is None:
        return "–"
    return f"{estimate(entry)} {interval(entry).removesuffix(' %')}"


def digits_for(entry: Facts) -> int:
    """Decimals worth showing: two, fewer for wide intervals, three for very narrow ones."""
    low, high = finite(entry.get("low_percent")), finite(entry.get("high_percent"))
    if low is None or high is None or high <= low:
        return 2
    width = high - low
    return next(digits for limit, digits in _DIGITS if width >= limit)


def sentence(contrast: Facts) -> str:
    """One contrast as a sentence a person would say, with its interval."""
    arm, control = contrast.get("arm", "the arm"), contrast.get("control", "the control")
    size = f"{reading(contrast)} of {quantity(contrast)}"
    match contrast.get("verdict"):
        case "slower" | "faster" as word:
            return f"{arm} is {word} than {control}: {size}."
        case "equivalent":
            aside = ", though a small difference is there" if contrast.get("nonzero") else ""
            return f"{arm} and {control} are equivalent{aside}: {size}."
        case "invalid":
            return f"The weighing of {arm} against {control} is invalid; it read {size}."
        case _:
            return f"Inconclusive: {arm} against {control} read {size}."


def truth_words(contrast: Facts) -> str:
    """Of equal arms and known weights: `"must read −2.91 %: the interval holds it"`; else empty."""
    true, low = finite(contrast.get("true_percent")), finite(contrast.get("true_low_percent"))
    if true is None:
        return ""
    high = finite(contrast.get("true_high_percent"))
    open_by = f" ± {(high - low) / 2:.2g}" if low is not None and high is not None else ""
    must = f"must read {format_percent(true).removesuffix(' %')}{open_by} %"
    held = {True: "the interval holds it", False: "the interval misses it"}
    known = held.get(contrast.get("covered"))  # type: ignore[arg-type]
    return f"{must}: {known}" if known else must


def full_stop(text: str) -> str:
    """The text ending as a sentence does."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def told(contrast: Facts, said: str) -> str:
    """The sentence as it stands beside the verdict's word, which it need not repeat."""
    return full_stop(said.removeprefix(f"{contrast.get('verdict')}: "))


def interval_words(details: Facts) -> str:
    """How the interval was made: the method, which of its bounds, and at which level."""
    method = str(details.get("method", ""))
    made = []
    if "sign flips" in method:
        k, subsets = int(details.get("k") or 0), int(details.get("subsets") or 0)
        made.append(
            "The interval is the set of effects that random changes of the epochs' signs cannot "
            "reject (Hartigan 1969; Canay, Romano and Shaikh 2017): of the means of "
            f"{_grouped(subsets)} {'balanced ' if 'balanced' in method else ''}subsets of epochs "
            f"the {ordinal(k)} smallest and the {ordinal(k)} largest."
        )
    if "e-process" in method:
        made.append(
            "After every epoch the effects were cut off that an e-process of symmetric epochs "
            "rejects (Vovk and Wang 2022), which stays valid while one watches."
        )
    if not made:
        return "Too few epochs for a verdict: an interval shown is a t interval, for the eye."
    level = finite(details.get("level"))
    if level is not None:
        made.append(f"Its own level is {level * 100:.3g} %.")
    made.append(
        "Looks were planned before the first slice; their error rates add up to 5 % at most."
    )
    return " ".join(made)


def ordinal(number: int) -> str:
    """`"1st"`, `"5th"`, `"22nd"`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"


def scope(contrast: Facts) -> str:
    """What the interval rests on: `"95 % confidence, 12 epochs, 768 blocks"`."""
    parts = []
    confidence = finite(contrast.get("confidence"))
    if confidence is not None:
        percent = confidence * 100 if confidence <= 1 else confidence
        parts.append(f"{percent:.3g} % confidence")
    for name in ("epochs", "blocks"):
        if isinstance(contrast.get(name), int):
            count = contrast[name]
            parts.append(f"{_grouped(count)} {name if count != 1 else name[:-1]}")
    return ", ".join(parts)


def course(verdict: Facts, plan: Facts) -> str:
    """What was out of the ordinary in how the weighing went; empty where nothing was."""
    said = []
    if verdict.get("resumed"):
        said.append("It was interrupted and resumed: epochs torn in the middle were begun again.")
    if verdict.get("interrupted"):
        contrasts = verdict.get("contrasts") or [{}]
        told, planned = contrasts[0].get("epochs"), plan.get("epochs")
        part = f" on {told} of {planned} epochs" if told is not None and planned else ""
        said.append(f"It was ended before its planned end and judged{part}.")
    return " ".join(said)


def better_side(contrast: Facts) -> tuple[str, str]:
    """What lies left and right of zero: `("slower", "faster")`, turned for latencies."""
    if contrast.get("higher_is_better", True):
        return "slower", "faster"
    return "faster", "slower"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _end(value: float | None, digits: int, open_end: str) -> str:
    return open_end if value is None else format_percent(value, digits).removesuffix(" %")
