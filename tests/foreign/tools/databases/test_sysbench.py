"""Summaries of sysbench are repetitions, its intervals slices, in text and as CSV."""

from __future__ import annotations

import re

import pytest

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent, verdict
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.series import Grain, Order, TransactionCounts
from steelyard.foreign.source import open_source
from steelyard.foreign.tools.measured_runs import FIXED_RATE

SUMMARY = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Number of threads: {threads}
SQL statistics:
    transactions:                        {done}  ({tps} per sec.)
    queries:                             200000 (20000.00 per sec.)
    ignored errors:                      {errors}      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)
Latency (ms):
         min:                                    4.41
         avg:                                    8.00
         95th percentile:                        9.91
"""


def summary(tps: float, threads: int = 8, errors: int = 0) -> str:
    return SUMMARY.format(tps=tps, threads=threads, errors=errors, done=10_000)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("sb_a.txt", "sysbench"),
        ("sb_legacy.txt", "sysbench"),
        ("sb_a.csv", "sysbench-csv"),
    ],
)
def test_it_is_told_by_its_content(name: str, form: str) -> None:
    assert format_of(open_source(INPUTS / name)) == form


def test_a_summary_is_one_repetition_with_its_rate_latency_and_outcome() -> None:
    sheet = sheet_of(summary(1000.5) + summary(1010.5, errors=7))
    assert_values(only(sheet), [1000.5, 1010.5])
    assert [metric.words for metric, _ in sheet.metrics] == [
        "throughput in transactions/s",
        "queries in queries/s",
        "latency mean in ms",
    ]
    assert only(sheet).grain is Grain.REPETITION
    assert sheet.outcomes == {"": TransactionCounts(20_007, 7)}


def test_both_generations_are_read() -> None:
    assert percent(judged("a=sb_a.txt", "b=sb_b.txt")) == pytest.approx(5.0)
    assert percent(judged("a=sb_legacy.txt", "b=sb_a.txt")) == pytest.approx(0.188, abs=0.001)


def test_intervals_are_slices() -> None:
    judgement = judged("a=sb_a.csv", "b=sb_b.csv")
    assert percent(judgement) == pytest.approx(1.05, abs=0.01)
    assert "one run per arm" in doubts(judgement)
    line = "[ {}s ] thds: 8 tps: {} qps: 1 (r/w/o: 1/1/1) lat (ms,95%): 9 err/s: 2.00 reconn/s: 0\n"
    sheet = sheet_of(line.format(10, 900.5) + line.format(20, 950.25))
    assert_values(only(sheet), [900.5, 950.25])
    assert only(sheet).grain is Grain.SLICE


def test_other_threads_explain_a_difference() -> None:
    arms = ["".join(summary(1000.5 + n + 100 * a, 8 + 8 * a) for n in range(8)) for a in (0, 1)]
    assert verdict(judged_text(*arms)) == "invalid"


def test_what_is_no_result_is_refused() -> None:
    assert "the run failed" in refusal(
        summary(5.5) + "FATAL: mysql_stmt_execute() returned error\n"
    )
    assert "no complete summary of sysbench" in refusal("sysbench 1.0.20\n", "sysbench")
    assert "is no line of sysbench's CSV" in refusal("1,8,2\n", "sysbench-csv")


@pytest.mark.parametrize("line", ["[ 60s ] Checkpoint report:", "[  60s] Checkpoint report:"])
def test_reports_of_checkpoints_are_no_repetitions(line: str) -> None:
    """The first is often the warm-up (sysbench.c, checkpoints_thread_proc)."""
    head, _, rest = summary(700.5).partition("SQL statistics")
    text = f"{head}{line}\nSQL statistics{rest}SQL statistics{rest.replace('700.5', '1000.5')}"
    assert refusal(text).endswith("are parts of one run, and no repetitions of it")
    assert_values(only(sheet_of(text.partition(line)[0] + summary(1000.5))), [1000.5])


RATED = "Number of threads: {threads}\nTarget transaction rate: {rate}/sec\n"


def rated(tps: float, mean: float, rate: str = "500", threads: int = 8) -> str:
    text = summary(tps).replace("avg:                                    8.00", f"avg:  {mean:.2f}")
    return text.replace("Number of threads: 8\n", RATED.format(threads=threads, rate=rate))


@pytest.mark.parametrize("rate", ["500", "500/sec, with jitter 0 usec"])
def test_under_a_rate_latency_is_judged(rate: str) -> None:
    text = rated(500.1, 8.5) + rated(500.2, 8.7)
    sheet = sheet_of(text.replace("500/sec", rate if "/" in rate else "500/sec"))
    assert_values(only(sheet), [8.5, 8.7])
    assert FIXED_RATE in sheet.notes
    factors = {factor.name: factor.values for factor in only(sheet).factors}
    assert factors == {
        "threads": ("8", "8"),
        "rate": ("500/s", "500/s"),
        "version of sysbench": ("1.0.20", "1.0.20"),
    }


def test_arms_at_one_rate_differ_in_their_latency_and_at_two_rates_not_at_all() -> None:
    control = "".join(rated(500 + k / 100, 8 + k / 50) for k in range(12))
    slower = "".join(rated(500 + k / 99, 16 + k / 50) for k in range(12))
    assert verdict(judged_text(control, slower, order=Order.RANDOM)) == "slower"
    other = judged_text(control, slower.replace("rate: 500", "rate: 600"), order=Order.RANDOM)
    assert verdict(other) == "invalid"


LINES = {
    "1.0": "[ {0}s ] thds: 1 tps: {1} qps: 9.9 (r/w/o: 1/2/3) lat (ms,95%): {2} err/s: 0.00\n",
    "0.5": "[ {0}s] threads: 1, tps: {1}, reads/s: 9.9, response time: {2}ms (95%)\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("head", ["", "Number of threads: 1\nTarget transaction rate: 10/sec\n"])
def test_intervals_have_their_percentile_which_is_judged_under_a_rate(line: str, head: str) -> None:
    text = head + "".join(line.format(10 * k, 11.0 + k, 52.5 + k) for k in (1, 2, 3))
    sheet = sheet_of(text)
    words = ["throughput in transactions/s", "latency p95 in ms"]
    assert [metric.words for metric, _ in sheet.metrics] == (words[::-1] if head else words)
    assert_values(only(sheet, 0 if head else 1), [53.5, 54.5, 55.5])


def test_intervals_tell_a_rate_where_the_heading_was_cut_off() -> None:
    line = LINES["1.0"] + "[ {0}s ] queue length: 0, concurrency: 0\n"
    sheet = sheet_of("".join(line.format(10 * k, 11.0, 52.5 + k) for k in (1, 2)))
    assert FIXED_RATE in sheet.notes
    bare = re.sub(r" lat \(ms,95%\): \S+", "", "".join(line.format(k, 11.0, 1) for k in (1, 2)))
    assert "there is no latency" in refusal(bare)
