"""What failed is not proposed again and again."""

from __future__ import annotations

import pytest

from steelyard.tuning.search.sampling import ReportedTrial, next_point
from steelyard.tuning.search.space import Range

pytest.importorskip("optuna")
SPACE = (Range("jit", "word", words=("on", "off")), Range("cost", "number", 1.0, 40.0))


def proposed(told: list[ReportedTrial]) -> list[object]:
    return [next_point(SPACE, 5, number, told, ())["jit"] for number in range(40)]


def test_a_region_that_fails_is_avoided() -> None:
    told = [ReportedTrial({"jit": "on", "cost": 2.0 + n}, 0.01 * n) for n in range(6)]
    told += [ReportedTrial({"jit": "off", "cost": 2.0 + n}, None) for n in range(6)]
    assert proposed(told).count("off") < 10


def test_the_same_number_and_history_give_the_same_point() -> None:
    told = [
        ReportedTrial({"jit": "on", "cost": 2.0 + n}, None if n % 2 else 0.1) for n in range(10)
    ]
    assert next_point(SPACE, 5, 10, told, ()) == next_point(SPACE, 5, 10, told, ())
