"""Finds how often the transactions of a weighted arm stall, and for how long."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.record.plan import Stall
from steelyard.study.study import Study, Weight

Stalls = Mapping[str, Stall]
"""Arm → its stalls; arms without are not in it."""


def find_stalls(study: Study, latency_ns: float | None) -> dict[str, Stall]:
    """The stalls of every arm; those that are asked for by their worth need the control's mean
    latency, and are left out while it is not known.

    A transaction stalls p·s longer on average (Wald), so stalls of length s are worth the share w
    of the latency L with p = w·L/s. None is shorter than L: slow transactions get longer stalls,
    which keeps p below w.
    """
    found = {}
    for arm in study.every_arm:
        stall = _stall(arm.weight, latency_ns)
        if stall is not None:
            found[arm.name] = stall
    return found


def _stall(weight: Weight, latency_ns: float | None) -> Stall | None:
    if weight.stall:
        return Stall(probability=weight.stall, length_ns=weight.stall_time)
    if not weight.stall_share or not latency_ns:
        return None
    length_ns = max(weight.stall_time, round(latency_ns))
    return Stall(probability=weight.stall_share * latency_ns / length_ns, length_ns=length_ns)
