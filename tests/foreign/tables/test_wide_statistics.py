"""Of several statistics an arm, a column each, the mean is judged, wherever it stands."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.judged_files import RANDOM, judged_text, percent, refused_text, verdict
from foreign.reading import sheet_of

LEVELS = {
    "min": (5.0, 5.5),
    "max": (30.0, 30.1),
    "avg": (10.0, 8.0),
    "mean": (10.0, 8.0),
    "p99": (25.0, 27.5),
    "median": (9.0, 9.0),
    "stddev": (1.0, 1.3),
}
"""Of off and on: the mean is a fifth lower, all else is higher or the same."""
LAYOUTS = [
    *("{arm} {word} (ms)", "{word} {arm} [ms]", "{arm}_{word}_ms", "{arm}_{word}", "{word}_{arm}"),
    *("{arm} {word} latency (ms)", "{arm}-{word}", "{word} of {arm} (ms)"),
]
ARMS = [("off", "on"), ("heap", "zheap"), ("master", "patched")]


def table(layout: str, arms: tuple[str, str], words: list[str], by_arm: bool = True) -> str:
    pairs = [(n, word) for n in (0, 1) for word in words]
    pairs = pairs if by_arm else sorted(pairs, key=lambda pair: words.index(pair[1]))
    heads = [layout.format(arm=arms[n], word=word) for n, word in pairs]
    rows = (
        ",".join(f"{LEVELS[w][n] * (1 + ((k + n) * 37 % 101) / 9000):.5f}" for n, w in pairs)
        for k in range(12)
    )
    return "\n".join([",".join(heads), *rows]) + "\n"


@pytest.mark.long
@given(
    st.sampled_from(LAYOUTS),
    st.sampled_from(ARMS),
    st.sampled_from(["avg", "mean"]),
    st.lists(st.sampled_from(["min", "max", "p99", "median", "stddev"]), min_size=1, unique=True),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=80)
def test_the_mean_is_judged_wherever_it_stands(
    layout: str,
    arms: tuple[str, str],
    mean: str,
    others: list[str],
    by_arm: bool,
    order: random.Random,
) -> None:
    words = [mean, *others]
    order.shuffle(words)
    text = table(layout, arms, words, by_arm)
    judgement = judged_text(text, unit="ms", **RANDOM)
    assert [arm.arm for arm in judgement.comparison.arms] == list(arms)
    assert percent(judgement) == pytest.approx(-20, abs=0.5)
    assert verdict(judgement) == "faster"
    names = [metric.name for metric, _ in sheet_of(text).metrics]
    assert len(set(names)) == len(names)
    for word in others:
        (metric,) = [m.column for m, _ in sheet_of(text).metrics if word in m.column.split(" ")]
        asked = judged_text(text, metric=metric, unit="ms", higher_is_better=False, **RANDOM)
        off, on = LEVELS[word]
        assert percent(asked) == pytest.approx(100 * (on / off - 1), abs=1)


@pytest.mark.parametrize("words", [["min", "max"], ["max", "stddev"], ["stddev", "min"]])
@pytest.mark.parametrize("layout", ["{arm} {word} (ms)", "{arm}_{word}"])
def test_extremes_and_spreads_alone_are_asked_about(layout: str, words: list[str]) -> None:
    error = refused_text(table(layout, ("off", "on"), words), **RANDOM)
    assert "no number that surely is a rate or a time" in error.primary
    assert f'"{words[0]}"' in error.primary
    assert f"--metric {error.primary.split(': ')[1].split(',')[0]}" in str(error.hint)


def test_the_metric_that_is_judged_is_named_and_so_are_the_others() -> None:
    judgement = judged_text(table("{arm} {word} (ms)", ("off", "on"), ["min", "avg", "max"]))
    assert judgement.reading is not None
    assert "judged: avg (time) in ms, lower is better" in judgement.reading.lines[0]
    assert judgement.reading.others == ("min", "max")


@pytest.mark.parametrize("heads", ["offMin,offAvg,onMin,onAvg", "min.off,avg.off,min.on,avg.on"])
def test_words_that_are_written_together_name_no_arm(heads: str) -> None:
    rows = "".join(f"5.{k}1,10.{k}2,5.{k + 3}3,8.{k}4\n" for k in range(7))
    judgement = judged_text(f"{heads}\n{rows}", unit="ms", **RANDOM)
    assert judgement.reading is not None
    assert judgement.reading.others == ("min",)
    assert percent(judgement) == pytest.approx(-20, abs=1)


def test_a_rate_goes_before_a_latency_and_its_percentiles() -> None:
    heads = "off p99 (ms),off avg (ms),off tps,on p99 (ms),on avg (ms),on tps\n"
    rows = "".join(
        f"{25 + k % 3}.5,{10 + k % 4 / 9:.2f},{900 + k * 7 % 5},"
        f"{26 + k % 3}.5,{11 + k % 4 / 9:.2f},{990 + k * 3 % 5}\n"
        for k in range(12)
    )
    judgement = judged_text(heads + rows, **RANDOM)
    assert (judgement.comparison.metric.name, verdict(judgement)) == ("throughput", "faster")
    timed = judged_text(heads + rows, unit="ms", **RANDOM)
    assert percent(timed) == pytest.approx(10, abs=1)


def test_lists_by_arm_are_read_alike() -> None:
    lists = {
        f"{arm} {word} (ms)": [
            round(LEVELS[word][n] * (1 + (k * 37 % 101) / 9000), 5) for k in range(12)
        ]
        for n, arm in enumerate(("off", "on"))
        for word in ("max", "min", "avg")
    }
    for document in (lists, {"clients": 8, "arms": lists}):
        judgement = judged_text(json.dumps(document), **RANDOM)
        assert percent(judgement) == pytest.approx(-20, abs=0.5)


BOUNDS = [("lo", "hi"), ("low", "high"), ("lower", "upper"), ("lb", "ub"), ("q1", "q3")]
BOUNDS += [("min", "max")]


def bounded(arms: tuple[str, ...], words: tuple[str, str], layout: str, order: list[int]) -> str:
    """A column an arm with its bounds beside it; the arms get faster by a tenth from one to the
    next, and their lower bounds slower."""
    heads, columns = list[str](), list[list[str]]()
    for n, arm in enumerate(arms):
        level = [100 * 1.1**n * (1 + ((k + n) * 37 % 101) / 9000) for k in range(12)]
        bounds = ([v - 10 * (n + 1) for v in level], level, [v + 10 * (n + 1) for v in level])
        names = (layout.format(arm, words[0]), arm, layout.format(arm, words[1]))
        heads += [names[place] for place in order]
        columns += [[f"{value:.3f}" for value in bounds[place]] for place in order]
    return "\n".join([",".join(heads), *map(",".join, zip(*columns, strict=True))]) + "\n"


@pytest.mark.parametrize("words", BOUNDS)
@pytest.mark.parametrize("layout", ["{0}_{1}", "{1}_{0}", "{0} {1}"])
@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
@pytest.mark.parametrize("arms", [("off", "on"), ("heap", "zheap", "columnar")])
def test_an_arm_beside_its_bounds_is_judged(
    words: tuple[str, str], layout: str, order: list[int], arms: tuple[str, ...]
) -> None:
    text = bounded(arms, words, layout, order)
    judgement = judged_text(text, higher_is_better=True, **RANDOM)
    assert [arm.arm for arm in judgement.comparison.arms] == list(arms)
    assert {contrast.verdict.kind.value for contrast in judgement.contrasts} == {"faster"}
    assert judgement.reading is not None
    assert {*judgement.reading.others} == {*words}


def test_of_one_arm_with_its_bounds_the_other_is_asked_for() -> None:
    error = refused_text(bounded(("off",), ("lo", "hi"), "{0}_{1}", [0, 1, 2]), **RANDOM)
    assert "could be an arm" not in error.primary


@pytest.mark.parametrize("row", [0, 5, 11])
def test_what_lies_on_the_wrong_side_is_no_bound_and_asked_about(row: int) -> None:
    lines = bounded(("off", "on"), ("lo", "hi"), "{0}_{1}", [0, 1, 2]).splitlines()
    cells = lines[row + 1].split(",")
    cells[0], cells[1] = cells[1], cells[0]
    lines[row + 1] = ",".join(cells)
    error = refused_text("\n".join(lines) + "\n", higher_is_better=True, **RANDOM)
    assert 'column "off_lo" could be an arm or a statistic' in error.primary


def test_bounds_of_some_arms_alone_are_refused() -> None:
    text = bounded(("off", "on"), ("lo", "hi"), "{0}_{1}", [0, 1, 2])
    without = "\n".join(",".join(line.split(",")[:5]) for line in text.splitlines()) + "\n"
    assert refused_text(without, higher_is_better=True, **RANDOM)


def of_runs(arms: tuple[str, str], work: str, length: str, layout: str, by_arm: bool) -> str:
    """What two arms did in runs of a minute, the second a hundredth less, and their lengths."""
    levels = {work: (10_000, 9_900), length: (60.01, 60.01)}
    pairs = [(n, word) for n in (0, 1) for word in levels]
    pairs = pairs if by_arm else sorted(pairs, key=lambda pair: pair[1] == length)
    heads = [layout.format(arm=arms[n], word=word) for n, word in pairs]
    rows = (
        ",".join(
            f"{levels[word][n] + (((k + n) * 37 % 101) * (1 if word == work else 3e-4)):.6g}"
            for n, word in pairs
        )
        for k in range(10)
    )
    return "\n".join([",".join(heads), *rows]) + "\n"


@pytest.mark.parametrize("layout", ["{arm}_{word}", "{word}_{arm}", "{arm} {word}"])
@pytest.mark.parametrize("by_arm", [True, False])
@pytest.mark.parametrize("work", ["transactions", "queries", "rows", "commits"])
@pytest.mark.parametrize("length", ["duration_s", "seconds", "elapsed_s", "time_ms"])
def test_what_came_of_runs_and_how_long_they_were_are_asked_about(
    work: str, length: str, layout: str, by_arm: bool
) -> None:
    text = of_runs(("off", "on"), work, length, layout, by_arm)
    error = refused_text(text, **RANDOM)
    assert "could be what was measured" in error.primary
    judgement = judged_text(text, metric=work, higher_is_better=True, **RANDOM)
    assert verdict(judgement) == "slower"
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]


@pytest.mark.parametrize("rate", ["tps", "ops", "qps", "ops_per_s"])
@pytest.mark.parametrize("length", ["duration_s", "elapsed_s"])
def test_a_rate_beside_the_length_of_runs_is_judged(rate: str, length: str) -> None:
    text = of_runs(("off", "on"), rate, length, "{arm}_{word}", True)
    judgement = judged_text(text, **RANDOM)
    assert verdict(judgement) == "slower"
    assert judgement.reading is not None
    assert judgement.reading.others == (length.replace("_", " "),)


def test_operations_of_longer_runs_are_asked_about() -> None:
    text = of_runs(("off", "on"), "ops", "duration_s", "{arm}_{word}", True)
    heads, *rows = text.splitlines()
    longer = "\n".join([heads, *(f"{row.rpartition(',')[0]},66.01" for row in rows)]) + "\n"
    assert "is perhaps a count" in refused_text(longer, **RANDOM).primary


def in_columns(heads: str) -> str:
    """Columns that lie a tenth apart from one to the next."""
    names = heads.split(",")
    rows = (
        ",".join(
            f"{100 * 1.1**n * (1 + ((k + n) * 37 % 101) / 9000):.3f}" for n in range(len(names))
        )
        for k in range(12)
    )
    return "\n".join([heads, *rows]) + "\n"


@pytest.mark.parametrize(
    ("heads", "arms", "metrics"),
    [
        (
            "off_read_iops,off_write_iops,on_read_iops,on_write_iops",
            "off,on",
            "read iops,write iops",
        ),
        (
            "read_iops_off,write_iops_off,read_iops_on,write_iops_on",
            "off,on",
            "read iops,write iops",
        ),
        ("off_read_ms,off_update_ms,on_read_ms,on_update_ms", "off,on", "read ms,update ms"),
        ("off read (ms),on read (ms),off scan (ms),on scan (ms)", "off,on", "read,scan"),
        ("pg16_nopm,pg16_tpm,pg17_nopm,pg17_tpm", "pg_16,pg_17", "nopm,tpm"),
        ("off_select_tps,off_tps,on_select_tps,on_tps", "off,on", "select tps,tps"),
    ],
)
def test_works_and_units_of_the_same_arms_are_metrics_and_no_arms(
    heads: str, arms: str, metrics: str
) -> None:
    for order in (heads.split(","), heads.split(",")[::-1]):
        sheet = sheet_of(in_columns(",".join(order)))
        assert {metric.column for metric, _ in sheet.metrics} == {*metrics.split(",")}
        for _, group in sheet.metrics:
            assert sorted(series.arm for series in group) == sorted(arms.split(","))


def test_what_several_works_say_alike_is_judged_by_the_first_and_else_asked_about() -> None:
    text = in_columns("off_read_iops,on_read_iops,off_write_iops,on_write_iops")
    judgement = judged_text(text, **RANDOM)
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]
    assert percent(judgement) == pytest.approx(10, abs=0.5)
    assert judgement.reading is not None
    assert judgement.reading.others == ("write iops",)
    against = in_columns("off_read_iops,on_read_iops,on_write_iops,off_write_iops")
    assert "say the opposite of on" in refused_text(against, **RANDOM).primary


@pytest.mark.parametrize(
    "heads",
    [
        "off_read_iops,off_write_iops,on_read_iops",
        "off_read_ms,off_write_ms,on_ms",
        "off_nopm,off_tpm,on_tpm",
    ],
)
def test_works_that_an_arm_lacks_are_refused(heads: str) -> None:
    assert "are no arms of one comparison" in refused_text(in_columns(heads), **RANDOM).primary


@pytest.mark.parametrize(
    "heads",
    [
        *("off_8_tps,off_16_tps,on_8_tps,on_16_tps", "read_only_tps,read_write_fast_tps"),
        *("cache_tps,without_cache_tps,index_tps,without_index_tps", "off_read_tps,on_write_tps"),
        *("heap_new_tps,heap_tps,zheap_tps", "cache_tps,without_cache_tps"),
    ],
)
def test_words_of_works_may_be_of_the_names_of_arms(heads: str) -> None:
    ((_, arms),) = sheet_of(in_columns(heads)).metrics
    assert [series.arm for series in arms] == heads.split(",")


@pytest.mark.parametrize(
    ("heads", "units"),
    [
        *(("off_ms,on_us", "µs after ms"), ("pg16_tpm,pg17_tps", "transactions/s after TPM")),
        *(("us_off,ms_on", "ms after µs"), ("off_latency_ms,on_latency_s", "s after ms")),
        *(
            ("off_kqps,on_qps", "queries/s after k·queries/s"),
            ("off_s,on_s,third_ms", "ms after s"),
        ),
        ("off_ms,off_tps,on_us,on_tps", "µs after ms"),
        ("off_p95_ms,on_p95_us", "µs after ms"),
    ],
)
@pytest.mark.parametrize("unit", [None, "ms", "tps"])
def test_units_of_headings_that_differ_are_refused_whatever_unit_is_typed(
    heads: str, units: str, unit: str | None
) -> None:
    error = refused_text(in_columns(heads), unit=unit, **RANDOM)
    assert f"mixed units: {units}" in error.primary
    assert "Write all arms in one unit" in str(error.hint)


@pytest.mark.parametrize(
    ("heads", "metrics"),
    [
        *(
            ("off_ms,on_ms", ["ms"]),
            ("off_s,on_sec", ["s"]),
            ("off_tps,on_tps", ["transactions/s"]),
        ),
        *(("off (ms),on (msec)", ["ms"]), ("off_latency_ms,on_latency", [""])),
        ("off_tps,off_ms,on_tps,on_ms", ["transactions/s", "ms"]),
    ],
)
def test_one_unit_may_be_written_in_two_ways_or_once(heads: str, metrics: list[str]) -> None:
    assert [metric.unit for metric, _ in sheet_of(in_columns(heads)).metrics] == metrics
