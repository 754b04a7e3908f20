"""What is judged is what was measured, called by its own heading, or the command asks."""

from __future__ import annotations

from typing import Any

import pytest

from foreign.judged_files import (
    RANDOM,
    judged,
    judged_text,
    percent,
    refused,
    refused_text,
    verdict,
)
from steelyard.wording.verdict_sentence import sentence_of

JTL = ("a=jtl_a_min.csv", "b=jtl_b_min.csv")


@pytest.mark.parametrize(
    ("files", "asked", "column", "expected"),
    [
        (["minavg.csv"], {"metric": "avg_latency"}, "avg_latency", -17.6),
        (["minavg.csv"], {"metric": "latency"}, "avg_latency", -17.6),
        (["minavg.csv"], RANDOM, "avg_latency", -17.6),
        (["minavg.csv"], {"metric": "min_latency"}, "min_latency", 10.4),
        (["tpsstd.csv"], {"metric": "tps"}, "tps", 10.1),
        (["tpsstd.csv"], RANDOM, "tps", 10.1),
        (["stdfirst.csv"], RANDOM, "latency_avg", -17.6),
        (["minavg2.csv"], {"unit": "ms"}, "avg", -17.6),
        (["qphh.csv"], RANDOM, "QphH", -16.0),
        (["qphh2.csv"], RANDOM, "QphH@100", -16.0),
        (JTL, {}, "elapsed", 38.9),
        (["a=jtl_a.csv", "b=jtl_b.csv"], {}, "elapsed", 38.0),
        (["old=go_old_bare.txt", "new=go_new_bare.txt"], {}, "ns/op", -10.6),
        (["old=go_old.txt", "new=go_new.txt"], {}, "ns/op", -10.6),
        (["score_dur.csv"], {"higher_is_better": True}, "score", 10.0),
        (["score_dur_json.json"], {"higher_is_better": True}, "score", 10.0),
        (["a=crit_a2.csv", "b=crit_b2.csv"], {}, "", 20.0),
        (["a=gb_a.csv", "b=gb_b.csv"], {}, "real_time", 10.5),
        (["old=jmh_old.json", "new=jmh_new.json"], {}, "Score", 1.6),
    ],
)
def test_the_column_that_was_measured_is_judged(
    files: list[str], asked: dict[str, Any], column: str, expected: float
) -> None:
    judgement = judged(*files, **asked)
    assert judgement.comparison.metric.column == column
    assert percent(judgement) == pytest.approx(expected, abs=0.06)
    assert judgement.reading is not None
    assert column in judgement.reading.lines[0]


def test_queries_an_hour_are_a_rate_of_which_more_is_better() -> None:
    assert verdict(judged("qphh.csv", **RANDOM)) == "slower"
    assert verdict(judged("qphh2.csv", **RANDOM)) == "slower"


def test_the_sentence_names_the_column_and_the_reading_the_others() -> None:
    judgement = judged("minavg.csv", **RANDOM)
    assert " of avg_latency (" in sentence_of(judgement.contrasts[0])
    assert judgement.reading is not None
    assert judgement.reading.others == ("min_latency", "max_latency")
    assert judgement.to_json()["reading"]["column"] == "avg_latency"
    assert judgement.to_json()["metric"] == "latency_mean"


@pytest.mark.parametrize(
    ("files", "asked", "primary", "hint"),
    [
        (["minavg2.csv"], {}, "cannot tell whether higher or lower", "--lower-is-better"),
        (["errrate.csv"], {}, "holds no number that surely is a rate", '--metric "error_rate"'),
        (["score_dur.csv"], {}, "cannot tell whether higher or lower", "--higher-is-better"),
        (["metric_name.csv"], {"unit": "tps"}, "several metrics in one column", "one metric"),
        (["metric_col.csv"], {}, "several metrics in one column", "one metric"),
        (["count.txt"], {"unit": "tps"}, "could be what was measured", "--metric"),
        (["minavg.csv"], {"metric": "price"}, 'no metric "price"', "min_latency"),
    ],
)
def test_what_is_not_sure_is_asked_with_what_to_type(
    files: list[str], asked: dict[str, Any], primary: str, hint: str
) -> None:
    error = refused(*files, **asked)
    assert primary in error.primary
    assert hint in str(error.hint)


def test_errors_are_judged_where_they_are_asked_for_and_fewer_are_better() -> None:
    assert verdict(judged("errrate.csv", metric="error_rate", **RANDOM)) == "slower"
    for name in ("abort_rate", "cache_miss_rate", "retries", "dropped", "stall_rate", "err/s"):
        rows = "".join(f"off,1.{n}\non,2.{n}\n" for n in range(8))
        assert "no number that surely" in refused_text(f"arm,{name}\n{rows}").primary
        asked = judged_text(f"arm,{name}\n{rows}", metric=name, **RANDOM)
        assert asked.comparison.metric.higher_is_better is False


ROWS = [(5000 + n, 8 + n / 10, 5500 + n, 7 + n / 10) for n in range(12)]


def table(first: str, second: str, opposite: bool) -> str:
    """Arms off and on, in turns: by the first column on is better."""
    rows = ""
    for off, low, on, high in ROWS:
        ends = (on, off) if opposite else (off, on)
        rows += f"off,{off},{ends[0]}\non,{on},{ends[1]}\n"
        del low, high
    return f"arm,{first},{second}\n{rows}"


@pytest.mark.parametrize(
    ("first", "second"), [("tps", "qps"), ("req/s", "MB/s"), ("tps", "lat_ms")]
)
def test_columns_as_good_as_each_other_that_disagree_are_asked_about(
    first: str, second: str
) -> None:
    worse = second != "lat_ms"
    error = refused_text(table(first, second, opposite=worse), **RANDOM)
    assert "say the opposite of on" in error.primary
    assert f'--metric "{first}"' in str(error.hint)
    assert f'--metric "{second}"' in str(error.hint)
    agreed = judged_text(table(first, second, opposite=not worse), **RANDOM)
    assert verdict(agreed) == "faster"
    assert (
        verdict(judged_text(table(first, second, opposite=worse), metric=first, **RANDOM))
        == "faster"
    )


def test_the_length_of_runs_is_not_what_was_measured() -> None:
    def text(seconds: tuple[str, str]) -> str:
        return "arm,speedy,duration_s\n" + "".join(
            f"off,{100 + n},{seconds[0]}\non,{110 + n},{seconds[1]}\n" for n in range(8)
        )

    constant = judged_text(text(("60", "60")), higher_is_better=True)
    assert constant.comparison.metric.column == "speedy"
    error = refused_text(text(("60.1", "61.2")), higher_is_better=True)
    assert '"speedy" or "duration_s" could be what was measured' in error.primary


@pytest.mark.parametrize("heading", ["min", "max", "stddev", "iterations", "samples", "bytes"])
def test_a_zero_in_a_column_that_is_not_judged_refuses_nothing(heading: str) -> None:
    rows = "".join(f"off,0,{100 + n}\non,0,{110 + n}\n" for n in range(8))
    assert judged_text(f"arm,{heading},tps\n{rows}").comparison.metric.column == "tps"
    judged_zero = refused_text(f"arm,{heading},tps\n{rows}", metric=heading)
    assert "is zero" in judged_zero.primary


def test_points_between_thousands_are_refused_whatever_the_unit() -> None:
    for asked in ({}, {"unit": "tps"}):
        error = refused("n_de_int.csv", **asked)
        assert "mixed units" in error.primary
        assert "write them without separators" in str(error.hint)


@pytest.mark.parametrize("heading", ["errors", "samples", "min_latency", "stddev", "%", "size"])
def test_a_column_that_the_user_names_is_judged_whatever_it_holds(heading: str) -> None:
    rows = "".join(f"off,{100 + n}.5,{9 + n}\non,{110 + n}.5,{5 + n}\n" for n in range(8))
    asked = {"columns": {"value": heading}, "higher_is_better": False}
    judgement = judged_text(f"arm,{heading},tps\n{rows}", **asked)
    assert judgement.comparison.metric.column == heading
    assert judgement.comparison.metric.higher_is_better is False


def alternating(heads: str, *levels: tuple[float, float]) -> str:
    """Arms off and on in turns, of each column the level in either arm."""
    text = f"arm,{heads}\n"
    for n in range(10):
        for k, arm in enumerate(("off", "on")):
            cells = (f"{level[k] * (1 + (n * 7 % 5 + k) / 400):.4f}" for level in levels)
            text += ",".join((arm, *cells)) + "\n"
    return text


@pytest.mark.parametrize(
    "other",
    [
        *("tps_se", "σ tps", "tps ±", "tps Fehler", "tps excl. reconnect", "expected_tps"),
        *("theoretical_tps", "previous_tps", "tps_baseline", "goal_tps", "tps_per_core"),
        *("temp MB/s", "seq scans/s", "foo bar tps", "tps_lower", "widget_ops"),
    ],
)
def test_a_heading_that_is_wholly_known_goes_before_one_known_in_part(other: str) -> None:
    for heads, levels in (
        (f"{other},tps", ((10, 5), (1000, 1100))),
        (f"tps,{other}", ((1000, 1100), (10, 5))),
    ):
        judgement = judged_text(alternating(heads, *levels), **RANDOM)
        assert judgement.comparison.metric.column == "tps"
        assert verdict(judgement) == "faster"


def test_bounds_are_not_judged_in_place_of_what_they_bound() -> None:
    levels = ((900, 800), (1000, 1100), (1100, 1000))
    for heads in ("tps_lower,tps,tps_upper", "tps_lo,tps,tps_hi", "q1_tps,median_tps,q3_tps"):
        assert verdict(judged_text(alternating(heads, *levels), **RANDOM)) == "faster"


@pytest.mark.parametrize("heads", ["foo tps,bar tps", "idx_lookups/s,time_s", "foo qps,bar MB/s"])
def test_several_that_are_known_in_part_are_asked_about_even_where_they_agree(heads: str) -> None:
    first, second = heads.split(",")
    error = refused_text(alternating(heads, (100, 110), (1000, 1100)), **RANDOM)
    assert f'"{first}" or "{second}" could be what was measured' in error.primary
    assert f'--metric "{second}"' in str(error.hint)
    asked = judged_text(alternating(heads, (100, 110), (1000, 1100)), metric=second, **RANDOM)
    assert asked.comparison.metric.column == second


def test_a_column_known_in_part_that_cannot_be_read_refuses_nothing() -> None:
    text = alternating("tps_foo,tps", (10, 5), (1000, 1100)).replace("off,10.0000", "off,0")
    assert judged_text(text, **RANDOM).comparison.metric.column == "tps"


@pytest.mark.parametrize(
    ("heads", "name", "column"),
    [
        ("qps,tps", "tps", "tps"),
        ("qps,tps (excl.)", "tps", "tps (excl.)"),
        ("qps,transactions/s", "tps", "transactions/s"),
        ("total_s,query_ms", "ms", "query_ms"),
        ("tps,avg_latency_ms", "latency", "avg_latency_ms"),
    ],
)
def test_a_metric_that_is_named_by_its_unit_is_the_one_in_that_unit(
    heads: str, name: str, column: str
) -> None:
    judgement = judged_text(alternating(heads, (100, 90), (1000, 1100)), metric=name, **RANDOM)
    assert judgement.comparison.metric.column == column


def test_queries_of_sysbench_are_judged_where_they_are_asked_for() -> None:
    runs = [
        "sysbench 1.0.20\nNumber of threads: 8\n"
        f"    transactions:   {tps}0  ({tps}.5 per sec.)\n"
        f"    queries:   {qps}0  ({qps}.5 per sec.)\n"
        for tps, qps in ((150, 3000), (180, 3000))
    ]
    for name, expected in (("qps", 0.0), ("tps", 19.9)):
        assert percent(judged_text(*runs, metric=name)) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize(
    ("heads", "name"),
    [
        ("read_latency_ms,write_latency_ms", "latency"),
        ("tps primary,tps replica", "tps"),
        ("req/s,MB/s", "throughput"),
    ],
)
def test_columns_that_a_name_fits_alike_are_asked_about(heads: str, name: str) -> None:
    first, second = heads.split(",")
    text = alternating(heads, (100, 110), (1000, 900))
    error = refused_text(text, metric=name, **RANDOM)
    assert f'"{first}"' in error.primary
    assert f'--metric "{second}"' in str(error.hint)
    for column in (first, second):
        assert judged_text(text, metric=column, **RANDOM).comparison.metric.column == column


@pytest.mark.parametrize("unit", ["", " ms", " req/s"])
@pytest.mark.parametrize("heads", ["run1,run2,run3", "try 1,try 2,try 3", "1,2,3"])
def test_repetitions_in_columns_are_not_left_out_for_the_first(heads: str, unit: str) -> None:
    rows = "".join(
        f"{arm},1{n}{unit},1{n}{unit},2{n}{unit}\n" for arm in ("a", "b") for n in (1, 2)
    )
    error = refused_text(f"arm,{heads}\n{rows}")
    assert "could be what was measured" in error.primary
    assert "Repetitions are a row each" in str(error.hint)


def test_of_unknown_columns_the_first_is_judged_where_it_alone_has_a_unit() -> None:
    rows = "".join(f"a,{n}.5 ms,1{n}\nb,{n}.6 ms,1{n}\n" for n in range(1, 9))
    assert judged_text(f"arm,foo,bar\n{rows}").comparison.metric.unit == "ms"
    swapped = "".join(f"a,1{n},{n}.5 ms\nb,1{n},{n}.6 ms\n" for n in range(1, 9))
    assert "could be what" in refused_text(f"arm,bar,foo\n{swapped}").primary


@pytest.mark.parametrize(
    ("heads", "unit", "column"),
    [
        ("duration_s,latency", "s", "latency"),
        ("latency,duration_s", "s", "latency"),
        ("median_ms,latency", "ms", "latency"),
        ("p99_ms,latency", "ms", "latency"),
        ("load_ms,latency", "ms", "latency"),
        ("p99_ms,result", "ms", "result"),
        ("latency,query_latency_ms", "ms", "query_latency_ms"),
        ("foo,bar_ms", "ms", "bar_ms"),
        ("p99_ms,tps", "ms", "p99_ms"),
    ],
)
def test_a_unit_takes_the_surest_column_and_of_those_as_sure_one_that_has_it(
    heads: str, unit: str, column: str
) -> None:
    judgement = judged_text(alternating(heads, (60, 60), (8, 9)), unit=unit, **RANDOM)
    assert judgement.comparison.metric.column == column


def test_a_unit_does_not_settle_between_columns_that_contradict_each_other() -> None:
    opposed = alternating("read_latency_ms,write_latency_ms", (8, 9), (9, 8))
    assert "say the opposite of on" in refused_text(opposed, unit="ms", **RANDOM).primary
    error = refused_text(alternating("foo,p99_ms", (8, 9), (9, 8)), unit="ms", **RANDOM)
    assert '"foo" or "p99_ms" could be what was measured' in error.primary
    assert '--metric "p99_ms"' in str(error.hint)
