"""Raises the threats of cycles: what was not alike for arms that took slices in their own time.

Blocks pair the arms within seconds, so that what the machine does by itself meets both alike.
What is left is what an arm did while it was to stand still, what its window was not (whole cycles
of its own, as old and as long as the other's), and what the kernel does for both: it writes the
dirty pages of one arm in the slices of the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from steelyard.evaluation.threats.turns import (
    ageing_threats,
    debt_threats,
    directories_threats,
    level_threats,
    pauses_threats,
    unequal_turns_threats,
    unfinished_threats,
)
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S
from steelyard.record.epoch import Epoch, WindowLine
from steelyard.record.plan import Plan
from steelyard.record.turns.seconds import CheckpointLine

UNEQUAL_DIRTIED = 0.1
"""Share of the bytes that a transaction dirtied, above which it counts that another slice pays."""
FAR_MORE_OFTEN = 2.0
"""Times as often, from which on two arms were read at unlike distances."""
BY_SIZE = "wal"
"""How the cause of a checkpoint begins that log requested (CreateCheckPoint of xlog.c)."""
SPACES_CHECKPOINTS = ("checkpoint_", "max_wal_size", "min_wal_size")
"""Settings, or how their names begin, with which the distance is the treatment itself."""
BUSY_QUEUE = 1.0
"""Requests under way on average in an arm's slices: from here on one waits for another."""
CUT_SLICES = 3
"""How many slices may lie between the begin of a checkpoint and the border of a window: it begins
in one, and is seen at the end of that or of the next."""
CUT_SHARE = 0.5
"""Of an arm's windows: from here on cut ones make the reading one of no whole cycles."""
TIMED = "time"
"""The cause of a checkpoint that its timer began."""
FEWEST_TIMED = 4
"""Cycles between timed checkpoints of an arm, for their median to be told."""
Pair = tuple[Turn, Turn]


@dataclass(frozen=True, slots=True)
class ProcessesMoved(Observation):
    """Processes of an arm used processor time while they were to stand still."""

    kind: ClassVar[ThreatKind] = ThreatKind.NOT_HELD_STILL
    arm: str
    most_ns: int
    moved: int
    """Epochs in which they did."""
    epochs: int


@dataclass(frozen=True, slots=True)
class WindowsCut(Observation):
    """Windows said to be of whole cycles began or ended elsewhere in a cycle."""

    kind: ClassVar[ThreatKind] = ThreatKind.CYCLES_CUT
    arm: str
    cut: int
    windows: int
    most_ns: float
    """From the begin of a checkpoint to a border; infinite: there is none before it."""

    @property
    def invalidates(self) -> bool:
        """Where so many are cut that the reading is one of no whole cycles."""
        return self.cut >= CUT_SHARE * self.windows


@dataclass(frozen=True, slots=True)
class TimerUnscaled(Observation):
    """Timed checkpoints of an arm came nearer in own time than planned."""

    kind: ClassVar[ThreatKind] = ThreatKind.CLOCK_AHEAD
    arm: str
    every_s: float
    """Of its own time, the median."""
    planned_s: float
    alone: bool
    """Whether those of the other arm came as planned."""

    @property
    def invalidates(self) -> bool:
        """Where the arms differ by it."""
        return self.alone


@dataclass(frozen=True, slots=True)
class WriteBackShared(Observation):
    """Dirty pages of one arm were written in the slices of the other."""

    kind: ClassVar[ThreatKind] = ThreatKind.WRITE_BACK_SHARED
    arms: tuple[str, str]
    dirtied_bytes: tuple[float, float]
    """A transaction, by the processes of each arm."""
    written_bytes: tuple[float, float]
    """A transaction, by the devices in the slices of each arm."""
    queue: float
    """Requests under way, on average."""
    share: float
    """Of the device's part, by which the difference may be understated at most."""


@dataclass(frozen=True, slots=True)
class LogSpacesCheckpoints(Observation):
    """Log requested checkpoints of one arm far more often than the other had any."""

    kind: ClassVar[ThreatKind] = ThreatKind.CHECKPOINTS_BY_SIZE
    nearer: str
    farther: str
    nearer_s: float
    """Between checkpoints of that arm."""
    farther_s: float
    by_size: int
    """Checkpoints of the nearer arm that log requested."""
    begun: int
    """All of that arm."""


def cycle_threats(
    epochs: Sequence[Epoch], plan: Plan, control: str, arm: str, declared: Collection[str] = ()
) -> tuple[Observation, ...]:
    """Every threat that the windows of one contrast show; epochs in which both arms had one.
    `declared`: names of what differs between the arms."""
    both = [
        epoch for epoch in epochs if control in epoch.line.windows and arm in epoch.line.windows
    ]
    pairs = [(epoch.totals.turns[control], epoch.totals.turns[arm]) for epoch in both]
    if not pairs:
        return ()
    totals = [epoch.totals for epoch in both]
    return (
        *_not_held_still(both, (control, arm)),
        *unfinished_threats(pairs, plan),
        *_cut(pairs),
        *_clock_ahead(pairs, plan),
        *unequal_turns_threats(pairs),
        *directories_threats(totals, plan, control, arm),
        *level_threats(pairs),
        *pauses_threats(pairs),
        *debt_threats(pairs),
        *_write_back(both, control, arm),
        *_by_size(both, (control, arm), declared),
        *ageing_threats(totals, plan, control, arm),
    )


def _not_held_still(epochs: Sequence[Epoch], arms: tuple[str, str]) -> Iterator[Observation]:
    for arm in arms:
        used_ns = [epoch.line.windows[arm].suspended_use_ns for epoch in epochs]
        moved = sum(used > 0 for used in used_ns)
        if moved:
            yield ProcessesMoved(arm, max(used_ns), moved, len(epochs))


def _cut(pairs: Sequence[Pair]) -> Iterator[Observation]:
    """Windows said to be of whole cycles that begin or end elsewhere in a cycle. Ones that were
    measured for the longest time, or for a stated one, say so themselves."""
    for turns in zip(*pairs, strict=True):
        whole = [turn for turn in turns if turn.end == "cycles" and turn.seconds]
        gaps = [(gap_ns, turn) for turn in whole if (gap_ns := _border_gap_ns(turn)) > 0]
        if gaps:
            most_ns, turn = max(gaps, key=lambda each: each[0])
            yield WindowsCut(turn.arm, len(gaps), len(turns), most_ns)


def _border_gap_ns(turn: Turn) -> float:
    """How long before a border of a window the checkpoint began that it is to lie at, the larger of
    both, where that is more than `CUT_SLICES`; else 0; infinite: there is none."""
    begins = np.array([checkpoint.began_ns for checkpoint in turn.checkpoints], dtype=np.float64)
    typical_ns = float(np.median([second.end_ns - second.start_ns for second in turn.seconds]))
    borders = (turn.seconds[0].start_ns, turn.seconds[-1].end_ns)
    gaps = [float(np.min(at - begins[begins <= at], initial=math.inf)) for at in borders]
    return max(gaps) if max(gaps) > CUT_SLICES * typical_ns else 0.0


def _clock_ahead(pairs: Sequence[Pair], plan: Plan) -> Iterator[Observation]:
    """Timed checkpoints that come nearer in own time than planned, as unscaled timers have them.
    Where only one arm has them so, the arms differ by it."""
    if plan.turns is None:
        return
    least = 1 / math.sqrt(len(plan.arms))
    spacings: dict[str, tuple[float, float]] = {}
    for turns in zip(*pairs, strict=True):
        arm = turns[0].arm
        planned_s = plan.turns.cycle_seconds.get(arm)
        timed = [length for turn in turns for length in _timed_ns(turn)]
        if planned_s and len(timed) >= FEWEST_TIMED:
            spacings[arm] = float(np.median(timed)) / NS_PER_S, planned_s
    ahead = {arm for arm, (seen_s, planned_s) in spacings.items() if seen_s < least * planned_s}
    for arm in sorted(ahead, key=list(spacings).index):
        yield TimerUnscaled(arm, *spacings[arm], alone=len(ahead) == 1)


def _timed_ns(turn: Turn) -> Iterator[int]:
    """Own time from the begin of each checkpoint of a window's epoch to that of the next, where the
    timer began both."""
    ordered = sorted(turn.checkpoints, key=lambda checkpoint: checkpoint.began_ns)
    for earlier, later in pairwise(ordered):
        if earlier.cause == later.cause == TIMED:
            yield later.began_ns - earlier.began_ns


def _write_back(epochs: Sequence[Epoch], control: str, arm: str) -> Iterator[Observation]:
    """Arms that dirty unequal amounts, on a device that is busy and does not write as unequally."""
    arms = (control, arm)
    dirtied = {name: _median(_per_transaction(epoch, name)[0] for epoch in epochs) for name in arms}
    written = {name: _median(_per_transaction(epoch, name)[1] for epoch in epochs) for name in arms}
    queue = _median(queue_length(epoch, name) for epoch in epochs for name in arms)
    shared = write_back_shared(dirtied, written, queue)
    if shared is not None:
        yield shared


def write_back_shared(
    dirtied: Mapping[str, float], written: Mapping[str, float], queue: float
) -> WriteBackShared | None:
    """What is seen where one arm's dirty pages are written in another's slices; else None.

    Of two arms, bytes a transaction: `dirtied` by its processes, `written` by the devices in its
    slices; what is written there as unequally as it is dirtied is written in its own. `queue`:
    requests under way on the devices, on average. NaN: not known.
    """
    (control, arm), (first, second) = dirtied.keys(), dirtied.values()
    most, wrote = max(first, second), (written[control], written[arm])
    finite = not any(map(math.isnan, (first, second, *wrote, queue)))
    if not finite or most <= 0 or first == second or queue < BUSY_QUEUE:
        return None
    elsewhere = min(1.0, max(0.0, 1 - (wrote[0] - wrote[1]) / (first - second)))
    share = elsewhere * abs(first - second) / most
    if share <= UNEQUAL_DIRTIED:
        return None
    return WriteBackShared((control, arm), (first, second), wrote, queue, share)


def _by_size(
    epochs: Sequence[Epoch], arms: tuple[str, str], declared: Collection[str]
) -> Iterator[Observation]:
    """Checkpoints that log requested, of one arm far more often than of the other, where no arm
    differs in what spaces them."""
    if any(name.startswith(SPACES_CHECKPOINTS) for name in declared):
        return
    begun = {
        arm: [checkpoint for epoch in epochs for checkpoint in _begun(epoch, arm)] for arm in arms
    }
    measured_s = {
        arm: sum(epoch.totals.turns[arm].measured_ns for epoch in epochs) / NS_PER_S for arm in arms
    }
    if not all(begun.values()) or not all(measured_s.values()):
        return
    every_s = {arm: measured_s[arm] / len(begun[arm]) for arm in arms}
    nearer, farther = sorted(arms, key=lambda arm: every_s[arm])
    by_size = sum(checkpoint.cause.startswith(BY_SIZE) for checkpoint in begun[nearer])
    often = every_s[farther] > FAR_MORE_OFTEN * every_s[nearer]
    if not often or by_size <= len(begun[nearer]) / 2:
        return
    yield LogSpacesCheckpoints(
        nearer, farther, every_s[nearer], every_s[farther], by_size, len(begun[nearer])
    )


def _begun(epoch: Epoch, arm: str) -> list[CheckpointLine]:
    """Checkpoints that began within the window of an arm."""
    window, seconds = epoch.line.windows[arm], epoch.totals.turns[arm].seconds
    if not seconds:
        return []
    start_ns, end_ns = seconds[0].start_ns, seconds[-1].end_ns
    return [
        checkpoint for checkpoint in window.checkpoints if start_ns < checkpoint.began_ns <= end_ns
    ]


def _median(values: Iterable[float]) -> float:
    """Of what is known; NaN: nothing is."""
    finite = [value for value in values if not math.isnan(value)]
    return float(np.median(finite)) if finite else math.nan


def _per_transaction(epoch: Epoch, arm: str) -> tuple[float, float]:
    """Bytes that its processes dirtied, and that the devices wrote, a transaction of a window."""
    columns, done = epoch.line.windows[arm].seconds, epoch.totals.arms[arm].transactions
    written = () if columns.devices is None else columns.devices.written_bytes
    sums = (
        [value for value in column if value is not None]
        for column in (columns.dirtied_bytes, written)
    )
    dirtied, wrote = (sum(counted) / done if counted and done else math.nan for counted in sums)
    return dirtied, wrote


def queue_length(epoch: Epoch, arm: str) -> float:
    """Requests under way on the devices beneath the data in an arm's measured slices, on average;
    NaN: no device is to be seen."""
    window: WindowLine = epoch.line.windows[arm]
    devices = window.seconds.devices
    took_ns = epoch.totals.turns[arm].loaded_ns
    if devices is None or not took_ns:
        return math.nan
    queued = [value for value in devices.queued_ms if value is not None]
    return sum(queued) * 1e6 / took_ns if queued else math.nan
