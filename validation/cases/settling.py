"""Simulates pilots that watch a load settle: what they leave out, and whether they say it settled.

The rule that turns keep, MSER-5 over all cuts, stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.analysis.pilot.steady_state import mser5, settled_after
from steelyard.model.units import NS_PER_S
from steelyard.running.measuring.load_watch import longest_cut, warmup_of
from validation.cases.case import generator
from validation.worlds.loads import BLOCK_S, BLOCKS, LOADS, load
from validation.worlds.world import Floats

PARTS = 4
PILOTS_A_PART = 500
RULES: Mapping[str, Callable[[Sequence[float]], int | None]] = {
    "line": settled_after,
    "MSER-5 alone": mser5,
}
WATCHED_S = BLOCKS * BLOCK_S
LEFT_FOR_S = 3.75
"""An epoch's measured half, over which what is left of the warm-up is averaged."""


@dataclass
class SettlingTally:
    """What one rule made of the pilots of one load."""

    pilots: int = 0
    unsettled: int = 0
    warmup_s: float = 0.0
    """Sum over the pilots."""
    left: float = 0.0
    """Sum of the shares of throughput that are missing, on average, in what is measured."""

    def __add__(self, other: SettlingTally) -> SettlingTally:
        mine, theirs = asdict(self), asdict(other)
        return SettlingTally(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True)
class SettlingCase:
    """A part of the pilots of one load."""

    load: str
    part: int
    pilots: int = PILOTS_A_PART

    @property
    def key(self) -> str:
        return f"settling/{self.load}/{self.part}"

    @property
    def cost(self) -> float:
        return self.pilots * 0.002

    def work(self) -> Mapping[str, Any]:
        """A tally of each rule."""
        beginning, tallies = load(self.load), {name: SettlingTally() for name in RULES}
        for pilot in beginning.draw(generator(self.key), self.pilots):
            for name, tally in tallies.items():
                cuts = [RULES[name](series.tolist()) for series in pilot]
                warmup_s = warmup_after(cuts)
                tally.pilots += 1
                tally.unsettled += None in cuts
                tally.warmup_s += warmup_s
                measured: Floats = warmup_s + np.linspace(0, LEFT_FOR_S, 50)
                tally.left += float(beginning.missing(measured).mean())
        return {
            "load": self.load,
            "rules": {name: asdict(tally) for name, tally in tallies.items()},
        }


def warmup_after(cuts: Sequence[int | None]) -> float:
    """Seconds that are left out where arms are cut after so many blocks, as the pilot has it."""
    warmup_ns = warmup_of(longest_cut(cuts, BLOCKS), round(BLOCK_S * NS_PER_S))
    return min(warmup_ns / NS_PER_S, WATCHED_S)


def cases() -> Iterator[SettlingCase]:
    """Every part of every load."""
    for part in range(PARTS):
        yield from (SettlingCase(each_load.name, part) for each_load in LOADS)
