"""Computes the ratio of two effects that were read against the same control: arm against arm.

If one weighing reads arm ÷ control and another one arm′ ÷ control, their ratio is arm ÷ arm′. It is
computed only where both controls are the same build under the same study on the same machine, and
refused with a reason elsewhere: then the two ratios may not have one denominator.

The interval is Welch's t of the difference of the two means of epoch readings, log ratios of
weighings that are independent of each other (`t_interval.py`: Welch 1947). Its error rate is 5 % a
comparison for two weighings that ran to their planned ends; where one ended early at a look its
estimate lies a little too far out, and comparing many pairs raises the error rate. What the machine
does to arm and control alike cancels within each weighing; what changed between them and treats
arms unlike does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import welch
from steelyard.history.entry import Entry, KnownBuild, KnownReading
from steelyard.history.question import Point
from steelyard.model.files.printable import apart
from steelyard.model.units import format_percent, percent_of_log

CONFIDENCE = 0.95
FEWEST_EPOCHS = 8
ALWAYS = (
    "5 % of such intervals miss the truth, and more where many pairs are compared",
    "the arms never ran in one weighing: what changed between the two and treats arms unlike is "
    "in it",
)
"""What is to be kept in mind of every ratio."""
DEFAULT = "its default"
_OF_ARMS = ("arm.", "decision.")
_LONGEST = 80


@dataclass(frozen=True)
class RatioOfRatios:
    """First ÷ second, in percent of the metric; the log ratio is behind it."""

    first: str
    """`"after of versions/2026-03-01T120000Z"`."""
    second: str
    estimate_percent: float
    low_percent: float
    high_percent: float
    confidence: float
    epochs: tuple[int, int]
    cautions: tuple[str, ...]
    """What to keep in mind, a sentence each without a full stop."""

    @property
    def sentence(self) -> str:
        """In words, with its interval, without a full stop."""
        ends = ", ".join(
            format_percent(end).removesuffix(" %") for end in (self.low_percent, self.high_percent)
        )
        return (
            f"{self.first} against {self.second}, through the control that both have: "
            f"{format_percent(self.estimate_percent)} [{ends}]"
        )


@dataclass(frozen=True)
class Refusal:
    """Why two effects have no ratio, a sentence each without a full stop."""

    reasons: tuple[str, ...]


def shared_parts(entry: Entry, reading: KnownReading) -> Mapping[str, str]:
    """What → its value, of everything that two weighings must share for a ratio of their ratios.
    Empty: it is not known. A key of the study that is not there has its default."""
    build = entry.builds.get(reading.control, KnownBuild())
    return {
        "metric": reading.metric,
        "machine": entry.machine_words if entry.machine.hostname else "",
        "layout": entry.layout,
        "texts of the scripts": entry.script_texts or "not kept",
        "version of the control": build.version,
        "compiler of the control": build.builder or ("none named" if build.version else ""),
        "compiler's flags of the control": build.cflags or "none named",
        "configure options of the control": build.configure or "none named",
        "assertions of the control": "on" if build.assertions else "off",
        "settings that the control's server reported": (
            f"SHA-256 {entry.settings[reading.control][:12]}…"
            if reading.control in entry.settings
            else ""
        ),
        **{
            key: value
            for key, value in Point(entry, reading).question_keys.items()
            if not key.startswith(_OF_ARMS) and key != "control.name"
        },
    }


def ratio_of_ratios(effect: Point, other: Point) -> RatioOfRatios | Refusal:
    """The first effect ÷ the second one; or why there is none."""
    reasons = (*unfit(effect), *unfit(other), *_unshared(effect, other))
    if reasons:
        return Refusal(reasons)
    difference = welch(epoch_logs(other.reading), epoch_logs(effect.reading))
    ends = difference.interval(CONFIDENCE)
    return RatioOfRatios(
        first=_name(effect),
        second=_name(other),
        estimate_percent=percent_of_log(difference.difference),
        low_percent=percent_of_log(ends.low),
        high_percent=percent_of_log(ends.high),
        confidence=CONFIDENCE,
        epochs=(len(epoch_logs(effect.reading)), len(epoch_logs(other.reading))),
        cautions=_cautions(effect, other),
    )


def _unshared(effect: Point, other: Point) -> Iterator[str]:
    """What the two do not share, or may not."""
    if effect.entry.path == other.entry.path:
        yield "both stand in one record, whose epochs they share"
    elif effect.entry.weighing == other.entry.weighing and _share_epochs(effect, other):
        yield "one record is a copy of the other: they are one weighing"
    ours, theirs = (shared_parts(point.entry, point.reading) for point in (effect, other))
    for what in {**ours, **theirs}:
        first, second = ours.get(what, DEFAULT), theirs.get(what, DEFAULT)
        if not first or not second:
            yield f"{what}: not known of {'the first' if not first else 'the second'}"
        elif first != second:
            ours_short, theirs_short = apart([first, second], _LONGEST)
            yield f"{what}: {ours_short} in the first, {theirs_short} in the second"


def _share_epochs(effect: Point, other: Point) -> bool:
    return bool({*effect.reading.d} & {*other.reading.d} - {None})


def unfit(point: Point) -> list[str]:
    """Why an effect is in no ratio; empty: it may be in one."""
    reading, name = point.reading, _name(point)
    if reading.verdict == "invalid":
        return [f"{name} is invalid"]
    if len(epoch_logs(reading)) < FEWEST_EPOCHS:
        return [f"{name} has fewer than {FEWEST_EPOCHS} epochs with a reading"]
    if reading.idle_epochs:
        return [f"{name} has an epoch in which an arm did no work"]
    return []


def _cautions(effect: Point, other: Point) -> tuple[str, ...]:
    cautions = list(ALWAYS)
    early = [_name(point) for point in (effect, other) if point.reading.look == "first"]
    if early:
        cautions.append(
            f"{' and '.join(early)} ended early at a look, which reads a little too much"
        )
    kernels = {point.entry.kernel for point in (effect, other)}
    if len(kernels) > 1:
        cautions.append(f"the kernel differs: {' and '.join(sorted(kernels))}")
    return tuple(cautions)


def epoch_logs(reading: KnownReading) -> Floats:
    """The log ratios of epochs that have one, shape (n,)."""
    return np.array([value for value in reading.d if value is not None], dtype=np.float64)


def _name(point: Point) -> str:
    return f"{point.reading.arm} of {point.entry.path}"
