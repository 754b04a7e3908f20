"""Raises the threats that the epochs themselves show: places, counts, crashes, shape, plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steelyard.analysis.checks.drops import unequal
from steelyard.analysis.checks.littles_law import hides_stalls, impossible, is_driver_bound
from steelyard.analysis.checks.outliers import skewed_side
from steelyard.analysis.checks.slots import PlaceCheck, carry_over_check, place_check
from steelyard.analysis.decision.epoch_reading import COMPLETE, EpochReading, blamed
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.model.threat import Observation, ThreatKind

MOST_CAPPED = 0.001
"""Share of clients' turns that may be given up at the border before it is a doubt in itself."""


@dataclass(frozen=True, slots=True)
class SlotsDiffer(Observation):
    """The reading depends on the slots that the arms had."""

    kind: ClassVar[ThreatKind] = ThreatKind.SLOTS_DIFFER
    check: PlaceCheck


@dataclass(frozen=True, slots=True)
class StartOrderMatters(Observation):
    """The reading depends on which arm was started first."""

    kind: ClassVar[ThreatKind] = ThreatKind.START_ORDER
    check: PlaceCheck


@dataclass(frozen=True, slots=True)
class CarriedOver(Observation):
    """An arm changes more than the other when it follows another arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.CARRY_OVER
    arm: str
    control: str
    check: PlaceCheck


@dataclass(frozen=True, slots=True)
class CountsOfArms(Observation):
    """A count of the arm and of the control, each out of how many."""

    arm: str
    control: str
    counts: tuple[int, int]
    out_of: tuple[int, int]


@dataclass(frozen=True, slots=True)
class UnequalDrops(CountsOfArms):
    """Slices were dropped more often for one arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.UNEQUAL_DROPS


@dataclass(frozen=True, slots=True)
class UnequalFailures(CountsOfArms):
    """Transactions failed, or were tried again, more often in one arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.ERRORS_DIFFER


@dataclass(frozen=True, slots=True)
class UnequalClientsGivenUp(CountsOfArms):
    """Clients were given up at borders more often in one arm."""

    kind: ClassVar[ThreatKind] = ThreatKind.ERRORS_DIFFER


@dataclass(frozen=True, slots=True)
class ClientsGivenUp(CountsOfArms):
    """Clients were given up at borders, alike in both arms: what they waited for is cut off."""

    kind: ClassVar[ThreatKind] = ThreatKind.LITTLES_LAW


@dataclass(frozen=True, slots=True)
class ArmDidNotComplete(Observation):
    """An arm crashed, failed or hung in some epochs."""

    kind: ClassVar[ThreatKind] = ThreatKind.ARM_CRASHED
    arm: str
    lost: tuple[tuple[int, str], ...]
    """(epoch from 0, how it ended)."""
    epochs: int


@dataclass(frozen=True, slots=True)
class EpochsWithoutReading(Observation):
    """Epochs that no single arm is to blame for."""

    kind: ClassVar[ThreatKind] = ThreatKind.ARM_CRASHED
    lost: tuple[tuple[int, str], ...]
    """(epoch from 0, how it ended)."""
    epochs: int


@dataclass(frozen=True, slots=True)
class LatenciesFill(Observation):
    """The latencies of an arm do not sum to its time under load."""

    kind: ClassVar[ThreatKind] = ThreatKind.LITTLES_LAW
    arm: str
    share: float


@dataclass(frozen=True, slots=True)
class StallsAtBorder(Observation):
    """Slices ended later than their clients' times say: a border hides stalls."""

    kind: ClassVar[ThreatKind] = ThreatKind.LITTLES_LAW
    arm: str
    share: float
    """Of its time, that no client was charged."""


@dataclass(frozen=True, slots=True)
class EpochsSkewed(Observation):
    """Epochs read far to one side, and none as far to the other."""

    kind: ClassVar[ThreatKind] = ThreatKind.SKEWED
    arm: str
    control: str
    side: int
    """Below 0: they read less of the arm."""


@dataclass(frozen=True, slots=True)
class TooFewEpochs(Observation):
    """Too few epochs have a reading for a verdict."""

    kind: ClassVar[ThreatKind] = ThreatKind.TOO_FEW_EPOCHS
    usable: int
    needed: int


@dataclass(frozen=True, slots=True)
class WeighedBefore(Observation):
    """The same question was weighed before."""

    kind: ClassVar[ThreatKind] = ThreatKind.ATTEMPT
    attempt: int


@dataclass(frozen=True, slots=True)
class JudgedBefore(Observation):
    """It was judged and shown before it went on."""

    kind: ClassVar[ThreatKind] = ThreatKind.LOOKED_AT
    times: int


def threats_of_epochs(
    epochs: Sequence[EpochReading], arm: str, control: str, terms: Terms, ended: bool
) -> tuple[Observation, ...]:
    """Every threat that the readings of one contrast show, in the order of the closed list.

    `ended`: no further epoch will come; before that, too few epochs is no threat.
    """
    return (
        *_places(epochs, arm, control),
        *_counts(epochs, arm, control),
        *_crashes(epochs, arm, control),
        *_littles_law(epochs, arm, control),
        *_shape(epochs, arm, control),
        *_plan(epochs, terms, ended),
    )


def _places(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    d = np.array([epoch.d for epoch in epochs], dtype=float)
    slots = [(epoch.slots.get(arm), epoch.slots.get(control)) for epoch in epochs]
    orders = [_started_first(epoch, arm, control) for epoch in epochs]
    check = place_check(d, slots)
    if check.alarms:
        yield SlotsDiffer(check)
    check = carry_over_check([epoch.carry_over for epoch in epochs])
    if check.alarms:
        yield CarriedOver(arm, control, check)
    check = place_check(d, orders)
    if check.alarms:
        yield StartOrderMatters(check)


def _started_first(epoch: EpochReading, arm: str, control: str) -> bool | None:
    if arm in epoch.start_order and control in epoch.start_order:
        return epoch.start_order.index(arm) < epoch.start_order.index(control)
    return None


def _counts(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    dropped = _of_both(
        sum(epoch.dropped.get(name, 0) for epoch in epochs) for name in (arm, control)
    )
    retained = _of_both(
        sum(epoch.slices.get(name, 0) for epoch in epochs) for name in (arm, control)
    )
    begun = _of_both(a + b for a, b in zip(retained, dropped, strict=True))
    if unequal(*dropped, *begun):
        yield UnequalDrops(arm, control, dropped, begun)
    failed = _of_both(sum(epoch.failed.get(name, 0) for epoch in epochs) for name in (arm, control))
    tried = _of_both(
        sum(epoch.attempted.get(name, 0) for epoch in epochs) for name in (arm, control)
    )
    if unequal(*failed, *tried):
        yield UnequalFailures(arm, control, failed, tried)
    yield from _capped(epochs, arm, control)


def _of_both(counts: Iterable[int]) -> tuple[int, int]:
    arm, control = counts
    return arm, control


def _capped(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    """Clients that were given up: in one arm more than in the other, or often in both."""
    counts = _of_both(sum(epoch.capped.get(name, 0) for epoch in epochs) for name in (arm, control))
    chances = _of_both(
        sum(epoch.slices.get(name, 0) * epoch.clients.get(name, 0) for epoch in epochs)
        for name in (arm, control)
    )
    if unequal(*counts, *chances):
        yield UnequalClientsGivenUp(arm, control, counts, chances)
    elif any(n > MOST_CAPPED * of for n, of in zip(counts, chances, strict=True)):
        yield ClientsGivenUp(arm, control, counts, chances)


def _crashes(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    for name in (control, arm):
        lost = [epoch for epoch in epochs if name in blamed(epoch.outcome)]
        if lost:
            ways = tuple((epoch.epoch, epoch.outcome.partition(":")[0]) for epoch in lost)
            yield ArmDidNotComplete(name, ways, len(epochs))

    unblamed = [
        epoch for epoch in epochs if epoch.outcome != COMPLETE and not blamed(epoch.outcome)
    ]
    if unblamed:
        outcomes = tuple((epoch.epoch, epoch.outcome) for epoch in unblamed)
        yield EpochsWithoutReading(outcomes, len(epochs))


def _littles_law(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    for name in (control, arm):
        shares = [epoch.busy_share.get(name, math.nan) for epoch in epochs]
        finite = [share for share in shares if math.isfinite(share)]
        if not finite:
            continue
        share = float(np.median(finite))
        if impossible(share) or is_driver_bound(share):
            yield LatenciesFill(name, share)
    yield from _border(epochs, arm, control)


def _border(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    """A border that hides stalls: slices that ended later than their clients' times say."""
    for name in (control, arm):
        shares = [epoch.uncharged_share.get(name, math.nan) for epoch in epochs]
        finite = [share for share in shares if math.isfinite(share)]
        share = float(np.mean(finite)) if finite else 0.0
        if hides_stalls(share):
            yield StallsAtBorder(name, share)


def _shape(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Observation]:
    usable = np.array([epoch.d for epoch in epochs if not math.isnan(epoch.d)])
    side = skewed_side(usable)
    if side and len(usable) >= FEWEST_FOR_VERDICT:
        yield EpochsSkewed(arm, control, side)


def _plan(epochs: Sequence[EpochReading], terms: Terms, ended: bool) -> Iterator[Observation]:
    usable = sum(not math.isnan(epoch.d) for epoch in epochs)
    if usable < FEWEST_FOR_VERDICT and (ended or len(epochs) >= terms.epochs):
        yield TooFewEpochs(usable, FEWEST_FOR_VERDICT)
    if terms.attempt > 1:
        yield WeighedBefore(terms.attempt)
    if terms.looked and not terms.open_ended:  # its sets hold at every look
        yield JudgedBefore(terms.looked)
