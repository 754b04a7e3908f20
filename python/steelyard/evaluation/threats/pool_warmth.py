"""Checks whether the arms' buffer pools were still filling while they were measured.

Every restart empties a pool. Where it is larger than an epoch can fill, transactions read blocks
that they will not read later, and throughput shows how cold the pool is, not how large. Reads of
the server's process tree are taken at the borders of four equal parts of an epoch's measured
slices; in turns at every second, and two halves of as many whole checkpoint cycles are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.analysis.pilot.pool_level import FEW_BLOCKS
from steelyard.analysis.turns.evenness import four_parts
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Observation, ThreatKind
from steelyard.model.turn import Turn

BLOCK_BYTES = 8192
PARTS = 4
REQUESTED = "requested_bytes"
"""The reading of bytes that an arm's processes asked the kernel for by read calls."""
FEWEST_EPOCHS = 4


@dataclass(frozen=True, slots=True)
class ReadsFell:
    """Blocks read by a transaction of an arm (of BLOCK_BYTES), which fell while it was measured."""

    arm: str
    first: float
    """In the first part of an epoch, or the first half of a turn."""
    last: float
    level: float | None
    """The level that the reads approach; None: in turns, where two halves do not determine it."""


@dataclass(frozen=True, slots=True)
class ContrastMoved:
    """By how much the reads above their levels move the contrast of two arms."""

    share: float | None
    """None: what a read takes cannot be separated from what else scatters."""
    surely_beyond_margin: bool = False


@dataclass(frozen=True, slots=True)
class PoolNotWarm(Observation):
    """Reads still fell in an arm, or in both."""

    kind: ClassVar[ThreatKind] = ThreatKind.POOL_NOT_WARM
    falls: tuple[ReadsFell, ...]
    moved: ContrastMoved | None
    """None: the work writes, so that it is not computed."""

    @property
    def invalidates(self) -> bool:
        """Where it moves the contrast by more than the margin, and more than chance."""
        return self.moved is not None and self.moved.surely_beyond_margin

    @property
    def in_turns(self) -> bool:
        """Whether they are of the halves of turns."""
        return any(fall.level is None for fall in self.falls)


@dataclass(frozen=True)
class PartReads:
    """What an arm read in the four parts of its epochs, shape (epochs, 4)."""

    epochs: tuple[int, ...]
    reads: Floats  # blocks a transaction
    times: Floats  # ns of clients' time a transaction
    in_turns: bool = False
    """Then only halves are alike in what checkpoints do: whole cycles, where a part is none."""

    def of(self, epochs: Sequence[int]) -> PartReads:
        """Those of some epochs."""
        places = [self.epochs.index(epoch) for epoch in epochs]
        return replace(
            self, epochs=tuple(epochs), reads=self.reads[places], times=self.times[places]
        )

    @cached_property
    def falls(self) -> bool:
        """Whether reads fell from the first half to the second: more than chance, and not by
        next to nothing."""
        if len(self.reads) < FEWEST_EPOCHS:
            return False
        falls = self.reads[:, :2].mean(axis=1) - self.reads[:, 2:].mean(axis=1)
        first, last = self.ends
        return t_interval(falls).low > 0 and first - last >= FEW_BLOCKS

    @property
    def ends(self) -> tuple[float, float]:
        """Mean reads of the first and of the last part; in turns, of the two halves."""
        mean = self.reads.mean(axis=0)
        if self.in_turns:
            return float(mean[:2].mean()), float(mean[2:].mean())
        return float(mean[0]), float(mean[-1])

    @property
    def level(self) -> float:
        """Where the reads lead by their own course, at least 0; their mean where they do not
        fall."""
        mean = self.reads.mean(axis=0)
        return _level(mean) if self.falls else float(mean.mean())


def pool_not_warm(
    epochs: Sequence[EpochTotals], control: str, arm: str, margin: float, *, writes: bool
) -> Iterator[Observation]:
    """The threat where reads still fell in an arm. It invalidates where what the two arms read
    above their levels moves their contrast by more than the margin, and more than chance.

    `writes`: the work writes. Then full-page images fall with the reads, or come and go with the
    checkpoints of a turn, and the part of the time that is the reads' cannot be separated: the
    threat reports what was seen and invalidates nothing.
    """
    ours, theirs = (part_reads(epochs, name) for name in (control, arm))
    if ours is not None and theirs is not None:
        yield from not_warm(ours, theirs, names=(control, arm), margin=margin, writes=writes)


def not_warm(
    control: PartReads,
    arm: PartReads,
    *,
    names: tuple[str, str],
    margin: float,
    writes: bool = False,
) -> Iterator[Observation]:
    """Of what two arms, by their names, read."""
    falls = tuple(
        _fall(name, side) for name, side in zip(names, (control, arm), strict=True) if side.falls
    )
    if falls:
        yield PoolNotWarm(falls, None if writes else _moved(control, arm, margin))


def _fall(name: str, reads: PartReads) -> ReadsFell:
    return ReadsFell(name, *reads.ends, level=None if reads.in_turns else reads.level)


def _moved(control: PartReads, arm: PartReads, margin: float) -> ContrastMoved:
    explained = _explained(control, arm)
    if explained is None:
        return ContrastMoved(None)
    share = abs(float(explained.mean()))
    certain = 0.0 not in t_interval(explained)
    return ContrastMoved(share, certain and 100 * share > 100 * margin)


def _explained(control: PartReads, arm: PartReads) -> Floats | None:
    """Share of the arm's time that reads above its level take, minus the control's: as
    pseudo-values of the epochs that both have (jackknife, Tukey 1958), whose mean is that share and
    whose scatter holds what is not known of the levels and of the time of a read.

    The time of a read is the slope of the arms' difference in time by their difference in reads:
    what makes both faster within an epoch, as a processor's clock does, is in neither. None where
    it is not above 0 for sure, as with pools that fill alike.
    """
    common = sorted({*control.epochs} & {*arm.epochs})
    if len(common) < FEWEST_EPOCHS:
        return None
    ours, theirs, falls = control.of(common), arm.of(common), (control.falls, arm.falls)
    reads, times = theirs.reads - ours.reads, theirs.times - ours.times
    slopes = [_time_of_a_read(x[None, :], y[None, :]) for x, y in zip(reads, times, strict=True)]
    if t_interval(np.array(slopes)).low <= 0:
        return None
    whole = _share(ours, theirs, falls)
    without = [[epoch for epoch in common if epoch != left] for left in common]
    partial = np.array([_share(control.of(some), arm.of(some), falls) for some in without])
    return np.asarray(len(common) * whole - (len(common) - 1) * partial)


def _share(control: PartReads, arm: PartReads, falls: tuple[bool, bool]) -> float:
    """Of these epochs; `falls`: in which of the two reads fall, which all epochs decide."""
    time_of_a_read = _time_of_a_read(arm.reads - control.reads, arm.times - control.times)
    ours, theirs = (
        (float(side.reads.mean()) - _level(side.reads.mean(axis=0))) / float(side.times.mean())
        if does
        else 0.0
        for side, does in zip((control, arm), falls, strict=True)
    )
    return (theirs - ours) * time_of_a_read


def part_reads(epochs: Sequence[EpochTotals], arm: str) -> PartReads | None:
    """The reads of an arm by part of its epochs; None where too few epochs have them."""
    by_epoch = {epoch.epoch: _parts(epoch, arm) for epoch in epochs}
    complete = {epoch: parts for epoch, parts in by_epoch.items() if parts is not None}
    if len(complete) < FEWEST_EPOCHS:
        return None
    reads, times = (np.array([parts[index] for parts in complete.values()]) for index in (0, 1))
    in_turns = any(arm in epoch.turns for epoch in epochs)
    return PartReads(tuple(complete), reads, times, in_turns)


@memoize_by_identity
def _parts(epoch: EpochTotals, arm: str) -> tuple[list[float], list[float]] | None:
    """Blocks read and time under load a transaction, by part of the measured slices or turn."""
    if arm in epoch.turns:
        return _of_turn(epoch.turns[arm])
    parts, totals = epoch.parts.get(arm, ()), epoch.arms[arm]
    complete = len(parts) == PARTS and all(REQUESTED in part.values for part in parts)
    if not complete or totals.dropped or epoch.outcome != "complete":
        return None
    ends = [*(part.first_block for part in parts[1:]), None]
    reads, times = [], []
    for part, end in zip(parts, ends, strict=True):
        slices = [
            slice_totals
            for slice_totals in totals.slices
            if slice_totals.block >= part.first_block and (end is None or slice_totals.block < end)
        ]
        done = sum(slice_totals.transactions for slice_totals in slices)
        if not done:
            return None
        reads.append(part.values[REQUESTED] / BLOCK_BYTES / done)
        times.append(sum(slice_totals.busy_ns for slice_totals in slices) / done)
    return reads, times


def _of_turn(turn: Turn) -> tuple[list[float], list[float]] | None:
    parts = four_parts(turn)
    done = [sum(second.transactions for second in part) for part in parts]
    read = [sum(second.read_bytes for second in part) for part in parts]
    if not all(done) or not np.isfinite(read).all():
        return None
    busy = [sum(second.busy_ns for second in part) for part in parts]
    return (
        [size / BLOCK_BYTES / n for size, n in zip(read, done, strict=True)],
        [took / n for took, n in zip(busy, done, strict=True)],
    )


def _level(mean: Floats) -> float:
    """Where a fall in four steps leads if each step is the same share of the one before it."""
    steps = -np.diff(mean)
    early, late = steps[0] + steps[1], steps[1] + steps[2]
    ratio = float(late / early) if early > 0 else 1.0
    if late <= 0:
        return float(mean[-1])
    if ratio >= 1:
        return 0.0
    return max(0.0, float(mean[-1] - max(steps[2], 0.0) * ratio / (1 - ratio)))


def _time_of_a_read(reads: Floats, times: Floats) -> float:
    """Nanoseconds of a client's time that a block read takes: the slope within epochs, whatever its
    sign."""
    x = reads - reads.mean(axis=1, keepdims=True)
    y = times - times.mean(axis=1, keepdims=True)
    spread = float((x * x).sum())
    return float((x * y).sum()) / spread if spread > 0 else 0.0
