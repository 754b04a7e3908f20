"""A column called "time" is judged where it was measured, orders rows where it tells when, and is
asked about where it could be either."""

from __future__ import annotations

import pytest

from foreign.reading import arms_of, only, refusal, sheet_of
from steelyard.foreign.metric import TIME
from steelyard.foreign.series import Grain, Order, Rows, Sheet
from steelyard.model.errors import NumbersError

ROWS = [("off", 1, 100), ("on", 1, 110), ("off", 2, 101), ("on", 2, 111), ("off", 3, 99)]
ROWS += [("on", 3, 109)]


def listed(heading: str, last: str = "{time}") -> str:
    """A table in long form; `last`: what stands behind arm and repetition."""
    rows = (f"{arm},{rep},{last.format(time=time, rep=rep)}\n" for arm, rep, time in ROWS)
    return heading + "\n" + "".join(rows)


def names_of(sheet: Sheet) -> list[str]:
    return [metric.name for metric, _ in sheet.metrics]


@pytest.mark.parametrize("counter", ["rep", "run", "iteration", "trial"])
def test_the_time_of_repetitions_is_judged_and_their_counter_pairs_them(counter: str) -> None:
    sheet = sheet_of(listed(f"arm,{counter},time"))
    assert names_of(sheet) == [TIME]
    assert arms_of(sheet) == {"off": [100, 101, 99], "on": [110, 111, 109]}
    assert sheet.rows is Rows.BLOCKS


def test_a_counter_from_zero_is_no_number_to_be_judged() -> None:
    text = "config,run,time\noff,0,100\non,0,110\noff,1,101\non,1,111\n"
    assert arms_of(sheet_of(text)) == {"off": [100, 101], "on": [110, 111]}


def test_the_time_alone_is_judged_in_tables_records_and_files_of_one_arm() -> None:
    expected = {"off": [100, 101], "on": [110]}
    assert arms_of(sheet_of("arm,time\noff,100\non,110\noff,101\n")) == expected
    records = '[{"arm":"off","time":100},{"arm":"on","time":110},{"arm":"off","time":101}]'
    assert arms_of(sheet_of(records)) == expected
    assert only(sheet_of("run,time\n1,9.5\n2,9.7\n")).values.tolist() == [9.5, 9.7]
    assert only(sheet_of("time\n9.5\n9.7\n")).values.tolist() == [9.5, 9.7]


@pytest.mark.parametrize("other", ["rows", "size", "score", "tps", "value"])
def test_a_time_beside_other_numbers_is_asked_about_unless_it_surely_is_a_moment(
    other: str,
) -> None:
    text = f"arm,{other},time\noff,10,100.5\non,11,98.2\noff,12,101.1\non,13,97\n"
    said = refusal(text)
    assert said.startswith(f'"f.txt" line 2, column 8: column "time" beside "{other}" could hold')
    assert arms_of(sheet_of(text, value="time"))["off"] == [100.5, 101.1]
    assert arms_of(sheet_of(text, order="time")) == {"off": [10, 12], "on": [13, 11]}
    assert arms_of(sheet_of(text, value=other)) == {"off": [10, 12], "on": [11, 13]}


def test_sizes_that_grow_with_their_times_are_not_judged_in_their_place() -> None:
    text = "arm,size,time\noff,10,1.0\non,10,1.1\noff,20,2.0\non,20,2.2\noff,30,3\non,30,3.3\n"
    assert 'column "time" beside "size" could hold' in refusal(text)
    assert 'column "time" beside "size"' in refusal("size,time\n1,10\n2,20\n3,30\n")


@pytest.mark.parametrize(
    ("column", "timestamps"),
    [
        ("time", ("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04")),
        ("time", ("1700000000", "1700000060", "1700000120", "1700000180")),
        ("time", ("1700000180000", "1700000000000", "1700000240000", "1700000300000")),
        ("time", ("0.0", "1.5", "2.9", "4.4")),
        ("time", ("3", "1", "4", "2")),
        ("timestamp", ("8", "5", "7", "9")),
    ],
)
def test_moments_order_the_rows_and_are_no_metric(column: str, timestamps: tuple[str, ...]) -> None:
    arms = ("off", "on", "off", "on")
    rows = "".join(f"{at},{arm},10\n" for at, arm in zip(timestamps, arms, strict=True))
    sheet = sheet_of(f"{column},arm,tps\n{rows}")
    assert names_of(sheet) == ["throughput"]
    assert sheet.order is not Order.UNKNOWN


def test_a_column_with_units_took_as_long() -> None:
    text = "arm,rows,time\noff,10,9.5 s\non,11,9.9 s\n"
    assert arms_of(sheet_of(text)) == {"off": [9.5], "on": [9.9]}


@pytest.mark.parametrize(
    "heading", ["arm,time,timestamp", "arm,start,end", "arm,clients,threads", "arm,rep,run"]
)
def test_moments_and_counters_alone_are_never_judged(heading: str) -> None:
    text = heading + "".join(
        f"\n{arm},{170000000 + n},17{n}0000000" for n, arm in enumerate("abab")
    )
    if heading == "arm,time,timestamp":
        assert names_of(sheet_of(text)) == [TIME]
        return
    with pytest.raises(NumbersError, match="no column holds numbers that were measured") as refused:
        sheet_of(text)
    assert "--column value=NAME" in str(refused.value.hint)


def test_a_table_of_arms_beside_each_other_keeps_its_moments_out() -> None:
    text = "time,off,on\n0,98,100\n60,100,101\n120,102,100\n"
    assert arms_of(sheet_of(text)) == {"off": [98, 100, 102], "on": [100, 101, 100]}


@pytest.mark.parametrize(
    ("heading", "scale"),
    [
        ("time_ms", 1e3), ("time (us)", 1e6), ("epoch_us", 1e6), ("epoch_ns", 1e9),
        ("unix_ms", 1e3), ("t_ns", 1e9), ("unix", 1), ("ts_unix", 1e3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("measured", ["score", "value", "tps", "tps,p95_ms"])
def test_numbers_since_1970_are_moments_and_no_times_that_work_took(
    heading: str, scale: float, measured: str
) -> None:
    arms = zip("aabb", (0, 120, 60, 180), strict=True)
    rows = [
        f"{arm},{round(scale * (1_764_311_229 + at))}" + f",{100 + at}" * len(measured.split(","))
        for arm, at in arms
    ]
    sheet = sheet_of("\n".join([f"arm,{heading},{measured}", *rows]) + "\n")
    assert {metric.column for metric, _ in sheet.metrics} == set(measured.split(","))
    assert sheet.order is Order.ALTERNATING


STARTS = [
    ("started,second", "2026-11-20T10:{run:02d}:00,{n}"),
    ("date,second", "2026-11-{run:02d},{n}"),
    ("date,time", "2026-11-{run:02d},{n}"),
    ("started_at,elapsed_s", "2026-11-20 10:{run:02d}:00,{n}"),
    ("order,t_ms", "{run},{n}000"),
    ("_start,_time", "2026-11-20T10:{run:02d}:00Z,2026-11-20T10:{run:02d}:{n:02d}Z"),
    ("run_start,timestamp", "{epoch},{epoch}{n:02d}"),
]
"""Headings of the start of a run and of its clock, and their cells."""


@pytest.mark.parametrize(("heading", "cells"), STARTS)
@pytest.mark.parametrize("runs", [1, 4])
def test_starts_of_runs_number_them_and_hide_no_clock(heading: str, cells: str, runs: int) -> None:
    def rows(before: str, first: int) -> str:
        return "".join(
            f"{before}{cells.format(run=run, n=n, epoch=17000000 + run)},{1000 + run}.{n % 3}\n"
            for run in range(first, first + runs)
            for n in range(1, 21)
        )

    alone = sheet_of(f"arm,{heading},tps\n{rows('off,', 1)}{rows('on,', 1 + runs)}")
    files = only(sheet_of(f"{heading},tps\n{rows('', 1)}"))
    for series in (files, *alone.metrics[0][1]):
        assert series.grain is (Grain.SLICE if runs == 1 else Grain.REPETITION), heading
        assert len(series.values) == (20 if runs == 1 else 4)
    assert names_of(alone) == ["throughput"]
    assert alone.order is not Order.ALTERNATING or heading == "run_start,timestamp"


def test_rows_of_one_start_without_a_clock_at_equal_steps_stay_repetitions() -> None:
    def rows(form: str) -> str:
        return "".join(
            form.format(arm=arm, day=day, n=n, s=n * n) + f",{90 + n * 13 % 7}.5\n"
            for day, arm in enumerate(("off", "on"))
            for n in range(8)
        )

    queries = rows("{arm},2026-11-2{day},q{n},2026-11-20T10:{s:02d}:{n:02d}")
    amounts = rows("{arm},2026-11-2{day},{s}3")
    for text in (f"arm,started,query,timestamp,ms\n{queries}", f"arm,started,rows,ms\n{amounts}"):
        sheet = sheet_of(text)
        assert {series.grain for series in sheet.metrics[0][1]} == {Grain.REPETITION}
        assert {len(series.values) for series in sheet.metrics[0][1]} == {8}


@pytest.mark.parametrize("heading", ["time", "timestamp"])
@pytest.mark.parametrize(
    ("offset", "rows", "grain"),
    [(6.365, 60, Grain.SLICE), (6.365, 12, Grain.REPETITION), (7.5, 60, Grain.REPETITION)],
)
def test_arms_watched_side_by_side_took_no_turns_as_those_of_a_schedule_did(
    heading: str, offset: float, rows: int, grain: Grain
) -> None:
    lines = "".join(
        f"{1_763_632_803.117 + 15 * n + late:.3f},{arm},{1000 + 7 * n % 11}.25\n"
        for n in range(rows)
        for arm, late in (("pg16", 0.0), ("pg17", offset))
    )
    sheet = sheet_of(f"{heading},instance,tps\n{lines}")
    assert {series.grain for series in sheet.metrics[0][1]} == {grain}


@pytest.mark.parametrize("minutes", [15, 30, 60])
def test_reports_of_a_monitor_are_asked_about_where_a_schedule_may_have_begun_runs(
    minutes: int,
) -> None:
    def rows(step: float, count: int = 24) -> str:
        return "timestamp,tps\n" + "".join(
            f"{1_763_632_800 + step * n:.0f},{1000 + 7 * n % 11}.25\n" for n in range(count)
        )

    text = rows(60 * minutes)
    assert f"is a clock of exactly {minutes} minutes" in refusal(text)
    numbered = "run," + "".join(f"{n},{line}" for n, line in enumerate(text.splitlines(True)))[2:]
    for sheet in (
        sheet_of(text, order="timestamp"),
        sheet_of(numbered),
        sheet_of(rows(60 * minutes, 12)),
        sheet_of(rows(60 * minutes + 1)),
    ):
        assert only(sheet).grain is Grain.REPETITION
