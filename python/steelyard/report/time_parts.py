"""Tells where the time of a transaction goes: each part in words, the named cause in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steelyard.model.units import NO_INFORMATION, NS_PER_US, format_digits, format_duration
from steelyard.record.verdict import TimePart, TimeParts

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
