"""Summaries of sysbench are repetitions, its intervals slices, in text and as CSV."""

from __future__ import annotations

import pytest

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent, verdict
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.series import Grain, TransactionCounts
from steelyard.foreign.source import open_source

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
