"""The metric "rate at p99 ≤ 20ms" is read as people write it, and refused with what to type."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.latency_goal import (
    ACCEPTED,
    LEAST_NS,
    MOST_NS,
    QUANTILES,
    LatencyGoal,
    goal_of,
    higher_is_better,
    is_rate_metric,
    metric_words,
)
from steelyard.model.units import NS_PER_US


@pytest.mark.parametrize(
    ("text", "quantile", "limit_ns"),
    [
        ("rate at p99 ≤ 20ms", 0.99, 20_000_000),
        ("rate at p99 <= 20 ms", 0.99, 20_000_000),
        (" rate  at p50<=1.5s ", 0.5, 1_500_000_000),
        ("rate at p95 ≤ 250us", 0.95, 250_000),
        ("rate at p99.9 ≤ 250 µs", 0.999, 250_000),
        ("Rate at P99 <= 20 MS", 0.99, 20_000_000),
        ("rate at p99 ≤ 1234ms", 0.99, 1_234_000_000),
        ("rate at p95 ≤ 1005us", 0.95, 1_005_000),
    ],
)
def test_a_metric_names_a_quantile_and_a_limit(text: str, quantile: float, limit_ns: int) -> None:
    goal = goal_of(text)
    assert goal == LatencyGoal(quantile, limit_ns)
    assert goal_of(goal.metric) == goal


@given(st.sampled_from(sorted(QUANTILES)), st.integers(LEAST_NS, MOST_NS))
def test_a_metric_is_kept_with_the_limit_that_was_typed(quantile: str, limit_ns: int) -> None:
    goal = goal_of(f"rate at {quantile} <= {Decimal(limit_ns) / NS_PER_US:f}us")
    assert goal is not None
    assert goal.limit_ns == limit_ns
    assert goal_of(goal.metric) == goal
    assert "e" not in goal.words.lower()


@pytest.mark.parametrize("text", ["throughput", "latency_mean", "rated", "", "rates at p99 ≤ 1ms"])
def test_other_metrics_name_none(text: str) -> None:
    assert goal_of(text) is None
    assert not is_rate_metric(text)


@pytest.mark.parametrize(
    "text",
    [
        *("rate", "rate at p99", "rate at p98 ≤ 20ms", "rate at p99 ≤ 20", "rate at p99 < 20ms"),
        *("rate at p99 ≤ 20mſ", "rate at p99.90 ≤ 20ms", "rate at 99th ≤ 20ms"),
        *("rate at p99 ≤ 20m", "rate at p99 ≤ -1ms", "rate at 99 ≤ 20ms", "rate at p99 ≤ 20ms x"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="accepted: rate at p99 ≤ 20ms") as refused:
        goal_of(text)
    assert ACCEPTED in str(refused.value)


@pytest.mark.parametrize("text", ["rate at p99 ≤ 1us", "rate at p99 ≤ 60s", "rate at p50 ≤ 0ms"])
def test_limits_that_no_visit_could_be_held_against_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a limit of .*; accepted: 10 µs to 10 s"):
        goal_of(text)


@pytest.mark.parametrize(
    ("metric", "words", "higher"),
    [
        ("throughput", "throughput", True),
        ("latency_mean", "mean latency", False),
        ("geometric_mean", "geometric mean time", False),
        ("rate at p99 ≤ 20 ms", "the rate at p99 ≤ 20 ms", True),
    ],
)
def test_a_metric_has_its_words_and_says_which_way_is_better(
    metric: str, words: str, higher: bool
) -> None:
    assert (metric_words(metric), higher_is_better(metric)) == (words, higher)
