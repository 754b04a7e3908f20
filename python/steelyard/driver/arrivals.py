"""Reads the quantile of latency of arrivals at a rate, those that were not served included."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard._core import histogram_quantiles
from steelyard.driver.answer import SliceAnswer
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.units import NS_PER_S


@dataclass(frozen=True)
class ArrivalFigures:
    """What a slice with arrivals at a rate showed, as its line in the record has it."""

    rate: float
    """Arrivals a second."""
    quantile_ns: int | None
    within: bool
    """Whether that keeps the limit."""


@dataclass(frozen=True)
class Arrivals:
    """Arrivals at a rate, held against a limit of latency."""

    rate: float
    """A second."""
    goal: LatencyGoal

    def figures(self, answer: SliceAnswer) -> ArrivalFigures:
        """Of a slice with such arrivals."""
        quantile_ns = quantile_of_arrivals(answer, self.rate, self.goal)
        within = quantile_ns is not None and quantile_ns <= self.goal.limit_ns
        return ArrivalFigures(self.rate, quantile_ns, within)


def quantile_of_arrivals(answer: SliceAnswer, rate: float, goal: LatencyGoal) -> int | None:
    """The goal's quantile of latency from the scheduled arrival, in ns; None: it lies among
    arrivals that failed, were skipped, were cancelled at the cap, or had not begun at the bell.

    Those that had not begun count as slower than the rest where they had waited longer than the
    limit, which the number of them tells: in the last `limit` before the bell about rate · limit
    arrive. Of these the latency is not known, and they are left out; so are those that were
    cancelled where the limit is longer than the time from the bell to the cap.
    """
    waited = max(0.0, answer.unstarted - rate * goal.limit_ns / NS_PER_S)
    lost = answer.failed + answer.skipped + _cancelled_late(answer, goal) + waited
    if not answer.transactions:
        return None if lost else 0
    share = goal.quantile * (answer.transactions + lost) / answer.transactions
    if share > 1:
        return None
    parts = [script.latency for script in answer.scripts if script.transactions]
    [value] = histogram_quantiles(parts, [share])["values"]
    return value


def _cancelled_late(answer: SliceAnswer, goal: LatencyGoal) -> int:
    """Arrivals that were cancelled when they had surely waited for longer than the limit: each
    began before the bell."""
    since_bell_ns = answer.end_ns - answer.start_ns - (answer.length_ns or 0)
    return answer.capped if since_bell_ns >= goal.limit_ns else 0
