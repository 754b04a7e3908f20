"""A machine of a group on this one: its clock is put off by hand, and its messages take time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.fleet.load_generators.load_agent import (
    DrivenSlice,
    LoadAgent,
    LoadMachineFacts,
    OpenedDriver,
)
from steelyard.fleet.network import Nic


class FarAgent:
    """A Hand whose clock reads `offset_ns` more than ours now and gains `drift` seconds a second;
    every order takes `there_s` and every answer `back_s`. Implements LoadGenerator."""

    def __init__(
        self,
        name: str,
        *,
        offset_ns: int = 0,
        drift: float = 0.0,
        there_s: float = 0.0,
        back_s: float = 0.0,
    ) -> None:
        self.hand = LoadAgent(name)
        self.offset_ns, self.drift = offset_ns, drift
        self.there_s, self.back_s = there_s, back_s
        self.zero_ns = time.monotonic_ns()
        self.plans: list[DrivePlan] = []
        self.spans_ns: list[tuple[int, int]] = []
        """When its slices began and ended, by the true clock."""

    @property
    def name(self) -> str:
        return self.hand.name

    @property
    def facts(self) -> LoadMachineFacts:
        return self.hand.facts

    def false_ns(self, true_ns: int) -> int:
        return round(true_ns + self.offset_ns + self.drift * (true_ns - self.zero_ns))

    def true_ns(self, false_ns: int) -> int:
        since_ns = (false_ns - self.offset_ns - self.zero_ns) / (1 + self.drift)
        return round(self.zero_ns + since_ns)

    def read_clock(self) -> tuple[int, int]:
        time.sleep(self.there_s)
        received_ns, answered_ns = self.hand.read_clock()
        time.sleep(self.back_s)
        return self.false_ns(received_ns), self.false_ns(answered_ns)

    def network(self) -> Mapping[str, Nic]:
        return self.hand.network()

    def open(self, plan: DrivePlan) -> OpenedDriver:
        self.plans.append(plan)
        return self.hand.open(plan)

    def drive(self, request: SliceRequest, patience_s: float | None) -> DrivenSlice:
        time.sleep(self.there_s)
        assert request.begin_ns is not None
        begin_ns = self.true_ns(request.begin_ns)
        driven = self.hand.drive(replace(request, begin_ns=begin_ns), patience_s)
        time.sleep(self.back_s)
        answer = driven.answer
        self.spans_ns.append((answer.start_ns, answer.end_ns))
        false = {
            "start_ns": self.false_ns(answer.start_ns),
            "end_ns": self.false_ns(answer.end_ns),
        }
        stamps = self.false_ns(driven.received_ns), self.false_ns(driven.answered_ns)
        return DrivenSlice(*stamps, answer.model_copy(update=false))

    def close(self) -> None:
        self.hand.close()


class FarMachines:
    """Machines of this kind; one that lost its driver gets a new one. Implements Machines."""

    def __init__(self, hands: Sequence[FarAgent]) -> None:
        self.hands = list(hands)
        self.closed = False
        self.count = len(hands)

    def members(self) -> Sequence[FarAgent]:
        return self.hands

    def close(self) -> None:
        self.closed = True
        for hand in self.hands:
            hand.close()
