"""Raises the threats of turns: what was not alike for both arms when each ran alone.

The order of the arms and their directories are drawn, so what the machine does by itself is noise
in every epoch and no threat to the contrast. What is tied to an arm is. Which of it invalidates:

- *files not evicted*, where the resident share differs between the arms beyond chance: one arm
  reads from memory what the other reads from disk, and nothing of that is the treatment;
- *data directory tied to the arm*, where the plan has directories drawn and they never were: the
  test that judges assumes that draw;
- *no checkpoint in a turn*, where one arm's turns were cut off before their checkpoints more often
  than the other's, and the plan expected cycles of both: what a checkpoint costs is in the figure
  of one arm alone, and nothing seen bounds it.

Everything else leaves a comparison that is fair or whose bias is bounded by what is seen: a busy
device delays a server by what it still has to write, as carry-over does in slices; debt is bounded
by its share of a turn's bytes, which are not its time; turns of both arms without their
checkpoints, or of an arm that makes none by its settings, are a true figure of another distance;
ageing is an effect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from steelyard.analysis.checks.drops import balance_p_value, unequal
from steelyard.analysis.decision.epoch_reading import epoch_log_ratio
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.analysis.turns.ageing import ageing
from steelyard.analysis.turns.debt import apart, waiting_growth, wal_growth
from steelyard.analysis.turns.distance import cycles_ns, pauses_ns
from steelyard.evaluation.threats.turn_facts import (
    DeviceWasBusy,
    DirectoryNotDrawn,
    FilesStayedResident,
    LogGrew,
    MeasuredTime,
    NoPauseBetweenCheckpoints,
    ReadingAged,
    ResidencyUnknown,
    TurnsCutOff,
    TurnsNotLevel,
    TurnsUnequal,
    WaitingBytesGrew,
)
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Observation
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S
from steelyard.record.plan import Plan

RESIDENT_SHARE = 0.01
"""Of the arms' files: what may be left in the page cache after eviction."""
UNSTEADY_SHARE = 0.5
"""Of an arm's turns that were measured although reads and throughput were not level."""
FEWEST_TURNS = 4
"""Of an arm: with fewer its shares are not reported."""
CUT_OFF_ALPHA = 0.1
"""Of the exact test on epochs in which one arm alone was cut off: 5 against 0 is enough. Checks
that run in every weighing are held to .01; this one has a chance only where turns are cut off."""
UNEQUAL_SHARE = 0.4
"""Of the longer turn: how far begins and lengths may be apart. Whole cycles of an arm that come
nearest to two of the other are apart by a quarter at most, and the checkpoint that a turn begins
at comes up to a cycle later."""
PAUSE_NS = NS_PER_S
"""A shorter pause is nearly none: it is below the length of a slice."""
SHORT_CYCLE_NS = 30 * NS_PER_S
"""The least checkpoint_timeout that a server takes: shorter cycles come from the log limit."""

Pair = tuple[Turn, Turn]


def turn_threats(
    epochs: Sequence[EpochTotals], plan: Plan, control: str, arm: str
) -> tuple[Observation, ...]:
    """Every threat that the turns of one contrast show; epochs in which both arms had one."""
    both = [epoch for epoch in epochs if control in epoch.turns and arm in epoch.turns]
    pairs = [(epoch.turns[control], epoch.turns[arm]) for epoch in both]
    if not pairs:
        return ()
    return (
        *unfinished_threats(pairs, plan),
        *unequal_turns_threats(pairs),
        *directories_threats(both, plan, control, arm),
        *_evicted(pairs),
        *_quiet(pairs),
        *level_threats(pairs),
        *pauses_threats(pairs),
        *debt_threats(pairs),
        *ageing_threats(both, plan, control, arm),
    )


def _sides(pairs: Sequence[Pair]) -> tuple[list[Turn], list[Turn]]:
    """The turns of the control, and of the arm."""
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def directories_threats(
    epochs: Sequence[EpochTotals], plan: Plan, control: str, arm: str
) -> Iterator[Observation]:
    """Directories that the plan draws and that stayed with their arms; one that it carries with
    its arm is the plan's own threat. Half of the epochs are drawn either way, so that eight in the
    same place are no chance."""
    places = {(epoch.slots.get(control), epoch.slots.get(arm)) for epoch in epochs}
    if plan.upkeep == "carry" or len(epochs) < FEWEST_FOR_VERDICT or len(places) > 1:
        return
    [(of_control, of_arm)] = places
    if of_control != of_arm:
        yield DirectoryNotDrawn(arm, control, len(epochs))


def _evicted(pairs: Sequence[Pair]) -> Iterator[Observation]:
    shares = np.array([[turn.resident_share for turn in pair] for pair in pairs])
    if np.isnan(shares).all():
        yield ResidencyUnknown()
        return
    resident = shares > RESIDENT_SHARE  # not known: not resident
    if not resident.any():
        return
    largest = float(shares[resident].max())
    arms_differ = apart(shares[:, 1] - shares[:, 0], RESIDENT_SHARE)
    yield FilesStayedResident(*_counted(resident, pairs), share=largest, arms_differ=arms_differ)


def _quiet(pairs: Sequence[Pair]) -> Iterator[Observation]:
    busy = np.array([[not turn.quiet for turn in pair] for pair in pairs])
    if not busy.any():
        return
    waiting = max(turn.waiting_bytes for turn in chain(*pairs) if not turn.quiet)
    before_control, before_arm = (int(count) for count in busy.sum(axis=0))
    arms_differ = unequal(before_control, before_arm, len(pairs), len(pairs))
    yield DeviceWasBusy(*_counted(busy, pairs), waiting_bytes=waiting, arms_differ=arms_differ)


def _counted(marked: np.ndarray, pairs: Sequence[Pair]) -> tuple[str, str, tuple[int, int], int]:
    """Control, arm, how many turns of each are marked, and of how many."""
    control, arm = pairs[0]
    of_control, of_arm = (int(count) for count in marked.sum(axis=0))
    return control.arm, arm.arm, (of_control, of_arm), len(pairs)


def level_threats(pairs: Sequence[Pair]) -> Iterator[Observation]:
    for turns in _sides(pairs):
        moving = sum(not turn.level for turn in turns)
        if len(turns) >= FEWEST_TURNS and moving > UNSTEADY_SHARE * len(turns):
            yield TurnsNotLevel(turns[0].arm, moving, len(turns))


def unfinished_threats(pairs: Sequence[Pair], plan: Plan) -> Iterator[Observation]:
    """Turns that ended without the checkpoints asked for: first the arm with more of them."""
    fatal = _cut_off_in_one_arm(pairs, plan)
    for turns in sorted(_sides(pairs), key=lambda side: -len(_longest(side))):
        longest = _longest(turns)
        if not longest:
            continue
        counts = sorted(turn.cycles for turn in longest)
        lengths = [turn.measured_ns for turn in longest if turn.seconds]
        yield TurnsCutOff(
            turns[0].arm,
            longest=len(longest),
            turns=len(turns),
            median_ns=float(np.median(lengths)) if lengths else None,
            completed=(counts[0], counts[-1]),
            within_cycle=sum(not turn.at_checkpoint and turn.cycles > 0 for turn in longest),
            arms_differ=fatal,
        )
        fatal = False


def _longest(turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if turn.end == "longest"]


def _cut_off_in_one_arm(pairs: Sequence[Pair], plan: Plan) -> bool:
    """Whether one arm lost its checkpoints more often than the other in the same epochs, where the
    plan expected cycles of both: the figure then compares with checkpoints and without."""
    if plan.turns is None or not all(turn.arm in plan.turns.cycle_seconds for turn in pairs[0]):
        return False
    required = plan.turns.cycles
    lost = [
        [turn.end == "longest" and turn.whole_cycles < required for turn in pair] for pair in pairs
    ]
    control, arm = lost.count([True, False]), lost.count([False, True])
    return balance_p_value(control, arm, len(pairs), len(pairs)) < CUT_OFF_ALPHA


def unequal_turns_threats(pairs: Sequence[Pair]) -> Iterator[Observation]:
    """Arms that were measured at another age, or for another time: medians that lie further apart
    than a part of the longer turn. Plans from before arms were measured alike have these."""
    sides = [[turn for turn in side if turn.seconds] for side in _sides(pairs)]
    if min(map(len, sides)) < FEWEST_TURNS:
        return
    lengths = [float(np.median([turn.measured_ns for turn in side])) for side in sides]
    ages = [float(np.median([turn.age_ns for turn in side])) for side in sides]
    allowed = UNEQUAL_SHARE * max(lengths)
    alike = abs(ages[0] - ages[1]) <= allowed or math.isnan(ages[0] - ages[1])
    if alike and abs(lengths[0] - lengths[1]) <= allowed:
        return
    control, arm = (
        MeasuredTime(side[0].arm, length, None if math.isnan(age) else age)
        for side, length, age in zip(sides, lengths, ages, strict=True)
    )
    yield TurnsUnequal(control, arm)


def pauses_threats(pairs: Sequence[Pair]) -> Iterator[Observation]:
    for turns in _sides(pairs):
        cycles = list(chain.from_iterable(cycles_ns(turn) for turn in turns))
        pauses = list(chain.from_iterable(pauses_ns(turn) for turn in turns))
        if min(len(cycles), len(pauses)) < FEWEST_TURNS:
            continue
        cycle, pause = float(np.median(cycles)), float(np.median(pauses))
        if cycle < SHORT_CYCLE_NS and pause < PAUSE_NS:
            yield NoPauseBetweenCheckpoints(turns[0].arm, cycle, pause, len(cycles))


def debt_threats(pairs: Sequence[Pair]) -> Iterator[Observation]:
    control, arm = pairs[0]
    for growth, grew in ((wal_growth(pairs), LogGrew), (waiting_growth(pairs), WaitingBytesGrew)):
        if growth.unequal:
            yield grew(control.arm, arm.arm, growth)


def ageing_threats(
    epochs: Sequence[EpochTotals], plan: Plan, control: str, arm: str
) -> Iterator[Observation]:
    d = np.array([epoch_log_ratio(epoch, arm, control, plan.metric) for epoch in epochs])
    trend = ageing(d)
    if trend.alarms and math.isfinite(trend.change):
        yield ReadingAged(trend.change, len(d))
