"""Seconds of one run are slices of it in any table; runs that a column numbers are repetitions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import numpy as np
import pytest

from foreign.judged_files import doubts, judged, judged_text, percent, refused_text, verdict
from steelyard.foreign.series import Grain

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["x=ep_x.csv", "y=ep_y.csv"], 1.45),
        (["x=ep_x.prog", "y=ep_y.prog"], 1.45),
        (["ep_long.csv"], 1.21),
        (["ep_long_noTS.csv"], 1.21),
        (["x=fa_a.csv", "y=fa_b.csv"], -1.3),
    ],
)
def test_seconds_of_one_run_carry_no_verdict_whatever_their_format(
    files: list[str], expected: float
) -> None:
    judgement = judged(*files)
    assert percent(judgement) == pytest.approx(expected, abs=0.01)
    assert verdict(judgement) == "inconclusive"
    assert "one run per arm" in doubts(judgement)
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)


def series(heading: str, start: float, step: float, rows: int = 30) -> str:
    values = RNG.normal(1000, 10, rows)
    lines = (f"{start + step * n:.12g},{value:.2f}\n" for n, value in enumerate(values))
    return f"{heading},tps\n" + "".join(lines)


@pytest.mark.parametrize(
    "heading", ["time", "second", "timestamp", "ts", "t", "elapsed", "tick", "Time (s)"]
)
@pytest.mark.parametrize(("start", "step"), [(1, 1), (0, 5), (1_700_000_000, 1), (1.7e12, 1000)])
def test_any_clock_at_equal_steps_makes_slices(heading: str, start: float, step: float) -> None:
    judgement = judged_text(series(heading, start, step), series(heading, start, step))
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms), heading
    assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize("heading", ["timestamp", "x", "Zeitpunkt", "clock"])
@pytest.mark.parametrize("start", [0, 43_190, 86_390])
@pytest.mark.parametrize("form", ["{h:02d}:{m:02d}:{s:02d}", "{h}:{m:02d}:{s:02d}.25"])
def test_times_of_day_are_a_clock_too_over_midnight_as_well(
    heading: str, start: int, form: str
) -> None:
    lines = [f"{heading},tps\n"]
    for second in range(start, start + 30):
        minutes, s = divmod(second % 86_400, 60)
        h, m = divmod(minutes, 60)
        lines.append(f"{form.format(h=h, m=m, s=s)},{RNG.normal(1000, 10):.2f}\n")
    judgement = judged_text("".join(lines), "".join(lines).replace(".", ".1"))
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms), heading
    assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize("heading", ["timestamp", "x", "Zeitpunkt"])
@pytest.mark.parametrize("form", ["2026-11-27T10:00:{:02d}Z", "2026-11-27 23:11:{:02d}.5"])
def test_dates_are_a_clock_whatever_their_heading(heading: str, form: str) -> None:
    lines = [f"{form.format(n)},{RNG.normal(1000, 10):.2f}\n" for n in range(30)]
    text = f"{heading},tps\n" + "".join(lines)
    judgement = judged_text(text, text.replace(",9", ",1"))
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)
    assert "one run per arm" in doubts(judgement)


LAYOUTS = [
    *("21.11.2026 14:03:{:02d}", "11/21/2026 14:03:{:02d}", "11/21/2026 02:03:{:02d} PM"),
    *("Nov 21 14:03:{:02d}", "21/Nov/2026:14:03:{:02d} +0000", "Sat Nov 21 14:03:{:02d} UTC 2026"),
    *("2026-11-21 14:03:{:02d}.000 UTC", "2026-11-21 14:03:{:02d}", "21.11.2026;14:03:{:02d}"),
    *("2026-11-21;14:03:{:02d}", "11/21/2026;2:03:{:02d} PM"),
]
"""Of the seconds of one minute, some in two columns."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("heading", ["Zeitpunkt", "timestamp", "sample_time", "time", "when", "x"])
@pytest.mark.parametrize("jitter", [False, True])
def test_seconds_are_slices_whatever_their_layout_and_heading(
    layout: str, heading: str, jitter: bool
) -> None:
    heading = {"Zeitpunkt": "Datum;Uhrzeit"}.get(heading, "date;time") if ";" in layout else heading
    seconds = [n + (n // 3 if jitter else 0) for n in range(24)]
    rows = "".join(f"{layout.format(n)};{RNG.normal(1000, 10):.2f}\n" for n in seconds)
    judgement = judged_text(f"{heading};tps\n{rows}", f"{heading};tps\n{rows[:-3]}1\n")
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.SLICE}
    assert judgement.comparison.metric.column == "tps"
    assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize("heading", ["Tag", "date", "measured_at"])
@pytest.mark.parametrize("layout", ["{:02d}.11.2026", "{:02d}.11.2026;02:00:00", "2026-11-{:02d}"])
def test_nights_of_any_layout_are_runs_of_their_own(heading: str, layout: str) -> None:
    heading = f"{heading};time" if ";" in layout else heading
    rows = "".join(f"{layout.format(n)};{RNG.normal(1000, 10):.2f}\n" for n in range(1, 20))
    judgement = judged_text(f"{heading};tps\n{rows}", f"{heading};tps\n{rows[:-3]}1\n")
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.REPETITION}
    assert [len(arm.values) for arm in judgement.comparison.arms] == [19, 19]


@pytest.mark.parametrize(
    ("heading", "scale"), [("timestamp", 1.0), ("ts_ms", 1e3), ("clock", 1.0), ("epoch_ms", 1e3)]
)
@pytest.mark.parametrize("start", [0.0, 1_764_311_229.0])
@pytest.mark.parametrize(("step", "grain"), [(1, Grain.SLICE), (60, Grain.REPETITION)])
def test_a_clock_that_wakes_late_makes_slices_where_its_steps_are_short(
    heading: str, scale: float, start: float, step: float, grain: Grain
) -> None:
    moments = start + np.cumsum(step * RNG.uniform(1, 1.2, 40))
    rows = [f"{scale * at:.3f},{RNG.normal(1000, 10):.2f}\n" for at in moments]
    text = f"{heading},tps\n" + "".join(rows)
    judgement = judged_text(text, text.replace(",9", ",1"))
    assert {arm.grain for arm in judgement.comparison.arms} == {grain}


def test_short_steps_of_arms_in_turn_and_of_starts_are_runs() -> None:
    moments = np.cumsum(RNG.uniform(4, 6, 40))
    rows = [f"{at:.2f},{'ab'[n % 2]},{1000 + 7 * n % 11}.25\n" for n, at in enumerate(moments)]
    in_turn = judged_text("timestamp,arm,tps\n" + "".join(rows))
    apart = sorted(rows, key=lambda row: row.split(",")[1])
    ordered = [f"{at:.2f},{row.split(',', 1)[1]}" for at, row in zip(moments, apart, strict=True)]
    one_stretch = judged_text("timestamp,arm,tps\n" + "".join(ordered))
    starts = judged_text("started,arm,tps\n" + "".join(ordered))
    grains = [
        {arm.grain for arm in judgement.comparison.arms}
        for judgement in (in_turn, one_stretch, starts)
    ]
    assert grains == [{Grain.REPETITION}, {Grain.SLICE}, {Grain.REPETITION}]


def test_a_date_that_could_name_day_or_month_first_is_asked_about_where_it_matters() -> None:
    rows = "".join(f"0{n % 3 + 1}/{n + 1:02d}/2026,{1000 + n}.5\n" for n in range(9))
    assert "could name the day or the month first" in refused_text(f"date,tps\n{rows}").primary


@pytest.mark.parametrize("heading", ["run", "rep", "iteration", "#", "trial", "started"])
def test_counters_and_starts_of_runs_make_repetitions(heading: str) -> None:
    judgement = judged_text(series(heading, 1, 1), series(heading, 1, 1))
    assert all(arm.grain is Grain.REPETITION for arm in judgement.comparison.arms), heading


@pytest.mark.parametrize("heading", ["hour", "elapsed", "elapsed_s", "time_s", "Zeit (s)", "ms"])
@pytest.mark.parametrize("arms", ["off,on", "A,B,C", "pg17,pg18"])
def test_times_before_columns_of_arms_are_a_clock_or_are_asked_about(
    heading: str, arms: str
) -> None:
    def table(moments: Iterable[float]) -> str:
        count = arms.count(",") + 1
        rows = ([moment, *RNG.normal(1000, 10, count)] for moment in moments)
        return f"{heading},{arms}\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)

    judgement = judged_text(table(range(10, 130, 10)), unit="tps")
    assert [arm.arm for arm in judgement.comparison.arms] == arms.split(",")
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)
    uneven = table(np.cumsum(RNG.uniform(1, 90, 12)))
    hint = refused_text(uneven, unit="tps").hint
    assert f"--column {shlex.quote(f'order={heading}')}" in str(hint)
    answered = judged_text(uneven, columns={"order": heading}, unit="tps")
    assert [arm.arm for arm in answered.comparison.arms] == arms.split(",")


def test_nights_are_runs_of_their_own() -> None:
    day = 86_400
    judgement = judged_text(series("timestamp", 1.7e9, day), series("timestamp", 1.7e9, day))
    assert all(arm.grain is Grain.REPETITION for arm in judgement.comparison.arms)


def test_a_missing_second_is_no_end_of_a_run() -> None:
    text = series("second", 1, 1)
    lines = text.splitlines(keepends=True)
    del lines[7], lines[15]
    judgement = judged_text("".join(lines), series("second", 1, 1))
    assert judgement.comparison.arms[0].grain is Grain.SLICE


def test_arms_that_took_turns_between_the_ticks_were_measured_so_often() -> None:
    rows = "".join(
        f"{1_700_000_000 + 60 * n},{'ab'[n % 2]},{1000 + 7 * n % 11}.25\n" for n in range(24)
    )
    judgement = judged_text(f"timestamp,arm,tps\n{rows}")
    assert all(arm.grain is Grain.REPETITION for arm in judgement.comparison.arms)


def test_seconds_of_runs_that_a_column_numbers_are_taken_together() -> None:
    rows = "".join(
        f"{arm},{run},{second},{1000 + 10 * run + second % 3 + 5 * (arm == 'b')}.5\n"
        for run in range(1, 9)
        for arm in "ab"
        for second in range(1, 11)
    )
    judgement = judged_text(f"arm,run,second,tps\n{rows}")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [8, 8]
    assert all(arm.grain is Grain.REPETITION for arm in judgement.comparison.arms)
    assert percent(judgement) == pytest.approx(0.476, abs=0.01)


def test_a_table_of_seconds_beside_each_other_is_a_series_too() -> None:
    rows = "".join(f"{n},{1000 + 7 * n % 11}.5,{1010 + 5 * n % 7}.5\n" for n in range(20))
    judgement = judged_text(f"second,off,on\n{rows}", unit="tps")
    assert verdict(judgement) == "inconclusive"
    assert "one run per arm" in doubts(judgement)


def test_a_time_that_could_be_either_is_still_asked_about() -> None:
    text = "arm,foo,time\n" + "".join(
        f"{'ab'[n % 2]},{n * 7 % 5 + 1},{9 + n % 3}.5\n" for n in range(8)
    )
    assert 'column "time" beside "foo"' in refused_text(text).primary


@pytest.mark.parametrize(
    "heading", ["elapsed", "elapsed_s", "sec", "t", "t (s)", "runtime", "second"]
)
@pytest.mark.parametrize("step", [1, 10])
def test_a_clock_that_begins_anew_counts_seconds_of_runs(heading: str, step: int) -> None:
    def runs(before: str, level: float) -> str:
        return "".join(
            f"{before.format(run)}{step * second},{level + run + RNG.normal(0, 9):.2f}\n"
            for run in range(3)
            for second in range(1, 13)
        )

    files = [f"{heading},tps\n" + runs("", level) for level in (1000, 1100)]
    alone = f"arm,{heading},tps\n" + runs("off,", 1000) + runs("on,", 1100)
    for judgement in (judged_text(*files), judged_text(alone)):
        assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)
        assert verdict(judgement) == "inconclusive"
        assert "one run per arm" in doubts(judgement)
    numbered = runs("off,{0},", 1000) + runs("on,{0},", 1100)
    judgement = judged_text(f"arm,run,{heading},tps\n{numbered}")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [3, 3]


@pytest.mark.parametrize("heading", ["t", "T", "elapsed"])
def test_seconds_behind_the_arm_are_a_clock_too(heading: str) -> None:
    rows = "".join(
        f"{arm},{n},{level + RNG.normal(0, 9):.2f}\n"
        for arm, level in (("off", 1000), ("on", 1100))
        for n in range(1, 21)
    )
    judgement = judged_text(f"arm,{heading},tps\n{rows}")
    assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)
    assert verdict(judgement) == "inconclusive"


def test_durations_that_rise_and_fall_are_no_clock() -> None:
    rows = "".join(
        f"{'ab'[n % 2]},{(1, 2, 4, 3)[n % 4]}.5,{1000 + 7 * n % 11}.5\n" for n in range(24)
    )
    judgement = judged_text(f"arm,elapsed,tps\n{rows}")
    assert all(arm.grain is Grain.REPETITION for arm in judgement.comparison.arms)


@pytest.mark.parametrize("scale", [1, 1_000, 1_000_000])
@pytest.mark.parametrize("heads", ["epoch,tps", "tps,utime", "day,tps"])
def test_seconds_since_1970_are_a_clock_under_any_heading(scale: int, heads: str) -> None:
    def seconds(before: str, level: float, start: int) -> str:
        rows = [(scale * (start + n), level + RNG.normal(0, 9)) for n in range(20)]
        behind = heads.startswith("tps")
        return "".join(
            f"{before}{value:.2f},{at}\n" if behind else f"{before}{at},{value:.2f}\n"
            for at, value in rows
        )

    start = 1_764_311_229
    files = [f"{heads}\n" + seconds("", level, start) for level in (1000, 1100)]
    alone = f"arm,{heads}\n" + seconds("off,", 1000, start) + seconds("on,", 1100, start + 90)
    for judgement in (judged_text(*files), judged_text(alone)):
        assert judgement.comparison.metric.column == "tps"
        assert all(arm.grain is Grain.SLICE for arm in judgement.comparison.arms)
        assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize("rows", [3, 12])
def test_large_numbers_of_arms_are_no_clocks(rows: int) -> None:
    text = "".join(f"{1_200_000_000 + 1000 * n},{1_300_000_000 + 900 * n}\n" for n in range(rows))
    judgement = judged_text(f"off,on\n{text}", unit="ns")
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]


def test_epochs_that_are_numbered_are_blocks() -> None:
    rows = "".join(
        f"{n},off,{1000 + 7 * n % 11}.5\n{n},on,{1010 + 5 * n % 11}.5\n" for n in range(9)
    )
    judgement = judged_text(f"epoch,arm,tps\n{rows}")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [9, 9]
    assert judgement.comparison.row_names[:2] == ("0", "1")


NUMBERS = [("id", 1, False), ("#", 0, False), ("", 0, False), ("row", 1, False), ("run", 1, True)]
NUMBERS += [("rep", 1, True), ("block", 1, True), ("round", 1, True)]


@pytest.mark.parametrize(("number", "first", "runs"), NUMBERS)
@pytest.mark.parametrize(("step", "slices"), [(1, True), (60, False)])
@pytest.mark.parametrize("clock", ["{at}", "2026-11-20 {h:02d}:{m:02d}:{s:02d}"])
def test_a_number_of_each_row_beside_a_clock_tells_no_runs_apart(
    number: str, first: int, runs: bool, step: int, slices: bool, clock: str
) -> None:
    def rows(before: str, level: float) -> str:
        lines = []
        for n in range(30):
            at = step * n
            moment = clock.format(at=at, h=at // 3600, m=at // 60 % 60, s=at % 60)
            lines.append(f"{before}{first + n},{moment},{level + RNG.normal(0, 9):.2f}\n")
        return "".join(lines)

    expected = {Grain.SLICE if slices or not runs else Grain.REPETITION}
    heading = f"{number},timestamp,tps\n"
    files = judged_text(heading + rows("", 1000), heading + rows("", 1100))
    assert {arm.grain for arm in files.comparison.arms} == expected
    assert [len(arm.values) for arm in files.comparison.arms] == [30, 30]
    alone = f"arm,{number or 'index'},timestamp,tps\n" + rows("off,", 1000) + rows("on,", 1100)
    assert {arm.grain for arm in judged_text(alone).comparison.arms} == expected


@pytest.mark.parametrize("numbers", ["id,run", "run", "block", "id,round"])
def test_seconds_are_of_the_runs_that_a_column_numbers_beside_one_of_the_rows(numbers: str) -> None:
    def rows(form: str, runs: int) -> str:
        cells = ((n, n // 10 + 1, n % 10) for n in range(10 * runs))
        return "".join(
            form.format(f"{n},{run}" if "id" in numbers else run, second, 1000 + run + second)
            for n, run, second in cells
        )

    heading = f"{numbers},second,tps\n"
    files = judged_text(heading + rows("{},{},{}.5\n", 4), heading + rows("{},{},{}.25\n", 4))
    assert [len(arm.values) for arm in files.comparison.arms] == [4, 4]
    alone = rows("off,{},{},{}.5\n", 4) + rows("on,{},{},{}.25\n", 4)
    judgement = judged_text(f"arm,{heading}{alone}")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [4, 4]
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.REPETITION}
    beside = judged_text(f"{numbers},second,off,on\n" + rows("{},{},{}.5,1003.25\n", 4), unit="tps")
    assert {arm.grain for arm in beside.comparison.arms} == {Grain.SLICE}
    one_run = judged_text(heading + rows("{},{},{}.5\n", 1), heading + rows("{},{},{}.25\n", 1))
    assert {arm.grain for arm in one_run.comparison.arms} == {Grain.SLICE}


REQUESTS = ["timestamp", "time", "elapsed", "elapsed_ms", "offset", "offset_ms", "offset (s)"]


@pytest.mark.parametrize("heading", [*REQUESTS, "time_epoch"])
def test_requests_with_their_moments_are_slices_under_any_word_for_those(heading: str) -> None:
    def log(before: str, rows: int, step: float) -> str:
        first = 1_764_311_229 if "epoch" in heading else 0
        scale = 1000 if "ms" in heading else 1
        moments = scale * (first + np.cumsum(step * RNG.uniform(0, 2, rows)))
        return "".join(f"{before}{at:.4f},{RNG.normal(8, 1):.3f}\n" for at in moments)

    files = [f"{heading},latency_ms\n" + log("", 200, 0.02) for _ in "ab"]
    judgement = judged_text(*files)
    assert judgement.comparison.metric.column == "latency_ms"
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.SLICE}
    assert verdict(judgement) == "inconclusive"
    apart = [f"{heading},latency_ms\n" + log("", 200, 60) for _ in "ab"]
    judgement = judged_text(*apart)
    assert judgement.comparison.metric.column == "latency_ms"
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.REPETITION}


@pytest.mark.parametrize("heading", ["elapsed_s", "offset"])
def test_times_that_do_not_rise_throughout_or_are_few_tell_no_moment(heading: str) -> None:
    few = f"{heading},latency_ms\n" + "".join(f"{n * n},{9 + n % 3}.5\n" for n in range(1, 9))
    falling = "".join(f"{n * n * 7 % 41 + 1}.5,{9 + n * 17 % 43}.25\n" for n in range(40))
    for text in (few, f"{heading},latency_ms\n{falling}"):
        judgement = judged_text(text, text.replace(".5", ".4").replace(".25", ".3"))
        assert {arm.grain for arm in judgement.comparison.arms} == {Grain.REPETITION}


def test_the_column_that_was_asked_about_may_be_judged_beside_an_epoch() -> None:
    rows = [(n % 8, n // 8, 8000 + RNG.normal(0, 900), n % 3, n // 40) for n in range(400)]
    text = "client_id,transaction_no,time,script_no,time_epoch\n" + "".join(
        f"{client},{number},{us:.0f},{script},{1_763_632_800 + second}\n"
        for client, number, us, script, second in rows
    )
    assert "--column value=time" in str(refused_text(text, text.replace("1,", "2,")).hint)
    judgement = judged_text(text, text.replace(",8", ",9"), columns={"value": "time"})
    assert {arm.grain for arm in judgement.comparison.arms} == {Grain.SLICE}
