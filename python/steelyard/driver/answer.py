"""What the load driver answers: counts while a slice runs, and its figures when it has ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from pydantic import JsonValue

from steelyard.model.secrets.redaction import redacted
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
