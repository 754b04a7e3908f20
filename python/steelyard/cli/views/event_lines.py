"""Formats each event of a weighing as one line of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import NS_PER_S, format_duration, format_percent, percent_of_log
from steelyard.report.contrast import Contrast, Json, Threat
from steelyard.report.contrast_text import full_stop, reading_text
from steelyard.report.plan import Plan


def plan_line(plan: Plan) -> str:
    """`"12 epochs of 6.5 s, slices of 50 ms, placement symmetric, … seed 7"`."""
    parts = [f"{plan.epochs} epochs"]
    if plan.epoch_ns:
        parts[0] += f" of {format_duration(plan.epoch_ns)}"
    if plan.slice_ns:
        parts.append(f"slices of {format_duration(plan.slice_ns)}")
    if plan.placement:
        parts.append(f"placement {plan.placement}")
    parts.append(looks_text(plan))
    parts.append(f"seed {plan.seed}")
    return ", ".join(parts)


def looks_text(plan: Plan) -> str:
    """When a verdict may fall: `"looks after epoch 8 and 12"`."""
    if plan.open_ended:
        return "a look after every epoch"
    if plan.look:
        return f"looks after epoch {plan.look} and {plan.epochs}"
    return f"one look after epoch {plan.epochs}"


def epoch_line(
    n: int, total: int, contrasts: Sequence[Contrast], seconds_left: float | None
) -> str:
    """`"epoch  3/12  off against on +2.31 %, so far +2.40 % [+1.20, +3.50], 54 s left"`."""
    texts = [_contrast_text(contrast) for contrast in contrasts]
    left = time_left_text(seconds_left)
    width = len(str(total))
    return f"epoch {n:>{width}}/{total}  " + "; ".join(texts) + (f", {left}" if left else "")


def recalled_line(n: int, total: int, contrasts: Sequence[Contrast]) -> str:
    """`"record: 4 of 12 epochs; off against on, so far +2.40 % [+1.20, +3.50]"`."""
    texts = [f"{contrast.pair}, so far {reading_text(contrast.interval)}" for contrast in contrasts]
    return f"record: {n} of {total} epochs; " + "; ".join(texts)


def time_left_text(seconds_left: float | None) -> str:
    """`"54 s left"`; nothing where it is not known."""
    if seconds_left is None or seconds_left < 0:
        return ""
    return f"{format_duration(round(seconds_left) * NS_PER_S) if seconds_left >= 1 else '0 s'} left"


def epoch_reading(d: float | None) -> str:
    """The log ratio of an epoch as a percent, or that it was lost."""
    return "lost" if d is None else format_percent(percent_of_log(d))


def threat_line(threat: Threat) -> str:
    """`"doubt: steal or throttling: the hypervisor took …"`."""
    kind = "invalid" if threat.invalidates else "doubt"
    return f"{kind}: {threat.name}: {threat.seen}"


def verdict_line(verdict: Json) -> str:
    """The verdict in one sentence."""
    return f"verdict: {full_stop(str(verdict.get('sentence') or 'none'))}"


def _contrast_text(contrast: Contrast) -> str:
    so_far = reading_text(contrast.interval)
    return f"{contrast.pair} {epoch_reading(contrast.latest_d)}, so far {so_far}"
