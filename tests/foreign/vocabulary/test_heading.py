"""Headings mean what people mean by them, and what is not sure is no metric."""

from __future__ import annotations

import pytest

from foreign.judged_files import judged_text, refused_text
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME
from steelyard.foreign.tables.table_headings import headings_of
from steelyard.foreign.vocabulary.heading import Role, heading_of, metric_of
from steelyard.foreign.vocabulary.units import unit_of


@pytest.mark.parametrize(
    ("headings", "name", "unit"),
    [
        ("tps|TPS|tps (excl.)|xact/s|transactions per second|TX/s", THROUGHPUT, "transactions/s"),
        ("qps|QPS|queries/sec|queries per second|queries_per_second", THROUGHPUT, "queries/s"),
        ("rps|req/s|Requests/sec|requests_per_second", THROUGHPUT, "requests/s"),
        ("ops/sec|ops/s|IOPS|ops per sec|operations/s|o/s", THROUGHPUT, "operations/s"),
        ("NOPM|nopm", THROUGHPUT, "NOPM"),
        ("TPM|tpmC", THROUGHPUT, "TPM"),
        ("QphH|QphH@100|qph", THROUGHPUT, "queries/h"),
        ("MB/s|MB/sec", THROUGHPUT, "MB/s"),
        ("Mbps|mbps", THROUGHPUT, "Mbps"),
        ("Mbit/s|mbits_per_sec", THROUGHPUT, "Mbit/s"),
        ("Gbps", THROUGHPUT, "Gbps"),
        ("MiB/s", THROUGHPUT, "MiB/s"),
        ("KiB/s|KiB/sec", THROUGHPUT, "KiB/s"),
        ("KB/s|kB/sec", THROUGHPUT, "kB/s"),
        ("GB/s", THROUGHPUT, "GB/s"),
        ("rows_per_sec|rows/s", THROUGHPUT, "rows/s"),
        ("ops/ms", THROUGHPUT, "operations/ms"),
        ("ops/min|operations per minute", THROUGHPUT, "operations/min"),
        ("kTPS|ktps", THROUGHPUT, "k·transactions/s"),
        ("Power@Size|Throughput@Size", THROUGHPUT, "queries/h"),
        ("throughput|goodput|bandwidth|rate|insert_rate", THROUGHPUT, ""),
        ("latency_ms|lat (ms)|avgLatencyMs|Average Latency (millisecond)", LATENCY, "ms"),
        ("latency|mean latency|response_time|Average Response Time", LATENCY, ""),
        ("elapsed_ms|ms|query_time_ms|exec time [ms]", TIME, "ms"),
        ("ns/op|ns per op", TIME, "ns"),
        ("elapsed|real_time|exec_time|time|runtime", TIME, ""),
        ("duration (min)|time_min", TIME, "min"),
    ],
)
def test_metrics_are_known_with_their_direction(headings: str, name: str, unit: str) -> None:
    for text in headings.split("|"):
        metric = metric_of(text)
        assert metric is not None, text
        assert (metric.name, metric.unit) == (name, unit), text
        assert metric.higher_is_better is (name == THROUGHPUT), text


@pytest.mark.parametrize(
    ("headings", "role"),
    [
        ("min|max|stddev|stdev|p99|P95|median|first_ms|best_s|worst|min_latency", Role.STATISTIC),
        ("lat_p95 (us)|95thPercentileLatency(us)|lat (ms,95%)|latency_p99.9", Role.STATISTIC),
        ("tps_stddev|latency95|latency_p999|Maximum Latency (millisecond)", Role.STATISTIC),
        ("error_rate|abort_rate|failure rate|retry_rate|drop_rate|cache_miss_rate", Role.OUTCOME),
        ("stall_rate|Failures/s|err/s|failed|deadlocks|success|success_rate", Role.OUTCOME),
        ("responseCode|status|status-code|exit_code|pid", Role.CODE),
        ("samples|iterations|count|Request Count|bytes|rows|transactions", Role.COUNT),
        ("response_size|Average Content Size", Role.COUNT),
        ("measurementTime|think_time|warmup_s|latency limit|target_tps|rate_limit", Role.PARAMETER),
        ("arrival rate|offered load|checkpoint_timeout", Role.PARAMETER),
        ("scale|clients|workers|size|shared_buffers|work_mem|scale_factor", Role.PARAMETER),
        ("%|ratio|speedup|change (%)|diff|tps_ratio", Role.DERIVED),
        ("timestamp|timeStamp|ts|second|epoch_ms|date", Role.CLOCK),
        ("started|start_time|request-start|began", Role.START),
        ("run|rep|iteration|#|id|trial_no|iteration_number|loop", Role.COUNTER),
        ("query|test|benchmark|label|name", Role.LABEL),
        ("B/op|allocs/op|cpu_time|connect_time|wait_ms|wal MB/s", Role.COST),
        ("arm|version|branch|db|postgres_version|arm_name|pg_ver", Role.ARM),
        ("metric|metric_name", Role.METRIC_NAME),
        ("value|score|result|avg|mean", Role.VALUE),
        ("off|on|pg16|master|h|foo|foo/s", Role.UNKNOWN),
    ],
)
def test_what_is_no_metric_has_its_own_meaning(headings: str, role: Role) -> None:
    for text in headings.split("|"):
        assert heading_of(text).role is role, text


@pytest.mark.parametrize(
    "word",
    [
        *("degradation", "penalty", "reduction", "regression", "saved", "savings", "increase"),
        *("decrease", "slowdown", "overhead", "speedup", "gain", "improvement", "delta", "diff"),
        *("ratio", "change", "faster", "slower", "uplift", "increased", "reduced"),
    ],
)
def test_what_is_computed_from_others_is_no_metric_whatever_it_is_computed_of(word: str) -> None:
    for text in (f"tps {word}", f"{word}_in_latency_ms", f"time_{word}_s", f"throughput {word}"):
        assert heading_of(text).role is Role.DERIVED, text
    rows = "".join(f"off,4.{n}\non,6.{n}\n" for n in range(1, 9))
    assert "no number that surely" in refused_text(f"arm,tps {word}\n{rows}").primary


@pytest.mark.parametrize("name", ["reduced", "increased", "faster", "regression", "saved"])
def test_what_alone_is_an_arm_is_read_as_one(name: str) -> None:
    assert heading_of(name).role is Role.UNKNOWN
    rows = "".join(f"{100 + n % 5}.{n}1,{110 + n % 4}.{n}3\n" for n in range(8))
    judgement = judged_text(f"normal,{name}\n{rows}", unit="ms")
    assert [arm.arm for arm in judgement.comparison.arms] == ["normal", name]


@pytest.mark.parametrize("text", ["hit_rate", "sampling rate", "off", "response", "stddev", "h"])
def test_what_may_mean_anything_names_no_metric(text: str) -> None:
    assert metric_of(text) is None


def test_beside_a_maximum_min_behind_a_time_is_a_minimum() -> None:
    alone, least = headings_of(("time_min",))[0], headings_of(("time_min", "time_max"))[0]
    assert (alone.role, least.role) == (Role.METRIC, Role.STATISTIC)


def test_units_are_composed_of_work_and_time() -> None:
    assert unit_of("txn/min") == "transactions/min"
    assert unit_of("Requests/sec") == "requests/s"
    assert unit_of("us/op") == "µs"
    assert unit_of("furlongs/fortnight") is None
