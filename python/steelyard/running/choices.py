"""Holds what the pilot chose: everything about the epochs that the seed does not decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from steelyard.running.slots import Upkeep
from steelyard.running.stalls import Stall


@dataclass(frozen=True)
class Choices:
    """How the epochs of this weighing are run, and why."""

    cost: str  # "foreground" or "whole"
    cost_why: str
    slice_ns: int
    slice_why: str
    visit_ns: int  # a slice with what belongs to it: the way back of its clients, and its debt
    placement: str  # "symmetric", "partition" or "free"
    placement_why: str
    warmup_ns: int  # load before the first measured slice, all arms together
    upkeep: Upkeep
    upkeep_why: str
    s0: float  # 10-batch standard error of the log ratio in the pilot
    stalls: Mapping[str, Stall] = field(default_factory=dict)  # arm → what its weight makes of it
    pilot: Mapping[str, Any] = field(default_factory=dict)  # the figures behind the choices

    def to_json(self) -> dict[str, Any]:
        """As plan.json holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The choices of a plan.json; its other keys are left alone."""
        known = {name: value[name] for name in cls.__dataclass_fields__ if name != "stalls"}
        stalls = {arm: Stall(**facts) for arm, facts in value.get("stalls", {}).items()}
        return cls(**known, stalls=stalls)
