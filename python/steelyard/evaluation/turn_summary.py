"""Reads from turns what a verdict says of them: distances, the curve, evenness, stalls, sums."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.turns.distance import Pair, curve, cycles_ns, effects_at
from steelyard.analysis.turns.evenness import evenness, sums_of
from steelyard.analysis.turns.machine_level import levelled
from steelyard.analysis.turns.stalls import stalls
from steelyard.evaluation.contrast import CyclesBasis
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.readings import EpochTotals
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S
from steelyard.record.frozen import Frozen
from steelyard.record.plan import Plan
from steelyard.record.turns.turn_summary import (
    CurveLine,
    DistanceLine,
    EvennessLine,
    StallLine,
    TurnSummary,
    TurnSumsLine,
)


class CycleSummary(Frozen):
    """What a verdict has beside its contrasts where whole checkpoint cycles were measured."""

    time_scale: float | None = None
    distance_seconds: float | None = None
    """Between two checkpoints of the control."""
    by_distance: tuple[DistanceLine, ...] = ()
    turns: TurnSummary | None = None


def distance_lines(
    epochs: Sequence[EpochTotals], control: str, arms: Sequence[str]
) -> list[DistanceLine]:
    """The effect of every arm at each distance that its turns reach."""
    return [
        DistanceLine(
            arm=arm,
            seconds=effect.distance_ns / NS_PER_S,
            **percent_ends(effect.estimate),
            confidence=effect.estimate.confidence,
            epochs=effect.estimate.count,
        )
        for arm in arms
        for effect in effects_at(_levelled_pairs(epochs, control, arm))
    ]


def turn_summary(epochs: Sequence[EpochTotals], plan: Plan, arms: Sequence[str]) -> TurnSummary:
    """What turns show beside the contrasts."""
    control = plan.control
    return TurnSummary(
        curve=tuple(
            CurveLine(
                arm=arm,
                from_seconds=point.from_ns / NS_PER_S,
                to_seconds=point.to_ns / NS_PER_S,
                **percent_ends(point.estimate),
                confidence=point.estimate.confidence,
                epochs=point.estimate.count,
                control_images=_known(point.control.images),
                arm_images=_known(point.arm.images),
                control_wal_bytes=_known(point.control.wal_bytes),
                arm_wal_bytes=_known(point.arm.wal_bytes),
            )
            for arm in arms
            for point in curve(_levelled_pairs(epochs, control, arm))
        ),
        evenness=tuple(
            EvennessLine(
                arm=arm,
                metric=contrast.name,
                control_value=contrast.control_value,
                arm_value=contrast.arm_value,
                **percent_ends(contrast.estimate),
                confidence=contrast.estimate.confidence,
            )
            for arm in arms
            for contrast in evenness(turn_pairs(epochs, control, arm))
        ),
        stalls=tuple(_stalls(epochs)),
        sums=tuple(_sums(arm, _of(epochs, arm), plan) for arm in (control, *arms)),
    )


def cycle_seconds(epochs: Sequence[EpochTotals], arm: str) -> float | None:
    """Median time between the begins of two checkpoints of an arm in its measured parts."""
    return _cycle_seconds(_of(epochs, arm))


def _cycle_seconds(turns: Sequence[Turn]) -> float | None:
    lengths = [length for turn in turns for length in cycles_ns(turn)]
    return round(float(np.median(lengths)) / NS_PER_S, 3) if lengths else None


def cycles_basis(
    epochs: Sequence[EpochTotals], plan: Plan, arm: str, count: int, unit: str
) -> CyclesBasis:
    """What the interval rests on: epochs, distance, and the time scale; `unit`: what an arm is
    measured in, in an epoch."""
    assert plan.turns is not None  # callers check the layout first
    return CyclesBasis(
        epochs=count,
        layout=plan.layout_choice.name,
        unit=unit,
        turns=plan.turns,
        arms=(plan.control, arm),
        cycle_seconds=(cycle_seconds(epochs, plan.control), cycle_seconds(epochs, arm)),
    )


def turn_pairs(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Pair]:
    return [
        (epoch.turns[control], epoch.turns[arm])
        for epoch in epochs
        if control in epoch.turns and arm in epoch.turns
    ]


def _levelled_pairs(epochs: Sequence[EpochTotals], control: str, arm: str) -> list[Pair]:
    """Turn pairs with the machine's own level taken out (`levelled`), as curves need them: a bin
    holds other blocks of one arm than of the other."""
    return [levelled(pair) for pair in turn_pairs(epochs, control, arm)]


def _of(epochs: Sequence[EpochTotals], arm: str) -> list[Turn]:
    return [epoch.turns[arm] for epoch in epochs if arm in epoch.turns]


def _stalls(epochs: Sequence[EpochTotals]) -> Iterator[StallLine]:
    for epoch in epochs:
        for arm, turn in epoch.turns.items():
            for stall in stalls(turn):
                yield StallLine(
                    arm=arm,
                    epoch=epoch.epoch + 1,
                    from_seconds=round(stall.from_ns / NS_PER_S, 1),
                    seconds=round(stall.length_ns / NS_PER_S, 1),
                    depth=round(stall.depth, 3),
                    cause=stall.cause.value,
                    storm=stall.storm,
                )


def _sums(arm: str, turns: Sequence[Turn], plan: Plan) -> TurnSumsLine:
    sums = sums_of(turns)
    # Where files are put back before each epoch, only the log of the arms before it is told apart.
    ends = (turns[0], turns[-1]) if turns and plan.upkeep != "restore" else ()
    grown = [_known(turn.files_bytes) for turn in ends] or [None, None]
    return TurnSumsLine(
        arm=arm,
        turns=sums.turns,
        seconds=_known(sums.seconds),
        cycle_seconds=_cycle_seconds(turns),
        wal_bytes=_known(sums.wal_bytes),
        checkpoints=_known(sums.checkpoints),
        waiting_at_start_bytes=_known(sums.waiting_at_start),
        waiting_at_end_bytes=_known(sums.waiting_at_end),
        first_files_bytes=grown[0],
        last_files_bytes=grown[1],
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
