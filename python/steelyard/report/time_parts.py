"""Tells where the time of a transaction goes: each part in words, the named cause in a sentence.

Draws it: a bar an arm, split into parts, and their differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from steelyard.model.units import NO_INFORMATION, NS_PER_US, format_digits, format_duration
from steelyard.record.verdict import TimePart, TimeParts
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.stacked_bar import (
    KEY_ROW,
    ROW,
    SIDE,
    BarPart,
    draw_bar,
    draw_key,
    key_rows,
)

NO_PLANS: Mapping[str, Sequence[str]] = {}
PART_NAMES = {
    "processor": "on a processor",
    "queue": "waiting for a processor",
    "read": "reading blocks",
    "wal": "writing and syncing WAL",
    "locks": "locks and other waits",
    "client": "client and network",
    "debt": "charged background work",
    "rest": "rest",
    "waits": "everything else",
}
_DIFFERENCE = 40
_LINE = 15
_PHONE = 500


def signed_us(value_us: float) -> str:
    """`"+0.7 µs"`, `"−12.3 ms"`."""
    size = format_duration(abs(value_us) * NS_PER_US)
    return size if not value_us else f"{'−' if value_us < 0 else '+'}{size}"


_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))


def difference_text(part: TimePart) -> str:
    """`"+0.7 µs [+0.5, +0.9]"`: all three in the unit that fits the largest."""
    ends = (part.low_us, part.high_us)
    largest = max(abs(us) for us in (part.difference_us, *ends) if us is not None)
    scale, unit = next((candidate for candidate in _UNITS if largest >= candidate[0]), _UNITS[-1])
    low, high = ("unbounded" if end is None else _figures(end / scale) for end in ends)
    return f"{_figures(part.difference_us / scale)} {unit} [{low}, {high}]"


def shown_difference(part: TimePart) -> str:
    """The difference of a part as it was measured; words for that of a remainder below its own
    noise. (Where the queue is divided among its makers, a share below zero is arithmetic.)"""
    return NO_INFORMATION if part.is_below_noise else difference_text(part)


BELOW_NOISE = "below noise"


def _figures(value: float) -> str:
    size = format_digits(abs(value), 3)
    return size if size == "0" else f"{'−' if value < 0 else '+'}{size}"


def cause_sentence(breakdown: TimeParts) -> str:
    """What the difference is made of, without a full stop."""
    whole = breakdown.arm_us - breakdown.control_us
    of_whole = f"of {signed_us(whole)} a transaction"
    cause = breakdown.named_cause
    if cause is None:
        return f"no cause found: no part covers half {of_whole} for sure"
    queue = ", with the queue for it" if cause.part == "processor" else ""
    return f"{PART_NAMES[cause.part]}{queue}: {difference_text(cause)} {of_whole}"


def part_rows(breakdown: TimeParts) -> list[dict[str, str]]:
    """Each part with both arms' time and the difference; `with_queue`: the difference as the cause
    is named from it, with the time in the queue where the processor time belongs that makes it."""
    whole = {
        "metric": "a transaction",
        "control": format_duration(breakdown.control_us * NS_PER_US),
        "arm": format_duration(breakdown.arm_us * NS_PER_US),
        "reading": signed_us(breakdown.arm_us - breakdown.control_us),
        "with_queue": "",
        "note": "",
    }
    cause = None if breakdown.named_cause is None else breakdown.named_cause.part
    divided = {part.part: difference_text(part) for part in breakdown.with_queue}
    return [*(_row(part, cause, divided.get(part.part, "")) for part in breakdown.parts), whole]


def _row(part: TimePart, cause: str | None, with_queue: str) -> dict[str, str]:
    return {
        "metric": PART_NAMES[part.part],
        "control": time_text(part.control_us),
        "arm": time_text(part.arm_us),
        "reading": shown_difference(part),
        "with_queue": with_queue,
        "note": "the cause" if part.part == cause else "",
    }


def time_text(value_us: float) -> str:
    """`"12 µs"`; words where it is less than none."""
    return BELOW_NOISE if value_us < 0 else format_duration(value_us * NS_PER_US)


def bottleneck_line(breakdown: TimeParts) -> str:
    """What either arm is held up by, and whether they differ in it."""
    if not breakdown.bottlenecks:
        return ""
    control, arm = breakdown.bottlenecks
    if control.kind == arm.kind:
        return f"bottleneck of both: {control.kind} ({control.evidence} in {control.arm})"
    both = "; ".join(
        f"{bottleneck.arm}: {bottleneck.kind} ({bottleneck.evidence})"
        for bottleneck in (control, arm)
    )
    return f"bottleneck: the arms differ: {both}"


def cause_lines(
    every: Iterable[TimeParts], plans: Mapping[str, Sequence[str]] = NO_PLANS
) -> list[str]:
    """A line an arm: its cause. `plans`: arm → what changed where its plans flipped, which comes
    first; the parts of its time are then of the whole mix."""
    breakdowns = list(every)
    several = len(breakdowns) > 1
    lines = []
    for breakdown in breakdowns:
        label = f"why{f' {breakdown.arm}' if several else ''}"
        flipped = list(plans.get(breakdown.arm, ()))[:MOST_REASONS]
        parts = cause_sentence(breakdown)
        lines += (
            [f"{label}: {'; '.join(flipped)}", f"in the mean of all: {parts}"]
            if flipped
            else [f"{label}: {parts}"]
        )
    return lines


MOST_REASONS = 3
"""Flipped plans that are named as causes."""


def draw_time_parts(breakdown: TimeParts, width: float) -> Markup:
    """Two bars, their key, and a row of difference for each part."""
    control = _bar(breakdown.parts, [part.control_us for part in breakdown.parts])
    arm = _bar(breakdown.parts, [part.arm_us for part in breakdown.parts])
    key = key_rows(control, width)
    bars = 2 * ROW
    top = bars + len(key) * KEY_ROW + 30
    height = top + len(breakdown.parts) * _difference_height(width) + 6
    title = f"Where a transaction's time goes: {breakdown.arm} against {breakdown.control}"
    drawing = Drawing(width, height, title, cause_sentence(breakdown))
    longest = max(_drawn(control), _drawn(arm)) or 1.0
    x = Linear(0.0, longest, SIDE, width - SIDE)
    draw_bar(drawing, f"{breakdown.control}  {time_text(breakdown.control_us)}", control, x)
    draw_bar(drawing, f"{breakdown.arm}  {time_text(breakdown.arm_us)}", arm, x, ROW)
    draw_key(drawing, key, bars + 14)
    _draw_differences(drawing, breakdown, top)
    return drawing.svg()


def _drawn(parts: Sequence[BarPart]) -> float:
    """The length of a bar: a rest below zero has none."""
    return sum(max(0.0, part.value) for part in parts)


def _bar(parts: Sequence[TimePart], values_us: Sequence[float]) -> list[BarPart]:
    """The parts of an arm's bar, with its times."""
    return [
        BarPart(PART_NAMES[part.part], f"part {part.part}", value_us, time_text(value_us))
        for part, value_us in zip(parts, values_us, strict=True)
    ]


def _difference_height(width: float) -> float:
    """Of a row; where it is narrow, name and figures have a line each."""
    return _DIFFERENCE + (_LINE if width < _PHONE else 0)


def _draw_differences(drawing: Drawing, breakdown: TimeParts, top: float) -> None:
    """Each part's difference as a bar from zero, with its interval."""
    ends = [
        abs(end)
        for part in breakdown.parts
        if not part.is_below_noise
        for end in (part.low_us, part.high_us, part.difference_us)
        if end is not None
    ]
    reach = max(ends, default=0.0) * 1.05 or 1.0
    x = Linear(-reach, reach, SIDE, drawing.width - SIDE)
    whole = signed_us(breakdown.arm_us - breakdown.control_us)
    drawing.text(x.start, top - 8, f"difference: {whole} a transaction", "strong")
    step, narrow = _difference_height(drawing.width), drawing.width < _PHONE
    cause = breakdown.named_cause
    for number, part in enumerate(breakdown.parts):
        y = top + number * step
        marker = "  ◂ the cause" if cause and part.part == cause.part else ""
        drawing.text(x.start, y + 14, f"{PART_NAMES[part.part]}{marker}", "halo")
        if narrow:
            y += _LINE
            drawing.text(x.start, y + 14, shown_difference(part), "halo strong")
        else:
            drawing.text(x.end, y + 14, shown_difference(part), "halo strong", "end")
        if part.is_below_noise:
            continue
        drawing.line(x(0), y + 17, x(0), y + 35, "zero")  # not through the words above
        left, right = sorted((x(0), x(part.difference_us)))
        drawing.rect(left, y + 20, right - left, 12, f"part {part.part}")
        low = x.start if part.low_us is None else x(part.low_us)
        high = x.end if part.high_us is None else x(part.high_us)
        drawing.line(low, y + 26, high, y + 26, "whole")
