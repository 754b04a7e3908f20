"""What a function gave for a value is remembered as long as the value lives, and no longer."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

from steelyard.model.memoize import memoize_by_identity


@dataclass(frozen=True)
class Epoch:
    number: int
    readings: dict[str, float] = field(default_factory=dict)


def test_a_value_is_asked_once_for_each_of_the_other_arguments() -> None:
    asked = []

    @memoize_by_identity
    def doubled(epoch: Epoch, arm: str) -> float:
        asked.append((epoch.number, arm))
        return 2 * epoch.readings[arm]

    one, other = Epoch(1, {"on": 1.0, "off": 2.0}), Epoch(1, {"on": 1.0, "off": 2.0})
    assert [doubled(one, "on"), doubled(one, "off"), doubled(one, "on")] == [2.0, 4.0, 2.0]
    assert asked == [(1, "on"), (1, "off")]
    assert doubled(other, "on") == 2.0
    assert len(asked) == 3, "two values that are equal are two"


def test_a_value_that_is_gone_is_never_taken_for_the_next_at_its_place() -> None:
    @memoize_by_identity
    def number_of(epoch: Epoch) -> int:
        return epoch.number

    for number in range(100):
        assert number_of(Epoch(number)) == number
        gc.collect(0)


def test_an_answer_that_is_none_is_remembered_too() -> None:
    asked = []

    @memoize_by_identity
    def nothing(epoch: Epoch) -> None:
        asked.append(epoch.number)

    one = Epoch(1)
    assert nothing(one) is nothing(one) is None
    assert asked == [1]
