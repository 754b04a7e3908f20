"""A choice together with its reason: they are made, handed on and kept as one."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Reasoned(NamedTuple, Generic[T]):
    """What was chosen, and why so, as it ends a sentence."""

    value: T
    why: str


def plan_keys(**choices: Reasoned[Any]) -> dict[str, Any]:
    """Choices as the keys of a plan: of `cost` the keys `cost` and `cost_why`, of `slice_ns` the
    reason `slice_why`."""
    values = {name: choice.value for name, choice in choices.items()}
    whys = {f"{name.removesuffix('_ns')}_why": choice.why for name, choice in choices.items()}
    return {**values, **whys}
