"""Searches the rate at which an arm keeps a latency limit in every second visit: a staircase.

After a visit that kept the limit the next one is a step faster, after one that broke it a step
slower, on the log scale (Dixon & Mood, JASA 43 (1948) 109). A change of direction halves the step,
down to the last one; many equal answers in a row double it again, since luck made it small too
early, or the machine moved. The rates come to swing about the one that is searched, and the mean of
the later ones is the reading of the epoch. Both arms begin at one rate and take as many visits, so
that equal arms have readings whose difference is symmetric about zero, however far the search came.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LAST_STEP = 0.02
"""Log rate: small beside what single visits scatter by."""
FIRST_STEP = 0.16
RUN = 5
"""Equal answers in a row: the last of them, and every further one, doubles the step."""
READ_SHARE = 0.6
"""Of the visits of an epoch, the later ones, that its reading is the mean of."""
FEWEST_VISITS = 24
"""Of an arm in an epoch: ten to come near, and fourteen about the rate."""
SPAN = math.log(64)
"""How far from its begin a search may go."""


@dataclass(frozen=True)
class Rule:
    """Where a search begins, and how far it goes. Rates in arrivals a second, steps in logs."""

    start: float
    first_step: float = FIRST_STEP
    last_step: float = LAST_STEP
    span: float = SPAN
    run: int = RUN

    def clipped(self, log_rate: float) -> float:
        """Within the span."""
        middle = math.log(self.start)
        return min(max(log_rate, middle - self.span), middle + self.span)


@dataclass(frozen=True)
class Reading:
    """What an arm carried in an epoch."""

    rate: float
    """Arrivals a second."""
    visits: int
    """That it is the mean of."""
    at_end: str = ""
    """"slowest" or "fastest": the search came to that end of its span, and the rate is a bound."""


class Search:
    """The search of one arm in one epoch."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._log = math.log(rule.start)
        self._step = max(rule.first_step, rule.last_step)
        self._run = 0
        self._logs: list[float] = []
        self._kept: list[bool] = []
        self._at_end = ""

    @property
    def rate(self) -> float:
        """Of the next visit."""
        return math.exp(self._log)

    def answer(self, *, kept: bool) -> None:
        """Whether the visit at `rate` kept the limit."""
        self._choose_step(kept=kept)
        self._logs.append(self._log)
        self._kept.append(kept)
        unclipped = self._log + (self._step if kept else -self._step)
        self._log = self._rule.clipped(unclipped)
        ends = "fastest" if kept else "slowest"
        self._at_end = ends if self._log != unclipped else ""

    def _choose_step(self, *, kept: bool) -> None:
        rule = self._rule
        if not self._kept or kept is self._kept[-1]:
            self._run += 1
            if self._run >= rule.run:
                self._step = min(2 * self._step, max(rule.first_step, rule.last_step))
        else:
            self._run = 1
            self._step = max(self._step / 2, rule.last_step)

    def reading(self) -> Reading | None:
        """The mean of the later rates; None: their visits never crossed the limit. A search that
        came to an end of its span reads that end."""
        count = math.ceil(READ_SHARE * len(self._logs))
        if self._at_end:
            return Reading(self.rate, count, self._at_end)
        if len(set(self._kept[-count:])) < 2:
            return None
        every = [*self._logs[-count:], self._log]  # the last answer chose a rate too
        return Reading(math.exp(math.fsum(every) / len(every)), count)


def read_search(rule: Rule, kept: Sequence[bool]) -> Reading | None:
    """The reading of a search with these answers, in their order."""
    search = Search(rule)
    for answer in kept:
        search.answer(kept=answer)
    return search.reading()
