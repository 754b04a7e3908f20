"""Headings of one table mean what they mean beside each other."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, judged_text, refused_text
from steelyard.foreign.tables.table_headings import headings_of
from steelyard.foreign.vocabulary.heading import Role


@pytest.mark.parametrize(
    ("names", "statistics"),
    [
        ("tps_lower,tps,tps_upper", ["min", "", "max"]),
        ("lo,mean,hi", ["min", "mean", "max"]),
        ("q1_ms,median_ms,q3_ms", ["p25", "median", "p75"]),
        ("tps,tps_se", ["", "stddev"]),
        ("tps,tps Fehler", ["", "stddev"]),
        ("tps_low,tps_high", ["", ""]),
        ("low,high", ["", ""]),
        ("SE,EE", ["", ""]),
        ("q1,q2,q3", ["", "", ""]),
        ("tps_lower,tps", ["", ""]),
    ],
)
def test_bounds_and_spreads_are_known_by_what_they_stand_beside(
    names: str, statistics: list[str]
) -> None:
    headings = headings_of(tuple(names.split(",")))
    assert [heading.statistic for heading in headings] == statistics
    for heading in headings:
        bound = heading.statistic not in ("", "mean")
        assert (heading.role is Role.STATISTIC) is bound
        assert heading.metric is None or heading.metric.name.count("_") < 2


@pytest.mark.parametrize(
    "name", ["on/off", "off/on", "On / Off", "on : off", "on vs. off", "on - off", "on ÷ off (x)"]
)
def test_what_joins_two_other_headings_is_computed(name: str) -> None:
    assert headings_of(("off", "on (ms)", name))[2].role is Role.DERIVED
    assert "vs" in name or headings_of(("off", "third", name))[2].role is not Role.DERIVED
    lines = "".join(f"{100 + n % 3}.5,{110 + n % 4}.5,1.{n}3\n" for n in range(10))
    judgement = judged_text(f"off,on,{name}\n{lines}", unit="ms", **RANDOM)
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]
    assert name in str(judgement.comparison.notes)


@pytest.mark.parametrize(
    "names", ["total_ms,calls,total_ms/calls", "queries,s,queries/s", "jit,parallel,jit-parallel"]
)
def test_a_mean_a_rate_and_an_arm_of_two_settings_are_not_left_out(names: str) -> None:
    assert headings_of(tuple(names.split(",")))[2].role is not Role.DERIVED


VMSTAT = " r b swpd free buff cache si so bi bo in cs us sy id wa st"


def of_vmstat(level: float, more: str = "") -> str:
    """What vmstat prints, with one line of headings; `more`: another heading."""
    rows = "".join(
        f"{1 + n % 3} 0 1024 {812345 + 7 * n} 20480 9123{n} 0 0 {110 + n} 900 2100{n} 43{n}00 "
        f"{level + n % 7:.0f} 9 {80 - level - n % 7:.0f} 1 0{f' {1000 + n}.5' if more else ''}\n"
        for n in range(10, 40)
    )
    return f"{VMSTAT}{more}\n{rows}"


def test_us_beside_sy_and_id_is_the_time_of_the_processor_in_percent() -> None:
    texts = (of_vmstat(30), of_vmstat(36))
    error = refused_text(*texts)
    assert "holds no number that surely is a rate or a time" in error.primary
    assert "--metric" in str(error.hint)
    asked = judged_text(*texts, metric="us").comparison.metric
    assert (asked.unit, asked.higher_is_better) == ("", False)
    beside = judged_text(of_vmstat(30, " tps"), of_vmstat(36, " tps"))
    assert beside.comparison.metric.column == "tps"


@pytest.mark.parametrize("names", ["us", "id,us", "id,query,us", "sy,us"])
def test_us_without_the_others_is_a_time(names: str) -> None:
    metric = headings_of(tuple(names.split(",")))[-1].metric
    assert metric is not None
    assert metric.unit == "µs"
