"""Throughput that a generator was asked for is no result, also where its output does not say so."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.judged_files import RANDOM, judged_text, percent, refused_text, verdict

Writer = Callable[[float, float], str]
"""What a tool prints of a run: its rate per second and its mean latency in ms."""


def k6(rate: float, ms: float) -> str:
    requests = {"count": round(60 * rate), "rate": rate}
    return json.dumps({"metrics": {"http_reqs": requests, "http_req_duration": {"avg": ms}}}) + "\n"


def oha(rate: float, ms: float) -> str:
    summary = {"successRate": 1.0, "total": 60.0, "average": ms / 1e3, "requestsPerSec": rate}
    return json.dumps({"summary": summary, "statusCodeDistribution": {"200": 9}}) + "\n"


def ycsb(rate: float, ms: float) -> str:
    return (
        f"[OVERALL], RunTime(ms), 60000\n[OVERALL], Throughput(ops/sec), {rate}\n"
        f"[READ], Operations, 60000\n[READ], AverageLatency(us), {1000 * ms}\n"
    )


def benchbase(rate: float, ms: float) -> str:
    latencies = {"Average Latency (microseconds)": 1000 * ms}
    rates = {"Throughput (requests/second)": rate, "Goodput (requests/second)": rate}
    return json.dumps(rates | {"Latency Distribution": latencies}) + "\n"


def csv(rate: float, ms: float) -> str:
    return f"{rate},{ms}\n"


WRITERS = pytest.mark.parametrize("writer", [k6, oha, ycsb, benchbase, csv])
LATENCIES = {ycsb: "read:latency_mean", csv: "latency_ms"}
RATES = {csv: "tps"}


def arm(writer: Writer, rates: list[float], latencies: list[float]) -> str:
    heading = "tps,latency_ms\n" if writer is csv else ""
    return heading + "".join(map(writer, rates, latencies))


def paced_rates(rate: float, seed: int) -> list[float]:
    """Rates of a generator that keeps up."""
    return (rate * np.random.default_rng(seed).uniform(0.9990, 1.0002, 12)).tolist()


def around(level: float, seed: int, sd: float = 0.02) -> list[float]:
    return (level * np.random.default_rng(seed).normal(1, sd, 12)).tolist()


@WRITERS
@pytest.mark.parametrize("rates", [(500, 500), (1000, 2000)])
def test_a_rate_that_was_asked_for_is_asked_about(writer: Writer, rates: tuple[int, int]) -> None:
    texts = [arm(writer, paced_rates(r, n), around(10 + 8 * n, n)) for n, r in enumerate(rates)]
    error = refused_text(*texts, **RANDOM)
    assert f"every run of a did {'500' if rates[0] == 500 else '1 000'} " in error.primary
    latency, throughput = LATENCIES.get(writer, "latency_mean"), RATES.get(writer, "throughput")
    for name in (latency, throughput):
        assert f'--metric "{name}"' in str(error.hint)
    slower = judged_text(*texts, metric=latency, **RANDOM)
    assert percent(slower) == pytest.approx(80, abs=8)
    assert verdict(slower) == "slower"
    assert judged_text(*texts, metric=throughput, **RANDOM)


@WRITERS
def test_a_closed_loop_at_a_round_rate_is_judged_by_its_rate(writer: Writer) -> None:
    rates = [paced_rates(500, n) for n in (0, 1)]
    latencies = [[8000 / rate * (1 + n % 3 / 1e4) for n, rate in enumerate(r)] for r in rates]
    judgement = judged_text(*map(arm, [writer] * 2, rates, latencies), **RANDOM)
    assert verdict(judgement) == "equivalent"
    assert judgement.comparison.metric.higher_is_better


@WRITERS
def test_an_arm_that_does_not_keep_up_with_its_rate_is_judged(writer: Writer) -> None:
    slow = arm(writer, around(430, 1, 0.01), around(90, 1))
    judgement = judged_text(arm(writer, paced_rates(500, 0), around(10, 0)), slow, **RANDOM)
    assert verdict(judgement) == "slower"
    assert judgement.comparison.metric.higher_is_better


@pytest.mark.long
@given(
    clients=st.integers(1, 512),
    ms=st.floats(0.2, 50),
    effect=st.floats(0.5, 2),
    sd=st.sampled_from([1e-4, 1e-3, 1e-2]),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None)
def test_no_closed_loop_is_taken_for_a_rate(
    clients: int, ms: float, effect: float, sd: float, seed: int
) -> None:
    texts = []
    for n, level in enumerate((ms, ms * effect)):
        latencies = around(level, seed + n, sd)
        rates = [1000 * clients / latency for latency in latencies]
        texts.append(arm(k6, rates, [round(latency, 3) for latency in latencies]))
    assert judged_text(*texts, **RANDOM).comparison.metric.higher_is_better


def test_runs_of_one_value_say_nothing_of_a_rate() -> None:
    assert judged_text(k6(500, 10), k6(1000, 5)).cannot
    assert "asked for" in refused_text(k6(500, 10), k6(500, 18)).primary
