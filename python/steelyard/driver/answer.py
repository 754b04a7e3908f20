"""What the load driver answers: counts while a slice runs, its figures when it has ended, and of
arrivals at a rate the quantile of their latency, those that were not served included.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from pydantic import JsonValue

from steelyard._core import histogram_quantiles
from steelyard.model.latency_goal import LatencyGoal
from steelyard.model.secrets.redaction import redacted
from steelyard.model.units import NS_PER_S
from steelyard.record.frozen import Frozen
from steelyard.record.slice import SliceFigures, SliceLine


class AtBorders(Frozen):
    """What the plan's files held before a slice and after it, in their order; "" of one that cannot
    be read."""

    before: tuple[str, ...]
    after: tuple[str, ...]


class SliceAnswer(SliceFigures):
    """The figures of a slice, with what is of no record."""

    tag: JsonValue = None
    """That of its request."""
    files: AtBorders | None = None
    """None: the plan names none."""
    aborted: str | None = None
    """Why it was ended early; None: it was not."""

    @classmethod
    def of_json(cls, value: object, place: str = "the answer of the load driver") -> Self:
        """As the driver writes it, without secrets that a server quotes; RecordError: a figure is
        missing or not known here."""
        answer = super().of_json(value, place)
        redactions: dict[str, object] = {}
        if answer.error_messages:
            messages = answer.error_messages.items()
            redactions["error_messages"] = {code: redacted(text) for code, text in messages}
        if answer.aborted is not None:
            redactions["aborted"] = redacted(answer.aborted)
        return answer.model_copy(update=redactions) if redactions else answer

    def placed(self, **place: Any) -> SliceLine:
        """As a line of the record: its figures, and where it stands."""
        figures = {name: getattr(self, name) for name in SliceFigures.model_fields}
        fields_set = (self.model_fields_set & figures.keys()) | place.keys()
        return SliceLine.model_construct(fields_set, **{**figures, **place})


@dataclass(frozen=True, slots=True)
class SliceProgress:
    """What a slice has counted so far, at the end of its interval number `tick` (from 0)."""

    tick: int = 0
    transactions: int = 0
    latency_sum_ns: int = 0
    latency_squares_ns2: float = 0.0
    failed: int = 0
    skipped: int = 0
    retried: int = 0
    retries: int = 0
    lag_sum_ns: int = 0

    def since(self, earlier: Self) -> Self:
        """What was counted after `earlier`; `tick` is that of the later one."""
        new = {
            field.name: getattr(self, field.name) - getattr(earlier, field.name)
            for field in fields(self)
        }
        return type(self)(**{**new, "tick": self.tick})


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
