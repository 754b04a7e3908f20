"""Loads that were held to different rates are different loads, whatever the file prints of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.judged_files import RANDOM, judged_text, only, verdict
from steelyard.evaluation.threats.numbers import ConditionsDiffer
from steelyard.foreign.fixed_rates import requested_rate, sum_of_rates
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.series import RequestedRate

RUN = """number of clients: 8
number of transactions actually processed: {done}
number of transactions skipped: {skipped} (0.000%)
latency average = {ms:.3f} ms
latency stddev = 0.5 ms
rate limit schedule lag: avg {lag:.3f} (max {most:.3f}) ms
initial connection time = 5.0 ms
tps = {tps:.6f} (without initial connection time)
"""


def runs(tps: float, ms: float, lag: float = 0.1, skipped: int = 0, seconds: float = 60) -> str:
    """Twelve summaries of pgbench -R, with arrivals at random times."""
    rng = np.random.default_rng([round(tps), round(1000 * ms)])
    return "".join(
        RUN.format(
            done=done,
            skipped=skipped,
            ms=ms * rng.normal(1, 0.01),
            lag=lag,
            most=2 * lag,
            tps=done / seconds,
        )
        for done in rng.poisson(tps * seconds, 12)
    )


def rates_that_differ(judgement: Judgement) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [
        (condition.of_control, condition.of_arm)
        for threat in only(judgement).threats
        if isinstance(threat, ConditionsDiffer)
        for condition in threat.conditions
        if condition.name == "rate"
    ]


def test_arms_of_pgbench_at_two_rates_were_not_measured_alike() -> None:
    judgement = judged_text(runs(500, 2), runs(1000, 3), **RANDOM)
    assert verdict(judgement) == "invalid"
    ((of_control, of_arm),) = rates_that_differ(judgement)
    rates = [float(text.removesuffix("/s").replace(" ", "")) for (text,) in (of_control, of_arm)]
    assert rates == pytest.approx([500, 1000], rel=0.01)


@pytest.mark.parametrize(
    "arm",
    [
        runs(500, 3),
        pytest.param(runs(450, 800, lag=3000), id="that did not keep up"),
        pytest.param(runs(450, 3, skipped=3000), id="that skipped what was late"),
    ],
)
def test_arms_at_one_rate_are_judged_even_where_one_does_not_keep_up(arm: str) -> None:
    judgement = judged_text(runs(500, 2), arm, **RANDOM)
    assert rates_that_differ(judgement) == []
    assert verdict(judgement) == "slower"


def test_lines_of_progress_at_two_rates_are_not_measured_alike() -> None:
    line = "progress: {}.0 s, {:.1f} tps, lat {} ms stddev 0.5, 0 failed, lag 0.1 ms, 0 skipped\n"

    def seconds(tps: float, ms: float) -> str:
        return "".join(line.format(n, tps + n % 7, ms + n % 3 / 10) for n in range(1, 61))

    assert rates_that_differ(judged_text(seconds(500, 2), seconds(1000, 3)))
    assert not rates_that_differ(judged_text(seconds(500, 2), seconds(501, 3)))


def test_intervals_of_a_log_at_two_rates_are_not_measured_alike() -> None:
    def intervals(count: int, latency: int) -> str:
        return "".join(
            f"{1_700_000_000 + n} {count + n % 7} {(count + n % 7) * latency} 9 1 9 "
            f"{count * 100} 9 1 9 0\n"
            for n in range(40)
        )

    assert rates_that_differ(judged_text(intervals(500, 2000), intervals(1000, 3000)))
    assert not rates_that_differ(judged_text(intervals(500, 2000), intervals(501, 3000)))


@given(
    rate=st.floats(20, 20_000),
    capacity=st.floats(0.2, 1.0),
    seconds=st.floats(10, 3600),
)
@settings(deadline=None)
def test_the_rate_of_a_server_that_falls_behind_is_within_its_bounds(
    rate: float, capacity: float, seconds: float
) -> None:
    # It serves `capacity` of what is due: the last one to begin was due that much earlier.
    begun, lag = rate * capacity * seconds, seconds * (1 - capacity)
    bounds = requested_rate(begun, seconds, lag)
    assert bounds is not None
    rounding = 1 + 1e-9
    assert bounds.begun / seconds <= rate * rounding
    assert rate <= bounds.due / seconds * rounding


def test_what_some_runs_do_not_say_is_not_known() -> None:
    assert requested_rate(0, 60, 0.1) is None
    assert requested_rate(100, 0, 0.1) is None
    assert sum_of_rates([]) is None
    run = RequestedRate(100, 110, 60)
    assert sum_of_rates([run, None]) is None
    assert sum_of_rates([run, run]) == RequestedRate(200, 220, 120)
