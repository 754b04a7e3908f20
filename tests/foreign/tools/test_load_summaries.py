"""Logs of requests are slices, summaries of load generators repetitions, endpoints are paired; a
generator that keeps up shows the rate it was asked for, one that does not shows none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.judged_files import INPUTS, doubts, judged, judged_text, percent, verdict
from foreign.reading import assert_values, only, refusal, sheet_of
from steelyard.foreign.formats import format_of, read_sheet
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import FactorKind, Grain, Order, TransactionCounts
from steelyard.foreign.source import open_source
from steelyard.foreign.tools.load_summaries import rounded_rate
from steelyard.foreign.tools.measured_runs import FIXED_RATE


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
    factors = {factor.name: factor.values for factor in only(sheet).factors}
    assert factors.keys() == {"duration", "threads", "connections", "path"}
    assert factors["path"] == ("/",)
    trouble = "  Socket errors: connect 1, read 2, write 3, timeout 4\nRequests/sec:  9.5\n"
    text = "  Thread Stats   Avg\n  90 requests in 9.0s, 1MB read\n" + trouble
    assert sheet_of(text).outcomes == {"": TransactionCounts(90, 10)}


RUN_OF_WRK = """Running 30s test @ http://{host}:8080{path}
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     5.91ms    0.89ms  12.92ms   93.69%
Requests/sec: {rate:.2f}
"""


def test_paths_of_wrk_are_compared_each_with_its_own() -> None:
    def runs(host: str, scale: float, counts: tuple[int, int]) -> str:
        return "".join(
            RUN_OF_WRK.format(host=host, path=path, rate=scale * (level + n * 7 % 11))
            for path, level, count in zip(("/a?id=1", "/b"), (1000, 9000), counts, strict=True)
            for n in range(count)
        )

    judgement = judged_text(runs("one", 1, (9, 3)), runs("two", 1, (3, 9)), order=Order.RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.5)
    other = judged_text(runs("one", 1, (9, 0)), runs("one", 1, (0, 9)), order=Order.RANDOM)
    assert "conditions differ" in doubts(other)
    same = judged_text(runs("one", 1, (9, 0)), runs("two", 1.1, (9, 0)), order=Order.RANDOM)
    assert (verdict(same), "conditions differ" in doubts(same)) == ("faster", False)


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


def test_vegeta_holds_a_rate_so_its_latency_is_judged() -> None:
    sheet = sheet_of(json.dumps(VEGETA) + "\n" + json.dumps(VEGETA))
    assert_values(only(sheet), [2e6, 2e6])
    assert_values(only(sheet, 1), [50.5, 50.5])
    assert sheet.metrics[0][0].unit == "ns"
    assert FIXED_RATE in sheet.notes


def vegeta(rate: float, latency: float) -> str:
    return json.dumps(
        VEGETA
        | {"requests": 3000, "duration": 2999 / rate * 1e9, "latencies": {"mean": latency}}
        | {"throughput": rate * 0.999}
    )


def test_arms_of_vegeta_at_two_rates_were_not_measured_alike() -> None:
    def runs(rate: float, ns: float) -> str:
        return "\n".join(vegeta(rate + k / 1e4, ns * (1 + k / 500)) for k in range(12))

    slower = judged_text(runs(100, 2e6), runs(100, 4e6), order=Order.RANDOM)
    assert verdict(slower) == "slower"
    other = judged_text(runs(100, 2e6), runs(200, 4e6), order=Order.RANDOM)
    assert "conditions differ" in doubts(other)
    assert verdict(other) == "invalid"


WRK = """Running 30s test @ http://127.0.0.1:8080/
  2 threads and 100 connections
{more}  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     {latency}  0.36ms   7.20ms   72.34%
  60000 requests in 30.00s, 10.2MB read
Requests/sec:   {rate}
"""
CALIBRATION = "  Thread calibration: mean lat.: 1.234ms, rate sampling interval: 10ms\n"
HISTOGRAM = "  Latency Distribution (HdrHistogram - Recorded Latency)\n"


@pytest.mark.parametrize(("more", "rated"), [(CALIBRATION, True), (HISTOGRAM, True), ("", False)])
def test_wrk2_holds_a_rate_and_wrk_does_not(more: str, *, rated: bool) -> None:
    sheet = sheet_of(WRK.format(more=more, latency="1.18ms", rate=2000.94))
    assert_values(only(sheet), [1.18 if rated else 2000.94])
    assert (FIXED_RATE in sheet.notes) is rated
    rates = [factor.values for factor in only(sheet).factors if factor.name == "rate"]
    assert rates == ([("2000/s",)] if rated else [])


@pytest.mark.parametrize(("latency", "ms"), [("250us", 0.25), ("1.5s", 1500), ("2h", 7.2e6)])
def test_latencies_of_wrk_have_any_unit(latency: str, ms: float) -> None:
    assert_values(only(sheet_of(WRK.format(more="", latency=latency, rate=5.5)), 1), [ms])


def oha(rate: float, statuses: dict[str, int], errors: dict[str, int] | None = None) -> str:
    summary = {"successRate": 1.0, "total": 10.0, "average": 0.01, "requestsPerSec": rate}
    more = {} if errors is None else {"errorDistribution": errors}
    return json.dumps({"summary": summary, "statusCodeDistribution": statuses, **more})


@pytest.mark.parametrize(
    ("statuses", "errors", "outcome"),
    [
        ({"200": 90, "204": 5, "301": 5}, {}, (100, 0)),
        ({"200": 40, "500": 60}, {}, (100, 60)),
        ({"200": 40, "404": 60}, None, (100, 60)),
        ({"200": 90}, {"connection error": 10}, (100, 10)),
        ({"200": 90}, {"aborted due to deadline": 50}, (90, 0)),
        ({}, {"connection error": 10}, (10, 10)),
        ({"200": 90, "503": 7}, {"timeout": 3, "aborted due to deadline": 50}, (100, 10)),
    ],
)
def test_answers_of_oha_that_are_errors_failed(
    statuses: dict[str, int], errors: dict[str, int] | None, outcome: tuple[int, int]
) -> None:
    assert sheet_of(oha(9.5, statuses, errors)).outcomes == {"": TransactionCounts(*outcome)}


def test_an_arm_that_answers_errors_is_doubted() -> None:
    control = "\n".join(oha(1000 + k / 7, {"200": 10_000}) for k in range(12))
    arm = "\n".join(oha(1300 + k / 7, {"200": 5200, "500": 7800}) for k in range(12))
    assert "errors or retries differ" in doubts(judged_text(control, arm, order=Order.RANDOM))


def k6(shape: str, **metrics: dict[str, float]) -> str:
    base = {"http_reqs": {"count": 900, "rate": 9.5}, "http_req_duration": {"avg": 100.5}}
    merged = base | metrics
    if shape == "values":
        return json.dumps({"metrics": {name: {"values": some} for name, some in merged.items()}})
    return json.dumps({"metrics": merged})


@pytest.mark.parametrize("shape", ["flat", "values"])
def test_dropped_iterations_of_k6_tell_a_rate_and_failed_checks_count(shape: str) -> None:
    dropped = sheet_of(k6(shape, dropped_iterations={"count": 30, "rate": 0.1}))
    assert dropped.metrics[0][0].name == LATENCY
    assert dropped.outcomes == {"": TransactionCounts(30, 30)}
    held = sheet_of(k6(shape, dropped_iterations={"count": 0}))
    assert held.metrics[0][0].name == LATENCY
    checked = sheet_of(k6(shape, checks={"passes": 890, "fails": 10}))
    assert checked.metrics[0][0].name == THROUGHPUT
    assert checked.outcomes == {"": TransactionCounts(900, 10)}


@pytest.mark.parametrize("shape", ["flat", "values"])
@pytest.mark.parametrize(
    ("users", "kind"),
    [
        ({"value": 10, "min": 10, "max": 10}, FactorKind.LOAD),
        ({"value": 10, "max": 10}, FactorKind.LOAD),
        ({"value": 10}, FactorKind.LOAD),
        ({"value": 10, "min": 2, "max": 10}, FactorKind.PARAMETER),
    ],
)
def test_virtual_users_of_k6_are_a_load_unless_they_grew(
    shape: str, users: dict[str, float], kind: FactorKind
) -> None:
    [factor] = only(sheet_of(k6(shape, vus_max=users))).factors
    assert (factor.name, factor.kind, factor.values) == ("virtual users", kind, ("10",))


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


@given(st.integers(10, 99), st.integers(-2, 6), st.floats(-0.0019, 0.0019))
def test_a_rate_of_two_digits_is_read_off_what_was_measured(
    digits: int, exponent: int, off: float
) -> None:
    requested = digits * 10.0**exponent
    assert rounded_rate(requested * (1 + off)) == f"{requested:g}/s"


@pytest.mark.parametrize("measured", [0.0, -5.0, float("inf"), float("nan"), 1543.2, 987654.3, 104])
def test_other_rates_were_not_asked_for(measured: float) -> None:
    assert rounded_rate(measured) == ""
