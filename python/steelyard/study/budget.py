"""Holds how long a weighing may measure, and how its time is cut into epochs, slices and turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from steelyard.study.values import Nanoseconds, StudyModel, at_least


class FixedCount(StudyModel):
    """Slices of so many executions in place of a time: for work that can be done only once."""

    each: Annotated[int, Field(ge=1)]
    """Executions of each client in a slice."""
    blocks: Annotated[int, Field(ge=1, le=10_000)]
    """Measured blocks of an epoch, every arm once in each. Where each script of a stream is a slice
    of its own: whole passes through the stream, without excluded ones."""
    warmup: Annotated[int, Field(ge=0, le=10_000)] = 1
    """Blocks before them."""


BUDGETS: Mapping[str, str] = {"measuring": "slices", "turns": "turns", "cycles": "cycles"}
"""Keys of a budget that say how long → the layout that each counts in."""


class Budget(StudyModel):
    """How long may be measured, and how it is cut into epochs."""

    measuring: Annotated[Nanoseconds, at_least("20s")] = 120_000_000_000
    turns: Annotated[Nanoseconds, at_least("20s")] = 2_700_000_000_000
    """In place of `measuring` with layout "turns": all turns, with starts, warm-ups, checks, and
    files put back."""
    cycles: Annotated[Nanoseconds, at_least("20s")] = 1_800_000_000_000
    """In place of `measuring` with layout "cycles": all epochs, with starts and warm-ups."""
    epochs: Annotated[int, Field(ge=2, le=1000)] | None = None
    """None: chosen from the budget, even, at least 10."""
    slice: Annotated[Nanoseconds, at_least("50ms")] | None = None
    """None: chosen by the pilot."""
    counted: FixedCount | None = None
    """None: slices are cut by time."""

    @model_validator(mode="after")
    def _one_cut(self) -> Budget:
        if self.slice is not None and self.counted is not None:
            raise ValueError('"slice" and "counted" both say how long a slice is: give one of them')
        return self

    @property
    def by_executions(self) -> bool:
        """Whether slices are of so many executions, and not of a time."""
        return bool(self.counted)

    def length_ns(self, layout: str) -> int:
        """How long a layout may take."""
        [key] = [key for key in BUDGETS if BUDGETS[key] == layout]
        length: int = getattr(self, key)
        return length

    def lengths_elsewhere(self, layout: str) -> list[str]:
        """Keys that say how long another layout may take, where the study says nothing of this one:
        what they say has no effect."""
        keys = {key for key in BUDGETS if key in self.model_fields_set}
        if layout in {BUDGETS[key] for key in keys}:
            return []
        usual = {key: type(self).model_fields[key].default for key in keys}
        return [key for key in BUDGETS if key in keys and getattr(self, key) != usual[key]]

    def times(self, share: float, least_ns: int = 0) -> Budget:
        """So many times as long in every layout, and at least `least_ns`; as many epochs."""
        lengths = {name: getattr(self, name) for name in BUDGETS}
        return self.model_copy(
            update={name: max(least_ns, round(share * length)) for name, length in lengths.items()}
        )


class TurnBounds(StudyModel):
    """How one arm after the other is measured alone, over whole checkpoint cycles."""

    time_scale: Annotated[float, Field(ge=1, le=10_000)] | None = None
    """checkpoint_timeout and the limits of the log of all arms are divided by it. None: the
    smallest with which the budget holds enough epochs, 1 where it can be."""
    cycles: Annotated[int, Field(ge=2, le=20)] = 2
    """Checkpoints from whose end to whose end a turn is measured."""
    measured: Annotated[Nanoseconds, at_least("10s")] | None = None
    """A stated time in place of whole cycles."""
