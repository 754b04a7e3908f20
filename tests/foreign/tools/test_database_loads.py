"""Summaries of sysbench are repetitions, its intervals slices, in text and as CSV; under a target
of YCSB latency is judged, and what its command line asks for is compared."""

from __future__ import annotations

import re

import pytest

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent, verdict
from foreign.judged_files import only as only_contrast
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT
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


COMMAND = "Command line: -t -db site.ycsb.db.JdbcClient -P workloads/workloada"


def ycsb(rate: float, read: float, update: float, *, command: str = "") -> str:
    return (
        f"{command}\n[OVERALL], RunTime(ms), 60000\n[OVERALL], Throughput(ops/sec), {rate}\n"
        f"[READ], Operations, 300\n[READ], AverageLatency(us), {read}\n[READ], Return=OK, 300\n"
        "[CLEANUP], Operations, 8\n[CLEANUP], AverageLatency(us), 9000.5\n"
        f"[UPDATE], Operations, 100\n[UPDATE], AverageLatency(us), {update}\n"
        "[UPDATE], 99thPercentileLatency(us), 5000\n"
    )


@pytest.mark.parametrize(
    ("options", "rated"),
    [
        ("", False),
        (" -threads 8", False),
        (" -target 0", False),
        (" -target 1000 -threads 8", True),
        (" -threads 8 -p target=1000", True),
    ],
)
@pytest.mark.parametrize(
    "command", [COMMAND, "/usr/bin/java -cp lib/a.jar site.ycsb.Client -t -db x -P a/workloada"]
)
def test_under_a_target_the_mean_of_all_operations_comes_first(
    command: str, options: str, *, rated: bool
) -> None:
    text = "".join(ycsb(1000.5, read, 900, command=command + options) for read in (400, 440))
    sheet = sheet_of(text)
    names = [metric.name for metric, _ in sheet.metrics]
    assert (FIXED_RATE in sheet.notes) is rated
    if rated:
        assert names[:2] == [LATENCY, f"read:{LATENCY}"]
        assert_values(only(sheet), [525, 555])
    else:
        assert names[:2] == [THROUGHPUT, f"read:{LATENCY}"]
    assert names.index(f"cleanup:{LATENCY}") > names.index("update:latency_p99")


def test_arms_at_one_rate_differ_in_their_latency() -> None:
    def runs(scale: float) -> str:
        return "".join(
            ycsb(
                1000 + k / 7, scale * (400 + k * k), 900 * scale, command=f"{COMMAND} -target 1000"
            )
            for k in range(12)
        )

    assert verdict(judged_text(runs(1), runs(2), order=Order.RANDOM)) == "slower"


@pytest.mark.parametrize(
    ("there", "here", "differ"),
    [
        ("-threads 8", "-threads 64", True),
        ("-threads 8", "-p threadcount=64", True),
        ("-threads 8", "-p threadcount=8", False),
        ("-P a/workloada", "-P b/workloadb", True),
        ("-P a/workloada", "-P /tmp/workloada", False),
        ("-target 500", "-target 1000", True),
        ("-p recordcount=1000", "-p recordcount=9000", True),
        ("-p db.url=jdbc:a -p db.passwd=x", "-p db.url=jdbc:b -p db.passwd=y", False),
    ],
)
def test_the_load_that_a_command_line_asks_for_is_compared(
    there: str, here: str, *, differ: bool
) -> None:
    texts = [
        "".join(
            ycsb(500 + k / 7, 400 + k, 900, command=f"Command line: -t -db x {options}")
            for k in range(8)
        )
        for options in (there, here)
    ]
    judgement = judged_text(*texts, order=Order.RANDOM)
    assert ("conditions differ" in doubts(judgement)) is differ
    assert (verdict(judgement) == "invalid") is differ


def test_passwords_of_a_command_line_are_no_conditions() -> None:
    text = ycsb(500, 400, 900, command=f"{COMMAND} -p db.passwd=secret -p recordcount=9")
    values = [value for factor in only(sheet_of(text)).factors for value in factor.values]
    assert "9" in values
    assert not any("secret" in value for value in values)


def test_a_failure_counts_once_and_the_order_of_the_first_lines_does_not_matter() -> None:
    text = (
        "[OVERALL], Throughput(ops/sec), 5.5\n[OVERALL], RunTime(ms), 9\n[READ], Operations, 90\n"
    )
    failed = text + "[READ], Return=ERROR, 9\n[READ-FAILED], Operations, 9\n"
    assert sheet_of(failed).outcomes == {"": TransactionCounts(99, 9)}
    assert_values(only(sheet_of(text + text.replace("5.5", "6.5"))), [5.5, 6.5])


def test_loading_and_running_are_two_loads_without_a_command_line() -> None:
    """`ycsb` writes its command line to the standard error, which `> a.txt` does not keep."""

    def loading(rate: float) -> str:
        text = ycsb(rate, 400, 900).replace("[UPDATE]", "[INSERT]")
        return "".join(line for line in text.splitlines(True) if not line.startswith("[READ]"))

    def both(scale: float) -> str:
        return "".join(
            loading(scale * (9000 + k * 7 % 9)) + ycsb(scale * (1000 + k * 5 % 9), 400, 900)
            for k in range(9)
        )

    sheet = sheet_of(both(1.01))
    factors = {factor.name: factor.values for factor in only(sheet).factors}
    assert factors["operations"] == ("insert", "read, update") * 9
    judgement = judged_text(both(1.013), both(1.111), order=Order.RANDOM)
    assert only_contrast(judgement).details.paired
    assert percent(judgement) == pytest.approx(100 * (1.111 / 1.013 - 1), abs=0.01)
    runs = "".join(ycsb(1000.5 + k, 400, 900) for k in range(9))
    loads = "".join(loading(9000.5 + k) for k in range(9))
    assert verdict(judged_text(runs, loads, order=Order.RANDOM)) == "invalid"
