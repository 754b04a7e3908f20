"""Says whether a published effect agrees with ours, differs from it, or cannot be told by it.

Writes a sweep as Markdown: a row a value and arm, with the control's throughput and doubts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from steelyard.cli.views.ci import escaped
from steelyard.model.units import NS_PER_S, format_digits, format_duration, format_percent
from steelyard.record.contrast import ContrastLine, PercentInterval
from steelyard.record.sweep import Swept, SweptContrast
from steelyard.record.verdict import Cause, DeviceFigure, ProbeCount, Query, Verdict
from steelyard.report.devices import figure_name
from steelyard.report.tables import cause_name
from steelyard.reproductions.reproduction import Claim, CountClaim, ReproductionStep
from steelyard.wording.contrast_text import QUANTITIES, ends_of, interval_text, reading_text
from steelyard.wording.sweep_sentences import reading

MANY_TIMES = 1.5
"""From so many times as many epochs on it is worth saying."""
Reading = ContrastLine | SweptContrast | Query | Cause | DeviceFigure


def agreement(step: ReproductionStep, outcome: Verdict | Swept) -> Iterator[str]:
    """A sentence or two on each claim of a step; nothing on one that the result has nothing of."""
    for claim in step.claims:
        for where, effect in readings_of(outcome, claim):
            nearest = f", {_quantity(effect)}" if claim.theirs else ""
            ours = f"Ours{where}{nearest}: {escaped(reading_text(effect))}."
            compared = _INVALID if _is_invalid(outcome, effect) else _comparison(claim, effect)
            yield f"{_published(claim, effect)} {ours} {compared} {claim.why}"
    if isinstance(outcome, Verdict):
        for count in step.counts:
            yield from (_counted(count, probe) for probe in outcome.probes if _is_of(count, probe))


def contrasts_of(
    outcome: Verdict | Swept, arm: str | None = None
) -> Iterator[tuple[str, ContrastLine | SweptContrast]]:
    """Every contrast with its place in words: `" at 256"` in a sweep, else empty."""
    if isinstance(outcome, Verdict):
        yield from (("", contrast) for contrast in outcome.contrasts if arm in (None, contrast.arm))
        return
    for point in outcome.points:
        yield from (
            (f" at {point.value}", contrast)
            for contrast in point.contrasts
            if arm in (None, contrast.arm)
        )


def quantity_of(metric: str) -> str:
    """`"throughput"`, `"geometric mean time"`."""
    return QUANTITIES.get(metric, metric.replace("_", " "))


def readings_of(outcome: Verdict | Swept, claim: Claim) -> Iterator[tuple[str, Reading]]:
    """What we read of a claim, with its place in words: `" at 256"` in a sweep, else empty."""
    for where, contrast in contrasts_of(outcome, claim.arm):
        if contrast.metric == claim.of and claim.at in ("", where.removeprefix(" at ")):
            yield where, contrast
    if isinstance(outcome, Verdict):
        lines: list[tuple[Query | Cause | DeviceFigure, str]] = []
        lines += [(line, line.query) for line in outcome.queries]
        lines += [(cause, cause.metric) for cause in outcome.causes]
        if outcome.devices is not None:
            lines += [(figure, figure.metric) for figure in outcome.devices.figures]
        yield from (("", line) for line, of in lines if (line.arm, of) == (claim.arm, claim.of))


_INVALID = "**Cannot tell**: our weighing is invalid, which its doubts say."


def _is_invalid(outcome: Verdict | Swept, effect: Reading) -> bool:
    """Whether nothing can be said of the arm that was read, whatever of it was read."""
    if isinstance(effect, ContrastLine | SweptContrast):
        return effect.verdict == "invalid"
    return any(line.verdict == "invalid" for _, line in contrasts_of(outcome, effect.arm))


def _quantity(effect: Reading) -> str:
    match effect:
        case Query():
            return f"the time of {effect.query}"
        case Cause():
            return f"{cause_name(effect.metric)} a transaction"
        case DeviceFigure():
            return figure_name(effect.metric)
        case _:
            return quantity_of(effect.metric)


def _published(claim: Claim, effect: Reading) -> str:
    quantity = claim.theirs or _quantity(effect)
    if claim.percent is None:
        return f"Published: {claim.arm} is {claim.direction} in {quantity}."
    if claim.percent == 0:
        return f"Published: {claim.arm} is equal in {quantity}."
    return f"Published: {format_percent(claim.percent, 1)} of {quantity} for {claim.arm}."


def _comparison(claim: Claim, effect: Reading) -> str:
    """What our interval says of a claim."""
    low, high = _ends(effect)
    if not claim.comparable:
        return "This is no test of it."
    if claim.percent is None:
        return _direction(claim, effect, low <= 0 <= high)
    if claim.percent == 0:
        return _equality(effect, low <= 0 <= high)
    return _size(claim.percent, low, high)


def _size(percent: float, low: float, high: float) -> str:
    if not low <= percent <= high:
        return "They **differ**: it lies outside of our interval; it has none."
    if low <= 0 <= high:
        needed = _needed(percent, low, high)
        return f"**Cannot tell**: our interval holds it and no effect alike{needed}."
    if high - low > abs(percent):
        return (
            "They agree in direction; **the size is not told**: our interval holds it, but is "
            f"{high - low:.1f} points wide, more than the claim is large."
        )
    return "They **agree**: it lies within our interval."


def _direction(claim: Claim, effect: Reading, holds_none: bool) -> str:
    if holds_none or effect.estimate_percent is None:
        return "**Cannot tell**: our interval holds no effect."
    more_is_faster = isinstance(effect, ContrastLine | SweptContrast) and effect.higher_is_better
    ours = "faster" if (effect.estimate_percent > 0) is more_is_faster else "slower"
    return f"They **{'agree' if ours == claim.direction else 'differ'}**: ours is {ours}."


def _equality(effect: Reading, holds_none: bool) -> str:
    if isinstance(effect, ContrastLine | SweptContrast) and effect.verdict == "equivalent":
        return "They **agree**: ours is equal within its margin."
    if holds_none:
        interval = interval_text(ends_of(effect))
        if not interval.startswith("["):
            return "**Cannot tell**: our interval is too wide to tell anything."
        return (
            f"**Cannot tell**: anything in {escaped(interval)} is possible, and that is wider than "
            "the margin."
        )
    return "They **differ**: our interval does not hold zero."


def _needed(percent: float, low: float, high: float) -> str:
    """How many times the epochs an interval as narrow as the claim is large takes; intervals narrow
    with the root of their number. Empty where that is not many times, or not known."""
    times = ((high - low) / 2 / abs(percent)) ** 2
    if not MANY_TIMES <= times < math.inf:
        return ""
    return f"; ±{abs(percent):g} % takes about {format_digits(times, 2)} times as many epochs"


def _ends(interval: PercentInterval) -> tuple[float, float]:
    low, high = ends_of(interval)
    return (-100.0 if low is None else low, math.inf if high is None else high)


def _is_of(count: CountClaim, probe: ProbeCount) -> bool:
    return (probe.arm, probe.probe, probe.counter) == (count.arm, count.probe, count.counter)


def _counted(count: CountClaim, probe: ProbeCount) -> str:
    ends = "" if probe.least == probe.most else f" ({probe.least:,.0f} … {probe.most:,.0f})"
    agree = probe.least <= count.value <= probe.most
    judgement = "They **agree**." if agree else f"They **differ**: it would be {count.value:,.0f}."
    name = escaped(f"{probe.probe} in {probe.arm}, {probe.counter}")
    ours = f"Ours, {name}: {probe.median:,.0f}{ends} in each of {probe.epochs} epochs."
    return f"Published: {count.published}. {ours} {judgement} {count.why}"


NO_THROUGHPUT = "The control's throughput at each value was not kept with this sweep."


def sweep_table(sweep: Swept) -> str:
    """The sentences of a sweep, its table, what could not be weighed, and its command.

    Two columns are of newer records only: the control's throughput, by which a plateau is seen, and
    how much longer a point would have to be weighed by itself to be told.
    """
    every = [contrast for point in sweep.points for contrast in point.contrasts]
    present = {
        "control, tps": any(contrast.control_throughput is not None for contrast in every),
        "told after, besides": any(contrast.forecast_seconds is not None for contrast in every),
    }
    head = [sweep.key, "", "effect, joint interval", "verdict", "cause", "doubts"]
    head += [name for name, is_known in present.items() if is_known]
    rows = [
        [point.value, *_cells(contrast, [*present.values()])]
        for point in sweep.points
        for contrast in point.contrasts
    ]
    table = [head, ["---"] * len(head), *rows]
    failed = [f"- {point.value}: {escaped(point.failed)}" for point in sweep.points if point.failed]
    return "\n".join(
        [
            *(f"> {escaped(sentence)}." for sentence in sweep.sentences),
            "",
            *(f"| {' | '.join(line)} |" for line in table),
            *(["", *failed] if failed else []),
            *(["", NO_THROUGHPUT] if every and not present["control, tps"] else []),
            "",
            "Repeat:",
            "",
            "```",
            sweep.command,
            "```",
        ]
    )


def _cells(contrast: SweptContrast, present: list[bool]) -> list[str]:
    tps, more = contrast.control_throughput, contrast.forecast_seconds
    newer = [
        "–" if tps is None else f"{tps:,.0f}".replace(",", " "),
        "–" if more is None else format_duration(more * NS_PER_S),
    ]
    return [
        f"{escaped(contrast.arm)} against {escaped(contrast.control)}",
        escaped(reading(contrast)),
        contrast.verdict,
        contrast.cause or "none",
        escaped(", ".join(contrast.threats)) or "none",
        *(cell for cell, is_known in zip(newer, present, strict=True) if is_known),
    ]
