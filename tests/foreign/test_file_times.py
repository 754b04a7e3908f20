"""Files of one arm that were measured at the same time are one run, and count as one."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.test_comparison import compared, values_of
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.series import Grain, Order

BEGIN = 1_700_000_000


def log(start: float, microseconds: int, transactions: int = 40) -> str:
    """pgbench's log of one thread: a transaction a second from `start` on."""
    second, part = divmod(round(start * 1e6), 1_000_000)
    rows = (f"0 {n} {microseconds} 0 {second + n} {part}\n" for n in range(transactions))
    return "".join(rows)


def intervals(start: int, count: int, seconds: int = 10) -> str:
    """pgbench's log of intervals of one thread."""
    rows = (f"{start + n} {count} {count * 500} 1 1 900\n" for n in range(seconds))
    return "".join(rows)


def test_threads_of_one_run_are_one_run_and_carry_no_verdict() -> None:
    files = [
        (arm, log(BEGIN + 100 * (arm == "b") + 0.1 * n, 500 + n)) for n in range(10) for arm in "ab"
    ]
    found = compared(*files)
    assert all(arm.grain is Grain.SLICE for arm in found.arms)
    assert [len(arm.values) for arm in found.arms] == [40, 40]
    assert found.control.values.mean() == pytest.approx(504.5)
    assert "files of a that overlap in time are parts of one run" in found.notes
    (contrast,) = judge_numbers(found).contrasts
    assert contrast.verdict.kind.value == "inconclusive"
    assert "one run per arm" in {threat.name for threat in contrast.threats}


def test_rates_of_threads_are_added_up() -> None:
    files = [(arm, intervals(BEGIN + 100 * (arm == "b"), 10 + n)) for n in range(3) for arm in "ab"]
    found = compared(*files, metric="throughput")
    assert values_of(found) == {"a": pytest.approx([33] * 8), "b": pytest.approx([33] * 8)}
    assert found.control.grain is Grain.SLICE


def test_rates_of_threads_that_began_a_second_apart_are_added_where_all_worked() -> None:
    first, later = intervals(BEGIN, 10), intervals(BEGIN + 1, 20)
    other = intervals(BEGIN + 100, 10)
    found = compared(("a", first), ("a", later), ("b", other), metric="throughput")
    assert values_of(found)["a"] == pytest.approx([30] * 7)
    assert found.control.timestamps is not None
    assert found.control.timestamps[0] == BEGIN + 2


def test_threads_of_several_runs_are_a_repetition_a_run() -> None:
    files = [
        (arm, log(BEGIN + 100 * run + 50 * (arm == "b") + 0.1 * thread, 500 + run))
        for thread in range(3)
        for run in range(4)
        for arm in "ab"
    ]
    found = compared(*files)
    assert values_of(found)["a"] == pytest.approx([500, 501, 502, 503])
    assert found.control.grain is Grain.REPETITION
    assert found.order is Order.ALTERNATING


def test_runs_that_touch_are_two_and_short_threads_are_found() -> None:
    touching = compared(("a", log(BEGIN, 500)), ("a", log(BEGIN + 39, 600)), ("b", log(BEGIN, 5)))
    assert values_of(touching)["a"] == pytest.approx([500, 600])
    short = [("a", log(BEGIN + 0.1 * n, 500, 5)) for n in range(9)]
    found = compared(*short, ("b", log(BEGIN + 90, 500)))
    assert len(found.control.values) == 9
    assert found.control.grain is Grain.SLICE


def test_no_closed_loop_is_assumed_of_the_clients_of_one_thread() -> None:
    def threads(arm: str) -> list[tuple[str | None, str]]:
        return [(arm, intervals(BEGIN + 100 * (arm == "b"), 10)) for _ in range(2)]

    assert compared(*threads("a"), *threads("b"), clients=8).operating_points == {}
    assert np.isfinite(compared(*threads("a"), *threads("b")).control.values).all()
