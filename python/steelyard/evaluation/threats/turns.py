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
from steelyard.analysis.turns.series import cycles_ns, pauses_ns
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.turn import Turn
from steelyard.model.units import (
    NS_PER_S,
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
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
) -> tuple[Threat, ...]:
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
) -> Iterator[Threat]:
    """Directories that the plan draws and that stayed with their arms; one that it carries with
    its arm is the plan's own threat. Half of the epochs are drawn either way, so that eight in the
    same place are no chance."""
    places = {(epoch.slots.get(control), epoch.slots.get(arm)) for epoch in epochs}
    if plan.upkeep == "carry" or len(epochs) < FEWEST_FOR_VERDICT or len(places) > 1:
        return
    [(of_control, of_arm)] = places
    if of_control != of_arm:
        yield raise_threat(
            ThreatKind.DIRECTORY_TIED,
            f"{arm} had the same directory in all {len(epochs)} epochs, and {control} the other, "
            "though they were to be drawn",
            invalidates=True,
        )


def _evicted(pairs: Sequence[Pair]) -> Iterator[Threat]:
    shares = np.array([[turn.resident_share for turn in pair] for pair in pairs])
    if np.isnan(shares).all():
        observation = "the kernel does not tell what of the arms' files stayed in the page cache"
        yield raise_threat(ThreatKind.NOT_EVICTED, observation)
        return
    resident = shares > RESIDENT_SHARE  # not known: not resident
    if not resident.any():
        return
    observation = (
        f"up to {format_digits(100 * float(shares[resident].max()), 2)} % of the arms' files were "
        f"still in the page cache after eviction, more than {100 * RESIDENT_SHARE:g} % before "
        f"{_counted(resident, pairs)}"
    )
    fatal = apart(shares[:, 1] - shares[:, 0], RESIDENT_SHARE)
    if fatal:
        observation += "; that differs between the arms beyond chance"
    yield raise_threat(ThreatKind.NOT_EVICTED, observation, invalidates=fatal)


def _quiet(pairs: Sequence[Pair]) -> Iterator[Threat]:
    busy = np.array([[not turn.quiet for turn in pair] for pair in pairs])
    if not busy.any():
        return
    waiting = max(turn.waiting_bytes for turn in chain(*pairs) if not turn.quiet)
    observation = (
        f"up to {format_bytes(waiting)} were still to be written to the disk when a server was "
        f"started, before {_counted(busy, pairs)}"
    )
    before_control, before_arm = (int(count) for count in busy.sum(axis=0))
    if unequal(before_control, before_arm, len(pairs), len(pairs)):
        observation += (
            "; more often before one arm than chance has it: what the other arm left behind"
        )
    yield raise_threat(ThreatKind.DEVICE_BUSY, observation)


def _counted(marked: np.ndarray, pairs: Sequence[Pair]) -> str:
    """`0 of 10 turns of on and 8 of 10 of off`."""
    control, arm = pairs[0]
    counts = marked.sum(axis=0)
    n = len(pairs)
    return f"{counts[0]} of {n} turns of {control.arm} and {counts[1]} of {n} of {arm.arm}"


def level_threats(pairs: Sequence[Pair]) -> Iterator[Threat]:
    for turns in _sides(pairs):
        moving = sum(not turn.level for turn in turns)
        if len(turns) >= FEWEST_TURNS and moving > UNSTEADY_SHARE * len(turns):
            yield raise_threat(
                ThreatKind.NO_STEADY_STATE,
                f"throughput or reads of {turns[0].arm} were not level yet when {moving} of "
                f"{len(turns)} turns began to be measured",
                in_turns=True,
            )


def unfinished_threats(pairs: Sequence[Pair], plan: Plan) -> Iterator[Threat]:
    """Turns that ended without the checkpoints asked for: first the arm with more of them."""
    fatal = _cut_off_in_one_arm(pairs, plan)
    for turns in sorted(_sides(pairs), key=lambda side: -len(_longest(side))):
        longest = _longest(turns)
        if not longest:
            continue
        counts = sorted(turn.cycles for turn in longest)
        lengths = [turn.measured_ns for turn in longest if turn.seconds]
        after = f" of {format_duration(float(np.median(lengths)))}" if lengths else ""
        observation = (
            f"{len(longest)} of {len(turns)} turns of {turns[0].arm} were measured for the longest "
            f"turn{after}, with {_range(counts[0], counts[-1])} completed"
        )
        within = sum(not turn.at_checkpoint and turn.cycles > 0 for turn in longest)
        if within:
            observation += f"; {within} of them did not begin at the end of one"
        if fatal:
            observation += (
                "; that differs between the arms beyond chance, and both were to have theirs"
            )
        yield raise_threat(ThreatKind.NO_CHECKPOINT, observation, invalidates=fatal)
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


def unequal_turns_threats(pairs: Sequence[Pair]) -> Iterator[Threat]:
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
    each = (
        f"{side[0].arm} was measured for {format_duration(length)}"
        + ("" if math.isnan(age) else f" after {format_duration(age)} under load")
        for side, length, age in zip(sides, lengths, ages, strict=True)
    )
    yield raise_threat(ThreatKind.UNEQUAL_TURNS, f"{', '.join(each)} (medians)")


def _range(fewest: int, most: int) -> str:
    if fewest == most:
        return {0: "no checkpoint", 1: "one checkpoint"}.get(most, f"{most} checkpoints")
    return f"{fewest} to {most} checkpoints"


def pauses_threats(pairs: Sequence[Pair]) -> Iterator[Threat]:
    for turns in _sides(pairs):
        cycles = list(chain.from_iterable(cycles_ns(turn) for turn in turns))
        pauses = list(chain.from_iterable(pauses_ns(turn) for turn in turns))
        if min(len(cycles), len(pauses)) < FEWEST_TURNS:
            continue
        cycle, pause = float(np.median(cycles)), float(np.median(pauses))
        if cycle < SHORT_CYCLE_NS and pause < PAUSE_NS:
            yield raise_threat(
                ThreatKind.NO_PAUSE,
                f"a checkpoint of {turns[0].arm} began every {format_duration(cycle)}, "
                f"{format_duration(max(pause, 0.0))} after the end of the one before it "
                f"(medians of {len(cycles)} cycles)",
            )


def debt_threats(pairs: Sequence[Pair]) -> Iterator[Threat]:
    control, arm = pairs[0]
    for growth, what in (
        (wal_growth(pairs), "log written since the begin of a checkpoint"),
        (waiting_growth(pairs), "what waits to be written to the disk"),
    ):
        if growth.unequal:
            yield raise_threat(
                ThreatKind.UNEQUAL_DEBT,
                f"{what} changed over a turn by {_share(growth.arm)} of the turn's log in "
                f"{arm.arm}, and by {_share(growth.control)} in {control.arm}",
            )


def _share(share: float) -> str:
    return format_percent(100 * share, 1)


def ageing_threats(
    epochs: Sequence[EpochTotals], plan: Plan, control: str, arm: str
) -> Iterator[Threat]:
    d = np.array([epoch_log_ratio(epoch, arm, control, plan.metric) for epoch in epochs])
    trend = ageing(d)
    if trend.alarms and math.isfinite(trend.change):
        yield raise_threat(
            ThreatKind.AGEING,
            f"the reading moved by {format_percent(percent_of_log(trend.change))} from the first "
            f"epoch to the last, more than 99 of 100 orders of {len(d)} epochs give",
        )
