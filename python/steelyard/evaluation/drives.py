"""Compares the health of drives before and after the work, and computes what endurance is left.

A drive that has used p % of its endurance for W bytes lasts for about W ÷ p in all, if it is
written to as it was so far. The counter goes up by whole percents: p may be half a percent off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.record.machine import DriveHealth

LEAST_USED_PERCENT = 3
"""Below it half a percent is more than a sixth of what is known."""
FEW_STEPS = 20
"""A counter that moved by fewer of its steps gives the amount to no better than 5 %."""
SECONDS_PER_HOUR = 3600
_HALF_STEP_PERCENT = 0.5


@dataclass(frozen=True)
class AmountRange:
    """An amount, and what it is at least and at most."""

    low: float
    likely: float
    high: float

    def times(self, factor: float) -> AmountRange:
        """The amount and its ends multiplied."""
        return AmountRange(self.low * factor, self.likely * factor, self.high * factor)


@dataclass(frozen=True)
class DriveChange:
    """A drive before and after; None: it was not read, or is another one by then."""

    before: DriveHealth
    after: DriveHealth | None

    @property
    def latest(self) -> DriveHealth:
        """The later reading, unless it lacks the written bytes that the earlier one has."""
        unread = self.after is None or (
            self.after.written_bytes is None and self.before.written_bytes is not None
        )
        return self.before if unread or self.after is None else self.after

    def grew(self, counter: str) -> int | None:
        """By how much a counter grew; None where it is not known at both times."""
        if self.after is None:
            return None
        first, last = getattr(self.before, counter), getattr(self.after, counter)
        return None if first is None or last is None else last - first

    @property
    def new_warnings(self) -> tuple[str, ...]:
        """Critical warnings that were not there before."""
        now = self.after.warnings if self.after else ()
        return tuple(warning for warning in now if warning not in self.before.warnings)


def drive_changes(
    before: Sequence[DriveHealth], after: Sequence[DriveHealth]
) -> Iterator[DriveChange]:
    """Every drive that was read before, with itself afterwards."""
    later = {drive.device: drive for drive in after}
    for drive in before:
        last = later.get(drive.device)
        yield DriveChange(drive, last if last is not None and _is_same(drive, last) else None)


_ONLY_GROW = (
    *("read_bytes", "written_bytes", "media_errors", "power_on_h"),
    *("warning_temperature_min", "critical_temperature_min"),
)


def _is_same(first: DriveHealth, last: DriveHealth) -> bool:
    """Whether it is the same drive, its counters in the same unit: names are given anew at a
    start of the machine, and no serial number is kept. Programs may spell a model differently."""
    if first.source == last.source and first.model != last.model:
        return False
    if None not in (first.step_bytes, last.step_bytes) and first.step_bytes != last.step_bytes:
        return False
    change = DriveChange(first, last)
    return all((change.grew(counter) or 0) >= 0 for counter in _ONLY_GROW)


@dataclass(frozen=True)
class Endurance:
    """What a drive can be written to in all, and how long the rest lasts."""

    total_bytes: AmountRange
    left_at_lifetime_rate_h: AmountRange | None
    """At the mean rate of its power-on hours."""
    left_at_this_rate_h: AmountRange | None
    """At the rate of this load."""


def endurance_unknown(health: DriveHealth) -> str:
    """Why a drive's endurance cannot be reckoned; empty where it can."""
    used = health.used_percent
    if used is None or not health.written_bytes:
        return "it does not say how much of it is used, or how much was written so far"
    if used < LEAST_USED_PERCENT:
        return (
            f"only {used} % of it is used: the counter goes up by whole percents, and below "
            f"{LEAST_USED_PERCENT} % one of them is too much of what is known"
        )
    return "all of it is used, by its maker's estimate" if used >= 100 else ""


def endurance(health: DriveHealth, bytes_per_s: float | None) -> Endurance | None:
    """What is left of a drive's life; `bytes_per_s`: what this load writes, None: not known."""
    used, written = health.used_percent, health.written_bytes
    if used is None or written is None or endurance_unknown(health):
        return None
    shares = [(used + side * _HALF_STEP_PERCENT) / 100 for side in (1, 0, -1)]
    total = AmountRange(*(written / share for share in shares))
    left = AmountRange(total.low - written, total.likely - written, total.high - written)
    hours, hourly = health.power_on_h, (bytes_per_s or 0) * SECONDS_PER_HOUR
    return Endurance(
        total_bytes=total,
        left_at_lifetime_rate_h=left.times(hours / written) if hours else None,
        left_at_this_rate_h=left.times(1 / hourly) if hourly else None,
    )


def too_few_steps(health: DriveHealth, grown_bytes: int) -> bool:
    """Whether a counter of bytes moved by so few of its steps that the amount is imprecise."""
    return grown_bytes < FEW_STEPS * (health.step_bytes or 0)
