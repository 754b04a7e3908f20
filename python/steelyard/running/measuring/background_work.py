"""Puts a known share of an arm's work into the background, to check that debts are charged.

After a slice of N transactions the arm executes w·N more, by count, outside the timed load. A study
with cost "whole" charges their time to the arm as it charges every debt; one with cost "foreground"
does not, and processor time then disagrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import SliceRequest
from steelyard.record.plan import Stall
from steelyard.study.arm import Weight
from steelyard.study.study import Study

Drive = Callable[[SliceRequest], SliceAnswer]


class BackgroundWork:
    """The shares of background work of the arms of one epoch."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = dict(shares)
        self._owed = dict.fromkeys(shares, 0.0)

    def __bool__(self) -> bool:
        return any(self._shares.values())

    def work_off(self, answer: SliceAnswer, arm: int, drive: Drive) -> tuple[SliceAnswer, int]:
        """Have the arm execute what its slice left: the slice's answer, and the ns that it took.

        Fractions of an execution are carried to the next slice, so that no share is lost by
        rounding. A connection that is lost meanwhile counts as lost in the slice.
        """
        share = self._shares.get(answer.arm, 0.0)
        if not share or answer.lost:
            return answer, 0
        self._owed[answer.arm] += share * answer.transactions
        count = int(self._owed[answer.arm])
        if not count:
            return answer, 0
        self._owed[answer.arm] -= count
        done = drive(SliceRequest(arm=arm, count=count))
        ended = {
            "lost": answer.lost + done.lost,
            "reconnected": (*answer.reconnected, *done.reconnected),
        }
        return answer.model_copy(update=ended), done.end_ns - done.start_ns


Stalls = Mapping[str, Stall]
"""Arm → its stalls; arms without are not in it."""


def find_stalls(study: Study, latency_ns: float | None) -> dict[str, Stall]:
    """The stalls of every arm; those that are asked for by their worth need the control's mean
    latency, and are left out while it is not known.

    A transaction stalls p·s longer on average (Wald), so stalls of length s are worth the share w
    of the latency L with p = w·L/s. None is shorter than L: slow transactions get longer stalls,
    which keeps p below w.
    """
    stalls = {}
    for arm in study.every_arm:
        stall = _stall(arm.weight, latency_ns)
        if stall is not None:
            stalls[arm.name] = stall
    return stalls


def _stall(weight: Weight, latency_ns: float | None) -> Stall | None:
    if weight.stall:
        return Stall(probability=weight.stall, length_ns=weight.stall_time)
    if not weight.stall_share or not latency_ns:
        return None
    length_ns = max(weight.stall_time, round(latency_ns))
    return Stall(probability=weight.stall_share * latency_ns / length_ns, length_ns=length_ns)
