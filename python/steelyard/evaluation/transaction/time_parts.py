"""Compares the parts of a transaction's mean time between two arms, and names what differs.

METHODOLOGY.md, causes. The parts of an arm in one epoch are made in transaction_time.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.part_differences import (
    PartDifference,
    named_cause,
    part_differences,
)
from steelyard.evaluation.transaction.bottleneck import BottleneckFacts, bottlenecks
from steelyard.evaluation.transaction.transaction_time import (
    REST,
    UNSPLIT,
    Parts,
    TransactionTime,
    transaction_time,
    with_their_queue,
)
from steelyard.model.readings import EpochTotals
from steelyard.record.machine.probe import Probe
from steelyard.record.verdict import TimePart, TimeParts

Pair = tuple[TransactionTime, TransactionTime]
"""Of the control and of the arm, in one epoch."""


@dataclass(frozen=True, slots=True)
class TimeBreakdown:
    """Where the time of a transaction goes in an arm and in the control, and what holds each up."""

    parts: TimeParts
    """Without bottlenecks."""
    bottlenecks: tuple[BottleneckFacts, BottleneckFacts]
    """Of the control, and of the arm."""


def time_breakdown(
    epochs: Sequence[EpochTotals], control: str, arms: Sequence[str], probe: Probe | None = None
) -> list[TimeBreakdown]:
    """Of every arm that shows it."""
    every = [time_parts(epochs, control, arm) for arm in arms]
    return [
        TimeBreakdown(parts, bottlenecks(epochs, parts, probe))
        for parts in every
        if parts is not None
    ]


def time_parts(epochs: Sequence[EpochTotals], control: str, arm: str) -> TimeParts | None:
    """The parts of an arm's time against the control's; None where no two epochs show them.

    `epochs`: those that both arms survived.
    """
    pairs = _alike(
        [(transaction_time(epoch, control), transaction_time(epoch, arm)) for epoch in epochs]
    )
    if len(pairs) < 2:
        return None
    every = [(of_control.parts, of_arm.parts) for of_control, of_arm in pairs]
    names = [
        name
        for name in every[0][0]
        if any(of_control[name] or of_arm[name] for of_control, of_arm in every)
    ]
    differences = _differences(names, every)
    divided = _differences(
        names, [with_their_queue(of_control, of_arm) for of_control, of_arm in pairs]
    )
    cause = named_cause(divided)
    if cause is not None and cause.name in (REST, UNSPLIT):
        cause = None
    return TimeParts(
        control=control,
        arm=arm,
        epochs=len(pairs),
        control_us=sum(part.control for part in differences),
        arm_us=sum(part.arm for part in differences),
        parts=tuple(map(_row, differences)),
        with_queue=tuple(map(_row, divided)),
        cause=None if cause is None else _row(cause),
    )


def _alike(
    pairs: Sequence[tuple[TransactionTime | None, TransactionTime | None]],
) -> list[Pair]:
    """The epochs in which both arms show the same parts: those that most epochs show, since one
    without looks at sessions has fewer."""
    comparable = [
        (control, arm) for control, arm in pairs if control and arm and control.kind == arm.kind
    ]
    kinds = Counter(control.kind for control, _ in comparable)
    most = max(kinds, key=lambda kind: (kinds[kind], len(kind[0])), default=None)
    return [(control, arm) for control, arm in comparable if control.kind == most]


def _differences(
    names: Sequence[str], pairs: Sequence[tuple[Parts, Parts]]
) -> tuple[PartDifference, ...]:
    return part_differences(
        {name: [control[name] for control, _ in pairs] for name in names},
        {name: [arm[name] for _, arm in pairs] for name in names},
    )


def _row(part: PartDifference) -> TimePart:
    ends: Mapping[str, float | None] = {
        "low_us": part.interval.low if math.isfinite(part.interval.low) else None,
        "high_us": part.interval.high if math.isfinite(part.interval.high) else None,
    }
    return TimePart.model_validate(
        {
            "part": part.name,
            "control_us": part.control,
            "arm_us": part.arm,
            "difference_us": part.difference,
            **ends,
        }
    )
