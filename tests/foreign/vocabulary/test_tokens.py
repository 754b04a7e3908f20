"""What was measured is told from what it was measured under, whichever is a rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreign.judged_files import RANDOM, judged_text, refused_text, verdict
from steelyard.foreign.metric import LATENCY, THROUGHPUT, TIME
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.foreign.vocabulary.tokens import split_words
from steelyard.foreign.vocabulary.units import SECONDS, is_rate

TIMES = ["latency", "avg latency", "mean_latency_ms", "lat (ms)", "elapsed_ms", "Latency [us]"]
RATES = ["tps", "qps", "rps", "iops", "req/s", "MB/s", "kTPS", "transactions per second", "ops/sec"]
NUMBERS = ["5", "500", "10000", "10k ", "2 M "]
STATED = [" at ", " @ ", "@", " under ", " with ", " for ", "_at_", " while at ", ", ", " "]
LENGTHS = ["60 s", "60s", "5 min", "1 h", "100 ms"]
LIMITS = ["10ms latency", "latency 5 ms", "p99 latency of 5 ms"]


@given(st.sampled_from(TIMES), st.sampled_from(STATED), st.sampled_from(NUMBERS), st.data())
def test_a_rate_behind_a_number_makes_no_throughput_of_a_latency(
    time: str, stated: str, number: str, data: st.DataObject
) -> None:
    heading = heading_of(f"{time}{stated}{number}{data.draw(st.sampled_from(RATES))}")
    assert heading.metric is not None, heading
    assert heading.metric.name in (LATENCY, TIME), heading
    assert heading.metric.higher_is_better is False
    assert heading.metric.unit == (heading_of(time).metric or heading.metric).unit
    assert heading.rest


@given(st.sampled_from(RATES), st.data())
def test_a_time_behind_a_number_makes_no_latency_of_a_rate(rate: str, data: st.DataObject) -> None:
    joined = data.draw(st.sampled_from(["_", " (", " at ", " @ ", " under ", " with "]))
    conditions = LENGTHS if joined in ("_", " (") else [*LENGTHS, *LIMITS]
    heading = heading_of(f"{rate}{joined}{data.draw(st.sampled_from(conditions))}")
    assert heading.metric is not None, heading
    assert heading.metric.name.startswith(THROUGHPUT), heading
    assert heading.metric.higher_is_better is True
    assert heading.metric.unit == (heading_of(rate).metric or heading.metric).unit


WORDS = [
    *(
        "at",
        "per",
        "under",
        "for",
        "with",
        "max",
        "p99",
        "avg",
        "min",
        "total",
        "wall",
        "/",
        "_",
        "@",
    ),
    *("ops", "tps", "qps", "iops", "MB/s", "rate", "throughput", "[tps]", "5", "10k", "foo", "Σ"),
    *(
        "µs",
        "s",
        "ms",
        "h",
        "latency",
        "time",
        "response",
        "(ms)",
        "(min)",
        "$",
        "cpu",
        "calls",
        "±",
    ),
]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join))
def test_no_heading_is_a_rate_in_a_unit_of_time_or_a_time_in_one_of_a_rate(text: str) -> None:
    metric = heading_of(text).metric
    if metric is None or not metric.unit or metric.name == text:
        return
    if metric.name.startswith(THROUGHPUT):
        assert is_rate(metric.unit)
        assert metric.higher_is_better in (True, None)
    elif metric.name.startswith(("latency", TIME)):
        assert metric.unit in SECONDS
        assert metric.higher_is_better in (False, None)


@pytest.mark.parametrize(
    ("text", "name", "unit"),
    [
        ("latency at 1000 tps (ms)", LATENCY, "ms"),
        ("p99 latency ms @ 2000 qps", "latency_p99", "ms"),
        ("mean_latency_ms_at_5000_rps", LATENCY, "ms"),
        ("latency (ms) under 500 tps", LATENCY, "ms"),
        ("lat_50_qps", LATENCY, ""),
        ("avg ms 500rps", TIME, "ms"),
        ("under 500 tps: latency ms", LATENCY, "ms"),
        ("time_to_recover_tps_s", TIME, "s"),
        ("time for 1000000 ops (s)", TIME, "s"),
        ("1M ops (s)", TIME, "s"),
        ("duration_1M_ops", TIME, ""),
        ("time per 100 ops", TIME, ""),
        ("time per op (ms)", TIME, "ms"),
        ("tps_time", TIME, ""),
        ("seconds at max iops", TIME, "s"),
        ("latency at max throughput (ms)", LATENCY, "ms"),
        ("elapsed 10k req/s", TIME, ""),
        ("max latency at 1000 tps (ms)", "latency_max", "ms"),
        ("throughput at 10 ms latency (MB/s)", THROUGHPUT, "MB/s"),
        ("tps_5min", THROUGHPUT, "transactions/s"),
        ("latency test (tps)", THROUGHPUT, "transactions/s"),
        ("wall_tps", THROUGHPUT, "transactions/s"),
        ("rt_tps", THROUGHPUT, "transactions/s"),
        ("tps @ 64 clients", THROUGHPUT, "transactions/s"),
        ("16 tps", THROUGHPUT, "transactions/s"),
        ("tps_p95", "throughput_p95", "transactions/s"),
        ("throughput (min)", "throughput_min", ""),
    ],
)
def test_what_was_measured_is_named_before_its_condition(text: str, name: str, unit: str) -> None:
    metric = heading_of(text).metric
    assert metric is not None
    assert (metric.name, metric.unit) == (name, unit)
    assert metric.higher_is_better is name.startswith(THROUGHPUT)


@pytest.mark.parametrize(
    ("headings", "role"),
    [
        ("latency tps|throughput (ms)|tps_ms|real time tps|ms tps", Role.UNKNOWN),
        ("$/tpmC|USD/tpmC|USD per kQphH|€ per kTPS|price/tpmC|cost per 1000 tps", Role.COST),
        ("USD/h|cpu at 500 tps", Role.COST),
        ("score @ 1000 qps", Role.VALUE),
        ("widgets/tps|slow_ops|off_ops|pending ops", Role.UNKNOWN),
        ("total_ops|num_ops|ops_done|ops count", Role.COUNT),
        ("ops|read ops|write_ops|avg ops", Role.METRIC),
        ("expected_tps|theoretical MB/s|ideal latency|Δtps", Role.DERIVED),
        ("goal_tps", Role.PARAMETER),
        ("σ tps|tps ±|± (ms)", Role.STATISTIC),
        ("expected|theoretical|baseline|low|high|SE|q1", Role.UNKNOWN),
    ],
)
def test_what_could_be_either_or_is_a_price_is_no_rate(headings: str, role: Role) -> None:
    for text in headings.split("|"):
        assert heading_of(text).role is role, text


def test_a_price_is_better_where_it_is_lower() -> None:
    for text in ("$/tpmC", "USD per kQphH", "EUR/h", "price per 1000 tps"):
        metric = heading_of(text).metric
        assert metric is not None
        assert metric.higher_is_better is False, text


def test_signs_are_words_and_words_of_any_language_stay_whole() -> None:
    assert split_words("Ø tps @ 5") == ("avg", "tps", "at", "5")
    assert split_words("tps für Größe") == ("tps", "für", "größe")
    assert split_words("QphH@100") == ("qphh",)


def rows(*levels: tuple[float, float]) -> str:
    """Arms off and on in turns; of each column the level in either arm."""
    lines = ""
    for n in range(10):
        for k, arm in enumerate(("off", "on")):
            cells = (f"{level[k] * (1 + (n * 7 % 5 + k) / 400):.4f}" for level in levels)
            lines += ",".join((arm, *cells)) + "\n"
    return lines


@pytest.mark.parametrize(
    "text",
    ["latency at 1000 tps (ms)", "lat_500qps", "seconds at max iops", "USD/tpmC", "elapsed 9k rps"],
)
def test_more_of_a_latency_under_a_rate_is_slower(text: str) -> None:
    assert verdict(judged_text(f"arm,{text}\n{rows((100, 110))}", **RANDOM)) == "slower"
    beside = judged_text(f"arm,{text},latency_ms\n{rows((100, 90), (20, 22))}", **RANDOM)
    assert beside.comparison.metric.column == "latency_ms"


def test_the_unit_of_a_latency_under_a_rate_may_be_said() -> None:
    text = f"arm,latency at 1000 tps (ms)\n{rows((100, 110))}"
    assert verdict(judged_text(text, unit="ms", **RANDOM)) == "slower"


def test_arms_of_a_latency_under_a_rate_are_compared_on_it() -> None:
    lines = "".join(f"{100 + n % 3}.5,{110 + n % 4}.5\n" for n in range(10))
    for heads in ("off lat at 9 tps (ms),on lat at 9 tps (ms)", "off_lat_500qps,on_lat_500qps"):
        assert verdict(judged_text(f"{heads}\n{lines}", **RANDOM)) == "slower"


@pytest.mark.parametrize("text", ["latency tps", "throughput (ms)", "slow_ops", "widgets/tps"])
def test_what_could_be_either_is_asked_about(text: str) -> None:
    error = refused_text(f"arm,{text}\n{rows((100, 110))}", **RANDOM)
    assert "cannot tell whether higher or lower" in error.primary
    assert "--lower-is-better" in str(error.hint)
