"""Says what cycles show: what was not alike for arms that took slices in their own time."""

from __future__ import annotations

import math

from steelyard.evaluation.threats import cycles as seen
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.wording.threats.advice import Texts


def _moved(observed: seen.ProcessesMoved) -> str:
    return (
        f"processes of {observed.arm} used up to {format_duration(observed.most_ns)} of processor "
        f"time while they were to stand still, in {observed.moved} of {observed.epochs} epochs"
    )


def _cut(observed: seen.WindowsCut) -> str:
    missed = "without a checkpoint before them"
    if math.isfinite(observed.most_ns):
        most = format_duration(round(observed.most_ns))
        missed = f"up to {most} from the begin of a checkpoint"
    return f"{observed.cut} of {observed.windows} windows of {observed.arm} began or ended {missed}"


def _timer_unscaled(observed: seen.TimerUnscaled) -> str:
    every, planned = (
        format_duration(round(seconds * NS_PER_S))
        for seconds in (observed.every_s, observed.planned_s)
    )
    return (
        f"timed checkpoints of {observed.arm} began every {every} of its own time (median), where "
        f"the plan has {planned}"
    )


def _write_back_shared(observed: seen.WriteBackShared) -> str:
    each = " and ".join(
        f"{format_bytes(dirtied)} of {arm}, of which the devices wrote {format_bytes(written)} "
        "in its slices"
        for arm, dirtied, written in zip(
            observed.arms, observed.dirtied_bytes, observed.written_bytes, strict=True
        )
    )
    return (
        f"a transaction dirtied {each}, with {observed.queue:.1f} requests under way: the "
        f"difference may be understated by up to {100 * observed.share:.0f} % of the device's part"
    )


def _log_spaces(observed: seen.LogSpacesCheckpoints) -> str:
    nearer_every, farther_every = (
        format_duration(round(seconds, 1) * NS_PER_S)
        for seconds in (observed.nearer_s, observed.farther_s)
    )
    return (
        f"a checkpoint of {observed.nearer} began every {nearer_every}, {observed.by_size} of "
        f"{observed.begun} of them by the size of the log, and one of {observed.farther} every "
        f"{farther_every}"
    )


TEXTS: Texts = {
    seen.ProcessesMoved: _moved,
    seen.WindowsCut: _cut,
    seen.TimerUnscaled: _timer_unscaled,
    seen.WriteBackShared: _write_back_shared,
    seen.LogSpacesCheckpoints: _log_spaces,
}
