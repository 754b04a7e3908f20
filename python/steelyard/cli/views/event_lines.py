"""Formats each event of a weighing as one line of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.model.units import NS_PER_S, format_duration, format_percent, percent_of_log
from steelyard.report.words import finite, full_stop, reading

Facts = Mapping[str, Any]


def plan_line(plan: Facts) -> str:
    """`"12 epochs of 6.5 s, slices of 50 ms, placement symmetric, … seed 7"`."""
    parts = [f"{plan.get('epochs')} epochs"]
    epoch_ns, slice_ns = finite(plan.get("epoch_ns")), finite(plan.get("slice_ns"))
    if epoch_ns:
        parts[0] += f" of {format_duration(epoch_ns)}"
    if slice_ns:
        parts.append(f"slices of {format_duration(slice_ns)}")
    if plan.get("placement"):
        parts.append(f"placement {plan['placement']}")
    parts.append(looks_words(plan))
    parts.append(f"seed {plan.get('seed')}")
    return ", ".join(part for part in parts if part)


def looks_words(plan: Facts) -> str:
    """When a verdict may fall: `"looks after epoch 8 and 12"`."""
    if plan.get("open_ended"):
        return "a look after every epoch"
    if plan.get("look"):
        return f"looks after epoch {plan['look']} and {plan.get('epochs')}"
    return f"one look after epoch {plan.get('epochs')}"


def epoch_line(n: int, total: int, contrasts: Sequence[Facts], seconds_left: float | None) -> str:
    """`"epoch  3/12  off against on +2.31 %, so far +2.40 % [+1.20, +3.50], 54 s left"`."""
    said = [_contrast_words(contrast) for contrast in contrasts]
    left = left_words(seconds_left)
    width = len(str(total))
    return f"epoch {n:>{width}}/{total}  " + "; ".join(said) + (f", {left}" if left else "")


def recalled_line(n: int, total: int, contrasts: Sequence[Facts]) -> str:
    """`"record: 4 of 12 epochs; off against on, so far +2.40 % [+1.20, +3.50]"`."""
    said = [f"{_pair(contrast)}, so far {reading(contrast)}" for contrast in contrasts]
    return f"record: {n} of {total} epochs; " + "; ".join(said)


def left_words(seconds_left: float | None) -> str:
    """`"54 s left"`; nothing where it is not known."""
    if seconds_left is None or seconds_left < 0:
        return ""
    return f"{format_duration(round(seconds_left) * NS_PER_S) if seconds_left >= 1 else '0 s'} left"


def epoch_reading(contrast: Facts) -> str:
    """The reading of the epoch that just ended, or that it was lost."""
    d = finite(contrast.get("d"))
    return "lost" if d is None else format_percent(percent_of_log(d))


def threat_line(threat: Facts) -> str:
    """`"doubt: steal or throttling: the hypervisor took …"`."""
    kind = "invalid" if threat.get("invalidates") else "doubt"
    return f"{kind}: {threat.get('name')}: {threat.get('seen')}"


def verdict_line(verdict: Facts) -> str:
    """The verdict in one sentence."""
    return f"verdict: {full_stop(str(verdict.get('sentence') or 'none'))}"


def _contrast_words(contrast: Facts) -> str:
    return f"{_pair(contrast)} {epoch_reading(contrast)}, so far {reading(contrast)}"


def _pair(contrast: Facts) -> str:
    return f"{contrast.get('arm')} against {contrast.get('control')}"
