"""Raises the threats of cycles: what was not alike for arms that took slices in their own time.

Blocks pair the arms within seconds, so that what the machine does by itself meets both alike.
What is left is what an arm did while it was to stand still, what its window was not (whole cycles
of its own, as old and as long as the other's), and what the kernel does for both: it writes the
dirty pages of one arm in the slices of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.record.epoch import Epoch
from steelyard.record.plan import Plan
from steelyard.record.window import WindowLine

UNEQUAL_DIRTIED = 0.1
"""By how much bytes dirtied per transaction may differ between the arms before the device is held
against it."""
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


def cycle_threats(
    epochs: Sequence[Epoch], plan: Plan, control: str, arm: str
) -> tuple[Threat, ...]:
    """Every threat that the windows of one contrast show; epochs in which both arms had one."""
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
        *ageing_threats(totals, plan, control, arm),
    )


def _not_held_still(epochs: Sequence[Epoch], arms: tuple[str, str]) -> Iterator[Threat]:
    for arm in arms:
        used_ns = [epoch.line.windows[arm].suspended_use_ns for epoch in epochs]
        moved = sum(used > 0 for used in used_ns)
        if moved:
            yield raise_threat(
                ThreatKind.NOT_HELD_STILL,
                f"processes of {arm} used up to {format_duration(max(used_ns))} of processor time "
                f"while they were to stand still, in {moved} of {len(epochs)} epochs",
            )


def _cut(pairs: Sequence[Pair]) -> Iterator[Threat]:
    """Windows said to be of whole cycles that begin or end elsewhere in a cycle. Ones that were
    measured for the longest time, or for a stated one, say so themselves."""
    for own in zip(*pairs, strict=True):
        whole = [turn for turn in own if turn.end == "cycles" and turn.seconds]
        gaps = [(gap_ns, turn) for turn in whole if (gap_ns := _border_gap_ns(turn)) > 0]
        if gaps:
            most_ns, turn = max(gaps, key=lambda each: each[0])
            missed = (
                f"up to {format_duration(round(most_ns))} from the begin of a checkpoint"
                if math.isfinite(most_ns)
                else "without a checkpoint before them"
            )
            yield raise_threat(
                ThreatKind.CYCLES_CUT,
                f"{len(gaps)} of {len(own)} windows of {turn.arm} began or ended {missed}",
                invalidates=len(gaps) >= CUT_SHARE * len(own),
            )


def _border_gap_ns(turn: Turn) -> float:
    """How long before a border of a window the checkpoint began that it is to lie at, the larger of
    both, where that is more than `CUT_SLICES`; else 0; infinite: there is none."""
    begins = np.array([one.began_ns for one in turn.checkpoints], dtype=np.float64)
    typical_ns = float(np.median([one.end_ns - one.start_ns for one in turn.seconds]))
    borders = (turn.seconds[0].start_ns, turn.seconds[-1].end_ns)
    gaps = [float(np.min(at - begins[begins <= at], initial=math.inf)) for at in borders]
    return max(gaps) if max(gaps) > CUT_SLICES * typical_ns else 0.0


def _clock_ahead(pairs: Sequence[Pair], plan: Plan) -> Iterator[Threat]:
    """Timed checkpoints that come nearer in own time than planned, as unscaled timers have them.
    Where only one arm has them so, the arms differ by it."""
    if plan.turns is None:
        return
    least = 1 / math.sqrt(len(plan.arms))
    found: dict[str, tuple[float, float]] = {}
    for own in zip(*pairs, strict=True):
        arm = own[0].arm
        planned_s = plan.turns.cycle_seconds.get(arm)
        timed = [length for turn in own for length in _timed_ns(turn)]
        if planned_s and len(timed) >= FEWEST_TIMED:
            found[arm] = float(np.median(timed)) / NS_PER_S, planned_s
    ahead = {arm for arm, (seen_s, planned_s) in found.items() if seen_s < least * planned_s}
    for arm in sorted(ahead, key=list(found).index):
        seen, planned = (format_duration(round(each * NS_PER_S)) for each in found[arm])
        yield raise_threat(
            ThreatKind.CLOCK_AHEAD,
            f"timed checkpoints of {arm} began every {seen} of its own time (median), where the "
            f"plan has {planned}",
            invalidates=len(ahead) == 1,
        )


def _timed_ns(turn: Turn) -> Iterator[int]:
    """Own time from the begin of each checkpoint of a window's epoch to that of the next, where the
    timer began both."""
    ordered = sorted(turn.checkpoints, key=lambda one: one.began_ns)
    for earlier, later in pairwise(ordered):
        if earlier.cause == later.cause == TIMED:
            yield later.began_ns - earlier.began_ns


def _write_back(epochs: Sequence[Epoch], control: str, arm: str) -> Iterator[Threat]:
    """Arms that dirty unequal amounts on a device that is busy."""
    each = {name: [_per_transaction(epoch, name) for epoch in epochs] for name in (control, arm)}
    dirtied = {name: float(np.nanmedian(own)) for name, own in each.items() if _known(own)}
    if len(dirtied) < 2 or max(dirtied.values()) <= 0:
        return
    apart = 1 - min(dirtied.values()) / max(dirtied.values())
    queues = [
        queue
        for epoch in epochs
        for name in (control, arm)
        if not math.isnan(queue := queue_length(epoch, name))
    ]
    if apart <= UNEQUAL_DIRTIED or not queues or float(np.median(queues)) < BUSY_QUEUE:
        return
    words = " and ".join(f"{name} {format_bytes(own)}" for name, own in dirtied.items())
    yield raise_threat(
        ThreatKind.WRITE_BACK_SHARED,
        f"a transaction dirtied {words}, and {float(np.median(queues)):.1f} requests were under "
        f"way on the devices: the difference may be understated by up to {100 * apart:.0f} % of "
        "the device's part",
    )


def _known(values: Sequence[float]) -> bool:
    return any(not math.isnan(value) for value in values)


def _per_transaction(epoch: Epoch, arm: str) -> float:
    """Bytes dirtied per transaction of a window; NaN: not had."""
    columns, done = epoch.line.windows[arm].seconds, epoch.totals.arms[arm].transactions
    known = [value for value in columns.dirtied_bytes if value is not None]
    return sum(known) / done if known and done else math.nan


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
