"""A sum over more calls in one arm than in the other says nothing of how fast it was; files of arms
are judged by one column, wherever it stands in them and whatever else they hold."""

from __future__ import annotations

import random

import pytest

from foreign.judged_files import RANDOM, judged_text, percent, refused_text, verdict

QUERIES = ("q1", "q2", "q3", "q4", "q5", "q6")
WEIGHTS = (3, 1, 4, 2, 9, 5)


def statements(calls: tuple[int, int], heads: str) -> list[str]:
    """A file an arm as pg_stat_statements has it: every call takes 2 ms."""
    return [
        f"query,calls,{heads}\n"
        + "".join(
            f"{query},{count * weight},{2 * count * weight}.{n},2.00{weight}\n"
            for n, (query, weight) in enumerate(zip(QUERIES, WEIGHTS, strict=True))
        )
        for count in calls
    ]


@pytest.mark.parametrize(
    ("total", "mean"),
    [
        ("total_exec_time", "mean_exec_time"),
        ("total_time_ms", "mean_time_ms"),
        ("cumulative_latency_ms", "avg_latency_ms"),
        ("sum_ms", "ms_per_call"),
        ("Σ ms", "Ø ms"),
        ("total_ms", "median_ms"),
    ],
)
def test_beside_a_mean_a_sum_is_not_judged(total: str, mean: str) -> None:
    judgement = judged_text(*statements((1000, 2000), f"{total},{mean}"), **RANDOM)
    assert judgement.comparison.metric.column == mean
    assert verdict(judgement) != "slower"


def test_a_sum_over_more_calls_is_refused_with_what_to_type() -> None:
    files = statements((1000, 2000), "total_exec_time,mystery")
    error = refused_text(*files, **RANDOM)
    assert 'a sum over "calls", which differ: 3 000 in a, 6 000 in b' in error.primary
    assert '--metric "total_exec_time"' in str(error.hint)
    asked = judged_text(*files, metric="total_exec_time", **RANDOM)
    assert asked.comparison.metric.column == "total_exec_time"


def test_calls_are_compared_query_by_query() -> None:
    first, second = statements((1000, 1000), "total_exec_time,mystery")
    assert judged_text(first, second.replace("q1", "Q1"), **RANDOM)  # q1 is in one file only
    swapped = second.replace("q1,3000", "q1,1000").replace("q2,1000", "q2,3000")
    assert "a sum over" in refused_text(first, swapped, **RANDOM).primary


@pytest.mark.parametrize("count", ["calls", "executions", "count", "transactions", "n_queries"])
def test_a_sum_over_as_many_calls_is_judged(count: str) -> None:
    def text(calls: tuple[int, int]) -> str:
        rows = "".join(
            f"off,{calls[0]},{100 + n % 3}.5\non,{calls[1]},{110 + n % 4}.5\n" for n in range(10)
        )
        return f"arm,{count},total_time_ms\n{rows}"

    assert verdict(judged_text(text((500, 500)), **RANDOM)) == "slower"
    assert f'a sum over "{count}"' in refused_text(text((500, 502)), **RANDOM).primary


def test_a_total_throughput_is_no_sum_of_times() -> None:
    rows = "".join(f"off,5,{100 + n}\non,9,{110 + n}\n" for n in range(8))
    judgement = judged_text(f"arm,transactions,total_tps\n{rows}", **RANDOM)
    assert judgement.comparison.metric.column == "total_tps"


def columns_of(order: tuple[str, ...], **columns: tuple[float, ...]) -> str:
    """A file of one arm: its columns in that order, row by row."""
    rows = zip(*(columns[name] for name in order), strict=True)
    return "".join(",".join(map(str, row)) + "\n" for row in (order, *rows))


FIVES = (5, 5, 5, 5, 5, 5, 5, 5)
SIXES = (5, 6, 5, 6, 6, 5, 5, 6)
TOTALS = (17, 18, 18, 17, 18, 17, 17, 18)
RATES = (100.5, 101.5, 100.2, 101.1, 100.9, 101.7, 100.1, 101.3)


@pytest.mark.parametrize(
    ("off", "on", "expected"),
    [
        (SIXES, FIVES, -8.7),
        (FIVES, SIXES, 9.5),
        (SIXES, SIXES, 0.0),
    ],
)
@pytest.mark.parametrize("heads", [("query_ms", "total_ms"), ("latency_avg_ms", "latency_ms")])
def test_a_column_that_is_constant_in_one_file_is_not_compared_with_another_one(
    heads: tuple[str, str], off: tuple[float, ...], on: tuple[float, ...], expected: float
) -> None:
    texts = [
        columns_of(heads, **{heads[0]: values, heads[1]: TOTALS}) + "\n" * blank
        for blank, values in enumerate((off, on))
    ]
    judgement = judged_text(*texts, **RANDOM)
    assert judgement.comparison.metric.column == heads[0]
    assert percent(judgement) == pytest.approx(expected, abs=0.2)


def test_columns_of_files_may_stand_in_any_order() -> None:
    draw = random.Random(3)
    heads = ("query_ms", "avg_latency_ms", "latency_ms", "exec_ms", "total_ms", "p99_ms", "clients")
    for _ in range(8):
        names = tuple(draw.sample(heads[1:], draw.randint(1, 4))) + heads[:1]
        level = {name: draw.choice((1, 20, 300)) for name in names}
        columns = {n: tuple(level[n] * rate for rate in RATES) for n in names}
        slower = {n: tuple(1.05 * value for value in values) for n, values in columns.items()}
        for order in (names, tuple(draw.sample(names, len(names)))):
            texts = (columns_of(names, **columns), columns_of(order, **slower))
            assert percent(judged_text(*texts, **RANDOM)) == pytest.approx(5.0), (names, order)


def test_a_column_of_another_name_that_is_compared_is_named() -> None:
    texts = [f"{head}\n1.5\n1.6\n1.7\n{n}.8\n" for n, head in enumerate(("exec_ms", "total_ms"))]
    (note,) = judged_text(*texts).comparison.notes
    assert note == 'column "total_ms" of "1" is compared with "exec_ms"'


def by_length(heads: str, off: tuple[float, float], on: tuple[float, float]) -> str:
    """Arms in turns: amounts of off and on that scatter by a percent, whole where they are large,
    beside times that hardly scatter."""
    text = f"arm,{heads}\n"
    for n in range(10):
        for arm, (amount, seconds) in (("off", off), ("on", on)):
            scattered = amount * (1 + (n * 7 % 10 - 4.5) / 400 + n * n / 1e5)
            cell = f"{scattered:.{0 if amount > 500 else 3}f}"
            text += f"{arm},{cell},{seconds * (1 + (n * 3 % 10 - 4.5) / 2e4):.4f}\n"
    return text


HALF_A_MINUTE, A_MINUTE = (300_000, 30.0), (570_000, 60.0)


@pytest.mark.parametrize(
    "heads", ["ops,duration_s", "ops,runtime_s", "ops,duration", "ops,elapsed_s", "ops,wall time"]
)
def test_ops_beside_runs_of_other_lengths_may_be_a_count(heads: str) -> None:
    ops, time = heads.split(",")
    text = by_length(heads, HALF_A_MINUTE, A_MINUTE)
    error = refused_text(text, **RANDOM)
    assert f'"ops" is perhaps a count over "{time}", which differs: 30 in off' in error.primary
    assert f'ops by {time}; or, if ops is one: --metric "ops"' in str(error.hint)
    assert judged_text(text, metric=ops, **RANDOM).comparison.metric.column == "ops"
    assert judged_text(text, unit="ops/s", **RANDOM).comparison.metric.column == "ops"


@pytest.mark.parametrize(
    ("heads", "off", "on"),
    [
        ("ops/s,duration_s", HALF_A_MINUTE, A_MINUTE),
        ("iops,duration_s", HALF_A_MINUTE, A_MINUTE),
        ("ops throughput,duration_s", HALF_A_MINUTE, A_MINUTE),
        ("ops,duration_s", (300_000, 60.0), A_MINUTE),
        ("ops,duration_s", (300.5, 30.0), (310.5, 60.0)),
        ("ops,latency_s", (1000, 7.9), (1100, 7.2)),
        ("ops,avg_ms", (1000, 790), (1100, 720)),
        ("ops,query_ms", (1000, 790), (1100, 720)),
        ("ops,ms", (1000, 7.9), (1100, 7.2)),
    ],
)
def test_a_rate_beside_a_time_that_is_no_length_of_a_run_is_judged(
    heads: str, off: tuple[float, float], on: tuple[float, float]
) -> None:
    judgement = judged_text(by_length(heads, off, on), **RANDOM)
    assert judgement.comparison.metric.column == heads.partition(",")[0]
    assert verdict(judgement) == "faster"


def test_ops_beside_the_time_of_one_and_the_same_work_are_a_rate() -> None:
    rows = "".join(
        f"{arm},{rate},{1e6 / rate:.4f}\n"
        for n in range(8)
        for arm, rate in (("off", 10_000 + 30 * (n % 5)), ("on", 11_000 + 40 * (n % 3)))
    )
    judgement = judged_text(f"arm,ops,time_s\n{rows}", **RANDOM)
    assert (judgement.comparison.metric.column, verdict(judgement)) == ("ops", "faster")


@pytest.mark.parametrize(
    ("heads", "off", "on"),
    [
        ("transactions,duration_s", (60_000, 60.0), (66_000, 60.0)),
        ("transactions,duration_s", (60_000, 60.0), (60_000, 60.0)),
        ("transactions,seconds", (300_000, 60.0), A_MINUTE),
        ("requests,elapsed_s", (60_000, 60.0), (66_000, 60.0)),
        ("queries,wall", (60_000, 60.0), (66_000, 60.0)),
        ("rows_inserted,runtime_s", (60_000, 60.0), (66_000, 60.0)),
    ],
)
def test_the_length_of_runs_is_asked_about_beside_a_count_that_is_not_the_same(
    heads: str, off: tuple[float, float], on: tuple[float, float]
) -> None:
    count, time = heads.split(",")
    text = by_length(heads, off, on)
    rows = [line.split(",") for line in text.splitlines()]
    turned = "".join(f"{arm},{seconds},{amount}\n" for arm, amount, seconds in rows)
    for either in (text, turned):
        error = refused_text(either, **RANDOM)
        assert f'"{time}" or "{count}" could be what was measured' in error.primary
        assert f'--metric "{count}" --higher-is-better' in str(error.hint)
        assert f'--metric "{time}"' in str(error.hint)
    assert judged_text(text, metric=time, **RANDOM).comparison.metric.column == time
    counted = judged_text(text, metric=count, higher_is_better=True, **RANDOM)
    assert counted.comparison.metric.column == count


def test_over_runs_of_other_lengths_the_rate_is_asked_for() -> None:
    error = refused_text(by_length("transactions,duration_s", HALF_A_MINUTE, A_MINUTE), **RANDOM)
    assert "Add a column of the rate, transactions by duration_s" in str(error.hint)
    assert '--metric "duration_s"' in str(error.hint)


@pytest.mark.parametrize(
    ("count", "time"),
    [("rows", "time_s"), ("transactions", "duration_s"), ("transactions", "elapsed_s")],
)
def test_the_time_of_one_and_the_same_work_is_judged(count: str, time: str) -> None:
    rows = "".join(
        f"{arm},{query},{amount},{seconds * (amount + 9 * n + n * n) / 500:.4f}\n"
        for n in range(6)
        for query, amount in (("q1", 500), ("q2", 7003))
        for arm, seconds in (("off", 8.0), ("on", 9.0))
    )
    judgement = judged_text(f"arm,query,{count},{time}\n{rows}", **RANDOM)
    assert (judgement.comparison.metric.column, verdict(judgement)) == (time, "slower")


@pytest.mark.parametrize(
    ("count", "time"),
    [("iterations", "time_ns"), ("samples", "duration_s"), ("requests", "avg_ms")],
)
def test_what_a_harness_repeated_says_nothing_of_the_length_of_runs(count: str, time: str) -> None:
    text = by_length(f"{count},{time}", (60_000, 8.0), (66_000, 9.0))
    assert judged_text(text, **RANDOM).comparison.metric.column == time
