"""Says whether a published effect agrees with ours, differs from it, or cannot be told by it.

Writes a sweep as Markdown: a row a value and arm, with the control's throughput and doubts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from steelyard.cli.views.ci.markdown import escaped
from steelyard.evaluation.sweep import reading
from steelyard.model.units import NS_PER_S, format_digits, format_duration, format_percent
from steelyard.record.contrast import ContrastLine, PercentInterval
from steelyard.record.sweep import Swept, SweptContrast
from steelyard.record.verdict import Cause, DeviceFigure, ProbeCount, Query, Verdict
from steelyard.report.contrast_text import QUANTITIES, ends_of, interval_text, reading_text
from steelyard.report.devices import figure_name
from steelyard.report.tables import cause_name
from steelyard.reproductions.reproduction import Claim, CountClaim, ReproductionStep

MANY_TIMES = 1.5
"""From so many times as many epochs on it is worth saying."""
Reading = ContrastLine | SweptContrast | Query | Cause | DeviceFigure


def agreement(step: ReproductionStep, found: Verdict | Swept) -> Iterator[str]:
    """A sentence or two on each claim of a step; nothing on one that the result has nothing of."""
    for claim in step.claims:
        for place, one in _read_of(found, claim):
            nearest = f", {_quantity(one)}" if claim.theirs else ""
            ours = f"Ours{place}{nearest}: {escaped(reading_text(one))}."
            yield f"{_published(claim, one)} {ours} {_told(claim, one)} {claim.why}"
    if isinstance(found, Verdict):
        for count in step.counts:
            yield from (_counted(count, one) for one in found.probes if _is_of(count, one))


def contrasts_of(
    found: Verdict | Swept, arm: str | None = None
) -> Iterator[tuple[str, ContrastLine | SweptContrast]]:
    """Every contrast with its place in words: `" at 256"` in a sweep, else empty."""
    if isinstance(found, Verdict):
        yield from (("", one) for one in found.contrasts if arm in (None, one.arm))
        return
    for point in found.points:
        yield from (
            (f" at {point.value}", one) for one in point.contrasts if arm in (None, one.arm)
        )


def quantity_of(metric: str) -> str:
    """`"throughput"`, `"geometric mean time"`."""
    return QUANTITIES.get(metric, metric.replace("_", " "))


def _read_of(found: Verdict | Swept, claim: Claim) -> Iterator[tuple[str, Reading]]:
    """Ours of what was claimed, with its place in words."""
    for place, one in contrasts_of(found, claim.arm):
        if one.metric == claim.of and claim.at in ("", place.removeprefix(" at ")):
            yield place, one
    if isinstance(found, Verdict):
        beside: list[tuple[Query | Cause | DeviceFigure, str]] = []
        beside += [(line, line.query) for line in found.queries]
        beside += [(cause, cause.metric) for cause in found.causes]
        if found.devices is not None:
            beside += [(figure, figure.metric) for figure in found.devices.figures]
        yield from (("", one) for one, of in beside if (one.arm, of) == (claim.arm, claim.of))


def _quantity(one: Reading) -> str:
    match one:
        case Query():
            return f"the time of {one.query}"
        case Cause():
            return f"{cause_name(one.metric)} a transaction"
        case DeviceFigure():
            return figure_name(one.metric)
        case _:
            return quantity_of(one.metric)


def _published(claim: Claim, one: Reading) -> str:
    quantity = claim.theirs or _quantity(one)
    if claim.percent is None:
        return f"Published: {claim.arm} is {claim.direction} in {quantity}."
    if claim.percent == 0:
        return f"Published: {claim.arm} is equal in {quantity}."
    return f"Published: {format_percent(claim.percent, 1)} of {quantity} for {claim.arm}."


def _told(claim: Claim, one: Reading) -> str:
    """What our interval says of a claim."""
    low, high = _ends(one)
    if not claim.comparable:
        return "This is no test of it."
    if claim.percent is None:
        return _direction(claim, one, low <= 0 <= high)
    if claim.percent == 0:
        return _equality(one, low <= 0 <= high)
    return _size(claim.percent, low, high)


def _size(percent: float, low: float, high: float) -> str:
    if not low <= percent <= high:
        return "They **differ**: it lies outside of our interval."
    if low <= 0 <= high:
        needed = _needed(percent, low, high)
        return f"**Cannot tell**: our interval holds it and no effect alike{needed}."
    if high - low > abs(percent):
        return (
            "They agree in direction; **the size is not told**: our interval holds it, but is "
            f"{high - low:.1f} points wide, more than the claim is large."
        )
    return "They **agree**: it lies within our interval."


def _direction(claim: Claim, one: Reading, holds_none: bool) -> str:
    if holds_none or one.estimate_percent is None:
        return "**Cannot tell**: our interval holds no effect."
    more_is_faster = isinstance(one, ContrastLine | SweptContrast) and one.higher_is_better
    ours = "faster" if (one.estimate_percent > 0) is more_is_faster else "slower"
    return f"They **{'agree' if ours == claim.direction else 'differ'}**: ours is {ours}."


def _equality(one: Reading, holds_none: bool) -> str:
    if isinstance(one, ContrastLine | SweptContrast) and one.verdict == "equivalent":
        return "They **agree**: ours is equal within its margin."
    if holds_none:
        return (
            f"**Cannot tell**: anything in {escaped(interval_text(ends_of(one)))} is possible, "
            "and that is wider than the margin."
        )
    return "They **differ**: our interval does not hold zero."


def _needed(percent: float, low: float, high: float) -> str:
    """How many times the epochs an interval as narrow as the claim is large takes; intervals narrow
    with the root of their number. Empty where that is not many times, or not known."""
    times = ((high - low) / 2 / abs(percent)) ** 2
    if not MANY_TIMES <= times < math.inf:
        return ""
    return f"; ±{abs(percent):g} % takes about {format_digits(times, 2)} times as many epochs"


def _ends(one: PercentInterval) -> tuple[float, float]:
    low, high = ends_of(one)
    return (-100.0 if low is None else low, math.inf if high is None else high)


def _is_of(count: CountClaim, one: ProbeCount) -> bool:
    return (one.arm, one.probe, one.counter) == (count.arm, count.probe, count.counter)


def _counted(count: CountClaim, one: ProbeCount) -> str:
    ends = "" if one.least == one.most else f" ({one.least:,.0f} … {one.most:,.0f})"
    agree = one.least <= count.value <= one.most
    told = "They **agree**." if agree else f"They **differ**: it would be {count.value:,.0f}."
    name = escaped(f"{one.probe} in {one.arm}, {one.counter}")
    ours = f"Ours, {name}: {one.median:,.0f}{ends} in each of {one.epochs} epochs."
    return f"Published: {count.published}. {ours} {told} {count.why}"


NO_THROUGHPUT = "The control's throughput at each value was not kept with this sweep."


def sweep_table(found: Swept) -> str:
    """The sentences of a sweep, its table, what could not be weighed, and its command.

    Two columns are of newer records only: the control's throughput, by which a plateau is seen, and
    how much longer a point would have to be weighed by itself to be told.
    """
    every = [one for point in found.points for one in point.contrasts]
    known = {
        "control, tps": any(one.control_throughput is not None for one in every),
        "told after, besides": any(one.forecast_seconds is not None for one in every),
    }
    head = [found.key, "", "effect, joint interval", "verdict", "cause", "doubts"]
    head += [name for name, is_known in known.items() if is_known]
    rows = [
        [point.value, *_cells(one, [*known.values()])]
        for point in found.points
        for one in point.contrasts
    ]
    table = [head, ["---"] * len(head), *rows]
    failed = [f"- {point.value}: {escaped(point.failed)}" for point in found.points if point.failed]
    return "\n".join(
        [
            *(f"> {escaped(sentence)}." for sentence in found.sentences),
            "",
            *(f"| {' | '.join(line)} |" for line in table),
            *(["", *failed] if failed else []),
            *(["", NO_THROUGHPUT] if every and not known["control, tps"] else []),
            "",
            "Repeat:",
            "",
            "```",
            found.command,
            "```",
        ]
    )


def _cells(one: SweptContrast, known: list[bool]) -> list[str]:
    tps, more = one.control_throughput, one.forecast_seconds
    newer = [
        "–" if tps is None else f"{tps:,.0f}".replace(",", " "),
        "–" if more is None else format_duration(more * NS_PER_S),
    ]
    return [
        f"{escaped(one.arm)} against {escaped(one.control)}",
        escaped(reading(one)),
        one.verdict,
        one.cause or "none",
        escaped(", ".join(one.threats)) or "none",
        *(cell for cell, is_known in zip(newer, known, strict=True) if is_known),
    ]
