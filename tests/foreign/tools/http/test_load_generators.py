"""Logs of requests are slices, summaries of load generators repetitions, endpoints are paired."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of, read_sheet
from steelyard.foreign.series import Grain, TransactionCounts
from steelyard.foreign.source import open_source


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((f"{name}", "requests") for name in ("jtl_a.csv", "jtl_a_min.csv", "hey_off.csv")),
        *((f"{name}", "requests") for name in ("oha_off.csv", "ab_off.tsv", "k6_off.csv")),
        ("vegeta_off.csv", "requests"),
        ("locust_off.csv", "locust"),
        ("wrk_a.txt", "wrk"),
    ],
)
def test_they_are_told_by_their_content(name: str, form: str) -> None:
    assert format_of(open_source(INPUTS / name)) == form


@pytest.mark.parametrize(
    ("files", "column", "unit", "expected"),
    [
        (("a=jtl_a_min.csv", "b=jtl_b_min.csv"), "elapsed", "ms", 38.9),
        (("a=hey_off.csv", "b=hey_on.csv"), "response-time", "s", 1.5),
        (("a=oha_off.csv", "b=oha_on.csv"), "request-duration", "s", 1.1),
        (("a=ab_off.tsv", "b=ab_on.tsv"), "ttime", "ms", 1.7),
        (("a=vegeta_off.csv", "b=vegeta_on.csv"), "latency", "ns", 0.95),
        (("a=k6_off.csv", "b=k6_on.csv"), "metric_value", "ms", 3.27),
    ],
)
def test_requests_of_one_run_are_slices_of_their_latency(
    files: tuple[str, ...], column: str, unit: str, expected: float
) -> None:
    judgement = judged(*files)
    metric = judgement.comparison.metric
    assert (metric.column, metric.unit, metric.higher_is_better) == (column, unit, False)
    assert percent(judgement) == pytest.approx(expected, abs=0.06)
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)


def test_requests_that_failed_are_counted_and_left_out() -> None:
    head = "timeStamp,elapsed,label,responseCode,success\n"
    rows = "".join(
        f"{1.7e12 + n:.0f},{40 + n},a,200,{'false' if n > 7 else 'true'}\n" for n in range(10)
    )
    assert sheet_of(head + rows).outcomes == {"": TransactionCounts(10, 2)}
    judgement = judged_text(head + rows * 30, head + rows.replace("false", "true") * 30)
    assert "errors or retries differ" in doubts(judgement)


def test_a_distribution_is_no_list_of_repetitions() -> None:
    text = (INPUTS / "ab_e_off.csv").read_text()
    assert "a distribution of latencies" in refusal(text)


def test_a_summary_of_wrk_is_one_repetition() -> None:
    sheet = read_sheet(open_source(INPUTS / "wrk_a.txt"))
    assert_values(only(sheet), [748868.53])
    assert_values(only(sheet, 1), [0.63591])
    assert {factor.name for factor in only(sheet).factors} == {"duration", "threads", "connections"}
    trouble = "  Socket errors: connect 1, read 2, write 3, timeout 4\nRequests/sec:  9.5\n"
    text = "  Thread Stats   Avg\n  90 requests in 9.0s, 1MB read\n" + trouble
    assert sheet_of(text).outcomes == {"": TransactionCounts(90, 10)}


OHA = {"summary": {"successRate": 0.9, "requestsPerSec": 1000.5, "average": 0.01}}
VEGETA = {"latencies": {"mean": 2e6}, "requests": 100, "throughput": 50.5, "success": 1}
K6 = {"metrics": {"http_reqs": {"count": 90, "rate": 9.5}, "http_req_duration": {"avg": 100.5}}}
K6_VALUES = {
    "metrics": {
        "http_reqs": {"values": {"count": 90, "rate": 9.5}},
        "http_req_duration": {"values": {"avg": 100.5}},
        "http_req_failed": {"values": {"rate": 0.1}},
    }
}


@pytest.mark.parametrize(
    ("value", "rate", "latency", "unit"),
    [
        (OHA, 1000.5, 0.01, "s"),
        (VEGETA, 50.5, 2e6, "ns"),
        (K6, 9.5, 100.5, "ms"),
        (K6_VALUES, 9.5, 100.5, "ms"),
    ],
)
def test_summaries_in_json_are_repetitions(
    value: dict[str, object], rate: float, latency: float, unit: str
) -> None:
    sheet = sheet_of(json.dumps(value) + "\n" + json.dumps(value))
    assert_values(only(sheet), [rate, rate])
    assert_values(only(sheet, 1), [latency, latency])
    assert sheet.metrics[1][0].unit == unit


def test_endpoints_of_locust_are_paired_and_their_sum_is_none() -> None:
    judgement = judged("a=locust_off.csv", "b=locust_on.csv")
    assert percent(judgement) == pytest.approx(1.5, abs=0.01)
    text = (INPUTS / "locust_off.csv").read_text()
    total = ",Aggregated,2100,0,11,11.8,5,95,1200,1742.4,0.0\n"
    assert len(only(sheet_of(text.rstrip("\n") + "\n" + total)).values) == 2


def test_lines_of_other_shapes_are_refused_with_their_line() -> None:
    head = "timeStamp,elapsed,label\n"
    assert 'line 3, column 1: "slow" is no number of "elapsed"' in refusal(
        f"{head}1662749136064,43,a\n1662749136065,slow,a\n"
    )
    assert "no request that succeeded" in refusal(head)
    assert "this is no log of requests that is known" in refusal("a,b\n1,2\n", "requests")
