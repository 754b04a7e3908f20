"""Raises the threats that the epochs themselves show: places, counts, crashes, shape, plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.analysis.checks.drops import unequal
from steelyard.analysis.checks.littles_law import held_up, hides_stalls, impossible
from steelyard.analysis.checks.outliers import skewed_side
from steelyard.analysis.checks.slots import ALPHA, PlaceCheck, carry_over_check, place_check
from steelyard.analysis.decision.epoch_reading import COMPLETE, EpochReading, blamed
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_percent, percent_of_log

MOST_CAPPED = 0.001
"""Share of clients' turns that may be given up at the border before it is a doubt in itself."""


def threats_of_epochs(
    epochs: Sequence[EpochReading], arm: str, control: str, terms: Terms, ended: bool
) -> tuple[Threat, ...]:
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


def _places(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    d = np.array([epoch.d for epoch in epochs], dtype=float)
    slots = [(epoch.slots.get(arm), epoch.slots.get(control)) for epoch in epochs]
    orders = [_who_first(epoch, arm, control) for epoch in epochs]
    check = place_check(d, slots)
    if check.alarms:
        yield raise_threat(
            ThreatKind.SLOTS_DIFFER,
            f"the reading moves by {_size(check)} with the slots of the arms",
        )
    check = carry_over_check([epoch.carry_over for epoch in epochs])
    if check.alarms:
        yield raise_threat(
            ThreatKind.CARRY_OVER,
            f"{arm} changes by {_size(check)} more than {control} when it follows another arm",
        )
    check = place_check(d, orders)
    if check.alarms:
        yield raise_threat(
            ThreatKind.START_ORDER,
            f"the reading moves by {_size(check)} with which arm was started first",
        )


def _size(check: PlaceCheck) -> str:
    """`+2.31 % [+0.80, +3.85] (99 % interval)`; between many places there is no interval."""
    size = format_percent(percent_of_log(check.effect))
    if not math.isfinite(check.interval.width):
        return f"up to {size}, more than 99 of 100 draws give,"
    low, high = (
        format_percent(percent_of_log(end)).removesuffix(" %")
        for end in (check.interval.low, check.interval.high)
    )
    return f"{size} [{low}, {high}] ({100 * (1 - ALPHA):g} % interval)"


def _who_first(epoch: EpochReading, arm: str, control: str) -> bool | None:
    if arm in epoch.start_order and control in epoch.start_order:
        return epoch.start_order.index(arm) < epoch.start_order.index(control)
    return None


def _counts(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    dropped = [sum(epoch.dropped.get(name, 0) for epoch in epochs) for name in (arm, control)]
    retained = [sum(epoch.slices.get(name, 0) for epoch in epochs) for name in (arm, control)]
    if unequal(*dropped, *(a + b for a, b in zip(retained, dropped, strict=True))):
        yield raise_threat(
            ThreatKind.UNEQUAL_DROPS,
            f"{dropped[0]} slices of {arm} were dropped and {dropped[1]} of {control}",
        )
    failed = [sum(epoch.failed.get(name, 0) for epoch in epochs) for name in (arm, control)]
    tried = [sum(epoch.attempted.get(name, 0) for epoch in epochs) for name in (arm, control)]
    if unequal(*failed, *tried):
        yield raise_threat(
            ThreatKind.ERRORS_DIFFER,
            f"{failed[0]} of {tried[0]} transactions of {arm} failed or were retried, "
            f"and {failed[1]} of {tried[1]} of {control}",
        )
    yield from _capped(epochs, arm, control)


def _capped(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    """Clients that were given up: in one arm more than in the other, or often in both."""
    counts = [sum(epoch.capped.get(name, 0) for epoch in epochs) for name in (arm, control)]
    chances = [
        sum(epoch.slices.get(name, 0) * epoch.clients.get(name, 0) for epoch in epochs)
        for name in (arm, control)
    ]
    observation = (
        f"clients of {arm} were not back in time after {counts[0]} of {chances[0]} turns and were "
        f"given up, those of {control} after {counts[1]} of {chances[1]}"
    )
    if unequal(*counts, *chances):
        yield raise_threat(ThreatKind.ERRORS_DIFFER, observation)
    elif any(n > MOST_CAPPED * of for n, of in zip(counts, chances, strict=True)):
        yield raise_threat(
            ThreatKind.LITTLES_LAW, f"{observation}: what they waited for is cut off there"
        )


def _crashes(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    for name in (control, arm):
        lost = [epoch for epoch in epochs if name in blamed(epoch.outcome)]
        if lost:
            listed = ", ".join(f"{epoch.epoch + 1} ({_what(epoch.outcome)})" for epoch in lost)
            yield raise_threat(
                ThreatKind.ARM_CRASHED,
                f"{name} did not complete {len(lost)} of {len(epochs)} epochs: {listed}",
            )

    unblamed = [
        epoch for epoch in epochs if epoch.outcome != COMPLETE and not blamed(epoch.outcome)
    ]
    if unblamed:
        first = unblamed[0]
        yield raise_threat(
            ThreatKind.ARM_CRASHED,
            f"{len(unblamed)} of {len(epochs)} epochs were lost and have no reading; "
            f"epoch {first.epoch + 1}: {first.outcome}",
        )


def _what(outcome: str) -> str:
    return outcome.partition(":")[0]


def _littles_law(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    for name in (control, arm):
        shares = [epoch.busy_share.get(name, math.nan) for epoch in epochs]
        finite = [share for share in shares if math.isfinite(share)]
        if not finite:
            continue
        share = float(np.median(finite))
        if impossible(share) or held_up(share):
            yield raise_threat(
                ThreatKind.LITTLES_LAW,
                f"the latencies of {name} fill {100 * share:.1f} % of its time under load",
            )
    yield from _border(epochs, arm, control)


def _border(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    """A border that hides stalls: slices that ended later than their clients' times say."""
    for name in (control, arm):
        shares = [epoch.uncharged_share.get(name, math.nan) for epoch in epochs]
        finite = [share for share in shares if math.isfinite(share)]
        share = float(np.mean(finite)) if finite else 0.0
        if hides_stalls(share):
            yield raise_threat(
                ThreatKind.LITTLES_LAW,
                f"{100 * share:.1f} % of the time of {name} came after the bell and was charged to "
                "no client: stalls at the border are not counted",
            )


def _shape(epochs: Sequence[EpochReading], arm: str, control: str) -> Iterator[Threat]:
    usable = np.array([epoch.d for epoch in epochs if not math.isnan(epoch.d)])
    side = skewed_side(usable)
    if side and len(usable) >= FEWEST_FOR_VERDICT:
        less = "less" if side < 0 else "more"
        yield raise_threat(
            ThreatKind.SKEWED,
            f"two or more epochs read far {less} of {arm} against {control} than the others, "
            "and none as far on the other side",
        )


def _plan(epochs: Sequence[EpochReading], terms: Terms, ended: bool) -> Iterator[Threat]:
    usable = sum(not math.isnan(epoch.d) for epoch in epochs)
    if usable < FEWEST_FOR_VERDICT and (ended or len(epochs) >= terms.epochs):
        yield raise_threat(
            ThreatKind.TOO_FEW_EPOCHS,
            f"{usable} epochs have a reading; a verdict needs {FEWEST_FOR_VERDICT}",
        )
    if terms.attempt > 1:
        yield raise_threat(ThreatKind.ATTEMPT, f"this is attempt {terms.attempt}")
    if terms.looked and not terms.open_ended:  # its sets hold at every look
        times = "once" if terms.looked == 1 else f"{terms.looked} times"
        yield raise_threat(
            ThreatKind.LOOKED_AT, f"it was interrupted and judged {times} before it went on"
        )
