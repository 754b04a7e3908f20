"""Puts a known share of an arm's work into the background, to check that debts are charged.

After a slice of N transactions the arm executes w·N more, by count, outside the timed load. A study
with cost "whole" charges their time to the arm as it charges every debt; one with cost "foreground"
does not, and processor time then disagrees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.driver.plan import SliceRequest

Answer = dict[str, Any]
Drive = Callable[[SliceRequest], Answer]


class BackgroundWork:
    """The shares of background work of the arms of one epoch."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares = dict(shares)
        self._owed = dict.fromkeys(shares, 0.0)

    def __bool__(self) -> bool:
        return any(self._shares.values())

    def work_off(self, answer: Answer, arm: int, drive: Drive) -> None:
        """Have the arm execute what its slice left; `answer` gets `left_ns`, the time it took.

        Fractions of an execution are carried to the next slice, so that no share is lost by
        rounding. A connection that is lost meanwhile counts as lost in the slice.
        """
        name = answer["arm"]
        share = self._shares.get(name, 0.0)
        if not share or answer.get("lost"):
            return
        self._owed[name] += share * answer["transactions"]
        count = int(self._owed[name])
        if not count:
            return
        self._owed[name] -= count
        done = drive(SliceRequest(arm=arm, count=count))
        answer["left_ns"] = done["end_ns"] - done["start_ns"]
        answer["lost"] = answer.get("lost", 0) + done.get("lost", 0)
        answer["reconnected"] = [*answer.get("reconnected", ()), *done.get("reconnected", ())]
