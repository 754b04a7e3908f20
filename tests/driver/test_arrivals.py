"""The quantile of arrivals counts those that were not served as slower than any that was."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.driver.answer import SliceAnswer, quantile_of_arrivals
from steelyard.model.latency_goal import LatencyGoal
from steelyard.record.slice import ScriptInSlice

GOAL = LatencyGoal(0.99, 20_000_000)


@pytest.fixture(autouse=True)
def ranks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Quantiles that a histogram was asked for; it gives a millisecond a percent."""
    asked: list[float] = []

    def read(parts: list[str], quantiles: list[float]) -> dict[str, Any]:
        asked.extend(quantiles)
        return {"values": [round(one * 100_000_000) for one in quantiles]}

    monkeypatch.setattr("steelyard.driver.answer.histogram_quantiles", read)
    return asked


def answer(transactions: int, **figures: int) -> SliceAnswer:
    return SliceAnswer(
        arm="on", clients=8, transactions=transactions, busy_ns=1, latency_sum_ns=1,
        scripts=(ScriptInSlice(name="s", transactions=transactions, latency="x"),), **figures,
    )  # fmt: skip


def test_where_all_were_served_it_is_the_histograms(ranks: list[float]) -> None:
    assert quantile_of_arrivals(answer(1000), 1000.0, GOAL) == 99_000_000
    assert ranks == [0.99]


def test_failed_and_skipped_ones_are_the_slowest(ranks: list[float]) -> None:
    quantile_of_arrivals(answer(995, failed=3, skipped=2), 1000.0, GOAL)
    assert ranks == [pytest.approx(0.99 * 1000 / 995)]
    assert quantile_of_arrivals(answer(985, failed=15), 1000.0, GOAL) is None


def test_what_was_cancelled_at_the_cap_is_slower_than_all_that_ended(ranks: list[float]) -> None:
    ends = {"start_ns": 7, "length_ns": 10**9, "end_ns": 7 + 6 * 10**9}
    quantile_of_arrivals(answer(995, capped=5, **ends), 1000.0, GOAL)
    assert ranks == [pytest.approx(0.99 * 1000 / 995)]
    assert quantile_of_arrivals(answer(985, capped=15, **ends), 1000.0, GOAL) is None
    assert quantile_of_arrivals(answer(0, capped=1, **ends), 0.1, GOAL) is None


@pytest.mark.parametrize(("limit_s", "known"), [(5.0, True), (5.1, False), (60.0, False)])
def test_of_what_was_cancelled_before_the_limit_nothing_is_known(
    ranks: list[float], limit_s: float, known: bool
) -> None:
    goal = LatencyGoal(0.99, round(limit_s * 10**9))
    ends = {"length_ns": 10**9, "end_ns": 6 * 10**9}
    quantile_of_arrivals(answer(985, capped=15, **ends), 1000.0, goal)
    assert ranks == ([] if known else [0.99])


def test_the_last_arrivals_before_the_bell_say_nothing_and_older_ones_do(
    ranks: list[float],
) -> None:
    # 20 arrive in the last 20 ms: of so many the latency is not known.
    quantile_of_arrivals(answer(980, unstarted=20), 1000.0, GOAL)
    assert ranks == [0.99]
    assert quantile_of_arrivals(answer(980, unstarted=40), 1000.0, GOAL) is None


def test_a_visit_without_arrivals_breaks_nothing() -> None:
    assert quantile_of_arrivals(answer(0), 0.1, GOAL) == 0
    assert quantile_of_arrivals(answer(0, failed=1), 0.1, GOAL) is None
