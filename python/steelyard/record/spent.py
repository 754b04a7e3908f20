"""Where the wall time of a weighing went, phase by phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, Self, get_args

from steelyard.model.units import NS_PER_S
from steelyard.record.frozen import Frozen

Phase = Literal[
    "find engines",
    "load data",
    "inspect",
    "put back",
    "quiet",
    "start",
    "fill pools",
    "connect",
    "pilot",
    "warm up",
    "measure",
    "read",
    "stop",
    "judge",
    "other",
]
"""find engines: with a comparison of their builds, or reaching servers that are not ours;
load data: making templates where they are missing; inspect: settings, plans and machine before the
pilot; put back: files into the slots, written back and evicted; quiet: waiting for the device to
come to rest; start: until every server takes connections; fill pools: reading the data into them;
connect: clients of the load driver, and their end; pilot: load that is discarded; warm up, measure:
load of the epochs; read: telemetry, the workload's own counts and checks; stop: of servers;
judge: after every epoch and at the end; other: what is none of these."""
PHASES: tuple[Phase, ...] = get_args(Phase)
UNDER_LOAD: tuple[Phase, ...] = ("pilot", "warm up", "measure")
"""Phases in which servers are under load."""


class SpentLine(Frozen):
    """Wall time since the line before it, or since the sitting began; a sitting ends with one."""

    type: Literal["spent"] = "spent"
    epoch: int
    """Epochs there were then."""
    phases_ns: Mapping[Phase, int]
    """Phase → its time; together all the time there was."""


class PhaseTime(Frozen):
    """What one phase took."""

    phase: Phase
    seconds: float


class Spent(Frozen):
    """Where the wall time of a weighing went, over all its sittings, until its verdict was made."""

    seconds: float
    """All phases together."""
    loaded_seconds: float
    """Under load: pilot, warm up, measure."""
    phases: tuple[PhaseTime, ...]
    """In the order of a weighing; those that took no time are left out."""

    @classmethod
    def of(cls, lines: Iterable[SpentLine]) -> Self | None:
        """The sum of the lines of a record; None of a record without any."""
        totals: Counter[Phase] = Counter()
        for line in lines:
            totals.update(line.phases_ns)
        if not totals:
            return None
        loaded_ns = sum(totals[phase] for phase in UNDER_LOAD)
        return cls(
            seconds=totals.total() / NS_PER_S,
            loaded_seconds=loaded_ns / NS_PER_S,
            phases=tuple(
                PhaseTime(phase=phase, seconds=totals[phase] / NS_PER_S)
                for phase in PHASES
                if totals[phase]
            ),
        )
