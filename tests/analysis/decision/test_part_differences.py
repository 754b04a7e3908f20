"""Differences of parts add up to the difference of the sums, and name a cause only for sure."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.analysis.decision.part_differences import (
    PartDifference,
    named_cause,
    part_differences,
)
from steelyard.model.estimate import Interval


def part(name: str, difference: float, half: float = 0.1) -> PartDifference:
    interval = Interval(difference - half, difference + half)
    return PartDifference(name, 10.0, 10.0 + difference, difference, interval)


def test_differences_add_up_and_each_interval_holds_its_own() -> None:
    rng = np.random.default_rng(1)
    control = {"a": 5 + rng.normal(size=12), "b": 3 + rng.normal(size=12)}
    arm = {"a": 7 + rng.normal(size=12), "b": 3 + rng.normal(size=12)}
    found = part_differences(control, arm)  # type: ignore[arg-type]
    assert [one.name for one in found] == ["a", "b"]
    whole = sum(arm[name].mean() - control[name].mean() for name in control)
    assert sum(one.difference for one in found) == pytest.approx(whole)
    assert found[0].differs
    assert not found[1].differs
    assert all(one.interval.low <= one.difference <= one.interval.high for one in found)


def test_a_part_that_is_zero_in_both_arms_differs_in_nothing() -> None:
    [none, _] = part_differences(
        {"a": [0.0] * 8, "b": [1.0, 2, 3, 4, 5, 6, 7, 8]},
        {"a": [0.0] * 8, "b": [2.0, 2, 4, 4, 6, 6, 8, 8]},
    )
    assert (none.difference, none.differs) == (0, False)


def test_no_epoch_has_no_parts() -> None:
    assert part_differences({}, {}) == ()
    assert part_differences({"a": []}, {"a": []}) == ()


def test_the_cause_is_the_largest_part_that_covers_half_for_sure() -> None:
    assert named_cause([part("a", 3.0), part("b", 1.0)]) == part("a", 3.0)
    assert named_cause([part("a", -3.0), part("b", 1.0)]) == part("a", -3.0)
    falling = [part("a", -5.0), part("b", -6.0), part("c", 1.0)]
    assert named_cause(falling) == part("b", -6.0), "the larger of two that cover half"


def test_no_cause_is_named_where_none_is_sure_or_covers_half() -> None:
    assert named_cause([part("a", 3.0, half=4.0), part("b", 1.0)]) is None
    assert named_cause([part("a", 1.0), part("b", 1.0), part("c", 1.0)]) is None
    # It goes against the difference.
    assert (
        named_cause([part("a", -3.0), part("b", 4.0, half=9.0), part("c", 4.0, half=9.0)]) is None
    )
    assert named_cause([part("a", 1.0), part("b", -1.0)]) is None
    assert named_cause([]) is None


def test_equal_arms_are_seldom_given_a_cause() -> None:
    rng = np.random.default_rng(7)
    named = 0
    for _ in range(200):
        both = [{name: rng.normal(10, 1, size=10) for name in "abcdef"} for _ in range(2)]
        named += named_cause(part_differences(*both)) is not None  # type: ignore[arg-type]
    assert named <= 200 * 0.1, "at most 6 of 60"
