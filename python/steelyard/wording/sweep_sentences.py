"""Says what a sweep shows: one sentence an arm, and one for each two arms that are compared."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.model.units import format_reading
from steelyard.record.sweep import Swept, SweptContrast, SweptRow
from steelyard.study.change import short_key
from steelyard.wording.contrast_text import QUANTITIES


def sweep_sentences(swept: Swept) -> tuple[str, ...]:
    """Of every arm against the control, in their order; then of arms against another arm."""
    return tuple(sentence(swept, row) for row in swept.rows)


def sentence(swept: Swept, row: SweptRow) -> str:
    """One sentence without a full stop: `by clients, on against off: equivalent within ±1 % up to
    32; −4.1 % [−6.0, −2.2] at 256`. Another metric than throughput is named: `by clients, mean
    latency of on against off: slower, +4.1 % [2.2, 6.0], at 256`."""
    contrasts = swept.contrasts_of(row)
    failed = [point.value for point in swept.points if point.failed]
    equal = [value for value, contrast in contrasts if contrast.verdict == "equivalent"]
    parts = []
    if equal:
        within = f"equivalent within ±{swept.margin_percent:g} %"
        values = [point.value for point in swept.points]
        if equal == values:
            parts.append(f"{within} everywhere ({', '.join(equal)})")
        elif len(equal) > 1 and equal == values[: len(equal)] and _is_number(equal[-1]):
            parts.append(f"{within} up to {equal[-1]}")
        else:
            parts.append(f"{within} at {_listed(equal)}")
    for value, contrast in contrasts:
        if contrast.verdict in ("slower", "faster"):
            parts.append(_difference(value, contrast))
    unsure = [
        f"{value} ({reading(contrast)})"
        for value, contrast in contrasts
        if contrast.verdict == "inconclusive"
    ]
    if unsure:
        parts.append(f"not told at {_listed(unsure)}")
    invalid = [value for value, contrast in contrasts if contrast.verdict == "invalid"]
    if invalid:
        parts.append(f"invalid at {_listed(invalid)}")
    if failed:
        parts.append(f"could not be weighed at {_listed(failed)}")
    metric = _metric([contrast for _, contrast in contrasts])
    name = short_key(swept.key)
    return f"by {name}, {metric}{row.arm} against {row.control}: {'; '.join(parts)}"


def _metric(contrasts: Sequence[SweptContrast]) -> str:
    """`"mean latency of "`; nothing of throughput, nor where points have several metrics."""
    metrics = {contrast.metric for contrast in contrasts} or {"throughput"}
    metric = "throughput" if len(metrics) > 1 else metrics.pop()
    return "" if metric == "throughput" else f"{QUANTITIES.get(metric, metric)} of "


def _difference(value: str, contrast: SweptContrast) -> str:
    """`"−4.1 % [−6.0, −2.2] at 256"`; with the verdict's word in front where less of the metric is
    better, since the sign would mislead: `"slower, +4.1 % [2.2, 6.0], at 256"`."""
    if contrast.higher_is_better:
        return f"{reading(contrast)} at {value}"
    return f"{contrast.verdict}, {reading(contrast)}, at {value}"


def _is_number(value: str) -> bool:
    """Whether it has a place in a row of sizes, as the values before it have."""
    return value.lstrip("'-")[:1].isdigit()


def reading(contrast: SweptContrast) -> str:
    """`"−4.1 % [−6.0, −2.2]"`."""
    return format_reading(contrast.estimate_percent, contrast.low_percent, contrast.high_percent)


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
