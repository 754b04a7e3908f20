"""Runs the epochs of a search: each visit at the rate that those of its arm before it chose.

Every epoch begins anew at the rate of the plan, so that epochs do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.analysis.capacity.staircase import Search
from steelyard.driver.arrivals import Arrivals
from steelyard.evaluation.rates.capacity import rule_of
from steelyard.model.latency_goal import LatencyGoal
from steelyard.record.plan import Choices, SearchChoice
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.driving import drive
from steelyard.running.measuring.epoch import EpochRunner
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.preparing.setup import Setup


class SearchRunner(EpochRunner):
    """Runs the epochs of one weighing, a search of every arm in each."""

    def __init__(self, setup: Setup, choices: Choices, search: SearchChoice) -> None:
        super().__init__(setup, choices)
        self._rule = rule_of(search)
        self._goal = LatencyGoal(search.quantile, search.limit_ns)
        self._searches: dict[str, Search] = {}

    def _driven(
        self, load: Load, visits: Sequence[Visit], place: SlicePlace
    ) -> Iterator[SliceLine]:
        """Each visit chooses the rate of the next of its arm; one that is dropped is repeated."""
        for visit in visits:
            if visit.block == 0:
                self._searches[visit.arm] = Search(self._rule)
            search = self._searches[visit.arm]
            at_rate = replace(visit, arrivals=Arrivals(search.rate, self._goal))
            [line] = drive(self._setup, load, [at_rate], place)
            if line.within is not None and not line.dropped:
                search.answer(kept=line.within)
            yield line
