"""YCSB, BenchBase and mysqlslap are read as what each takes for one measurement."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import INPUTS, RANDOM, doubts, judged, judged_text, percent, verdict
from foreign.judged_files import only as only_contrast
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.comparison import total_of
from steelyard.foreign.formats import format_of, read_sheet
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Grain, Sheet, TransactionCounts
from steelyard.foreign.source import open_source


def sheet(name: str) -> Sheet:
    return read_sheet(open_source(INPUTS / name), alone=False)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("ycsb_a.txt", "ycsb"),
        ("bb_summary.json", "json"),
        ("bb_results.csv", "benchbase-csv"),
        ("bb_raw.csv", "benchbase-csv"),
        ("slap_a.txt", "mysqlslap"),
        ("slap_a.csv", "mysqlslap"),
    ],
)
def test_they_are_told_by_their_content(name: str, form: str) -> None:
    assert format_of(open_source(INPUTS / name)) == form


def test_a_summary_of_ycsb_has_a_rate_and_the_latencies_of_each_operation() -> None:
    names = [metric.name for metric, _ in sheet("ycsb_a.txt").metrics]
    assert names[:3] == [THROUGHPUT, f"read:{LATENCY}", f"update:{LATENCY}"]
    assert percent(judged("a=ycsb_a.txt", "b=ycsb_b.txt")) == pytest.approx(3.998, abs=0.001)
    latency = judged("a=ycsb_a.txt", "b=ycsb_b.txt", metric="read:latency_mean")
    assert percent(latency) == pytest.approx(100 * (6010 / 6234 - 1), abs=0.01)
    failed = (
        "[OVERALL], Throughput(ops/sec), 5.5\n[READ], Operations, 90\n[READ], Return=ERROR, 9\n"
    )
    assert sheet_of(failed).outcomes == {"": TransactionCounts(90, 9)}


def test_a_summary_of_benchbase_is_one_repetition_with_its_conditions() -> None:
    read = sheet("bb_summary.json")
    assert_values(only(read), [500.1])
    assert [metric.unit for metric, _ in read.metrics][:3] == ["requests/s", "requests/s", "µs"]
    conditions = {factor.name for factor in only(read).factors}
    assert {"scalefactor", "terminals", "isolation", "DBMS Version"} <= conditions


def test_windows_and_requests_of_benchbase_are_slices() -> None:
    windows = sheet("bb_results.csv")
    assert only(windows).values.tolist()[:2] == [498.6, 512.2]
    assert only(windows).grain is Grain.SLICE
    requests = sheet("bb_raw.csv")
    assert only(requests).values.tolist() == [(12031 + 5031 + 13031 + 6031 + 11031) / 5]
    assert only(requests).grain is Grain.SLICE


def test_a_report_of_mysqlslap_is_one_repetition_of_its_average() -> None:
    assert only(sheet("slap_a.txt")).values.tolist() == [0.512]
    judgement = judged("a=slap_a.csv", "b=slap_b.csv")
    assert percent(judgement) == pytest.approx(8.09, abs=0.01)
    assert "conditions differ" not in doubts(judgement)
    assert {f.name for f in only(sheet("slap_a.csv")).factors} >= {"clients", "queries a client"}


def slap(engine: str, seconds: float, form: str) -> str:
    if form == "csv":
        return f"{engine},mixed,{seconds:.3f},0.100,9.900,50,10\n"
    return (
        f"Benchmark\n\tRunning for engine {engine}\n"
        f"\tAverage number of seconds to run all queries: {seconds:.3f} seconds\n"
        "\tNumber of clients running queries: 50\n\n"
    )


@pytest.mark.parametrize("form", ["text", "csv"])
def test_engines_of_mysqlslap_are_compared_each_with_its_own(form: str) -> None:
    def runs(scale: float, engines: str) -> str:
        levels = {"innodb": 0.5, "myisam": 2.0}
        return "".join(
            slap(name, scale * levels[name] * (1 + n * 7 % 11 / 900), form)
            for n in range(9)
            for name in engines.split()
        )

    judgement = judged_text(runs(1, "innodb myisam"), runs(1.1, "innodb myisam"), **RANDOM)
    assert only_contrast(judgement).details.paired
    assert percent(judgement) == pytest.approx(10, abs=0.1)
    assert verdict(judgement) == "slower"
    other = judged_text(runs(1, "innodb"), runs(1, "myisam"), **RANDOM)
    assert (verdict(other), "conditions differ" in doubts(other)) == ("slower", True)


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("[READ], Operations, 5\n", "ycsb", "no figure above zero"),
        ("a,b\n1,2\n", "benchbase-csv", 'no column "Throughput (requests/second)"'),
        ("nothing\n", "mysqlslap", "no figure above zero"),
        ("mixed,0.494,0.480,0.520,50,10\nmixed,x\n", "mysqlslap", "is no line of mysqlslap's CSV"),
    ],
)
def test_what_is_no_result_is_refused(text: str, form: str, said: str) -> None:
    assert said in refusal(text, form)


def benchbase(throughput: float, goodput: float, **more: float) -> str:
    return json.dumps(
        {
            "Latency Distribution": {"Average Latency (microseconds)": 15850.5},
            "Throughput (requests/second)": throughput,
            "Goodput (requests/second)": goodput,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("more", "tried"),
    [
        ({"Measured Requests": 60000}, 60000),
        ({"Elapsed Time (nanoseconds)": 30e9}, 30000),
        ({}, 60000),
    ],
)
def test_what_goodput_lacks_of_throughput_failed(more: dict[str, float], tried: int) -> None:
    text = benchbase(1000.0, 990.0, **more)
    assert sheet_of(text).outcomes == {"": TransactionCounts(tried, tried // 100)}
    worse = benchbase(1300.0, 390.0, **more)
    assert "errors or retries differ" in doubts(judged_text(text, worse))
    assert "errors or retries differ" not in doubts(judged_text(text, benchbase(900.0, 891.0)))


def test_a_summary_without_goodput_says_nothing_of_failures() -> None:
    without = json.loads(benchbase(1000.5, 1))
    del without["Goodput (requests/second)"]
    assert sheet_of(json.dumps(without)).outcomes == {}


def test_transactions_of_benchbase_count_by_their_kind() -> None:
    def raw(payments: int) -> str:
        rows = [("NewOrder", 12000)] * (80 - payments) + [("Payment", 5000)] * payments
        lines = [f"1,{name},{1.7e9 + k / 100:.6f},{us},0,0\n" for k, (name, us) in enumerate(rows)]
        head = "Transaction Type Index,Transaction Name,Start Time (microseconds)"
        return head + ",Latency (microseconds),Worker Id,Phase Id\n" + "".join(lines)

    totals = [total_of(only(sheet_of(raw(payments)))) for payments in (40, 60)]
    assert totals == pytest.approx([8500, 8500])
