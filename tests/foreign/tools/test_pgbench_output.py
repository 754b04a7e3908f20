"""Real output of pgbench 18.4 is read as what it is."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, doubts, judged, judged_text, percent, verdict
from foreign.judged_files import only as only_contrast
from foreign.reading import GOLDEN, assert_values, golden_sheet, only, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Grain, TransactionCounts


def test_a_summary_is_one_repetition() -> None:
    sheet = golden_sheet("pgbench_summary.txt")
    assert_values(only(sheet), [21472.274793])
    assert_values(only(sheet, 1), [0.186])
    assert only(sheet).grain is Grain.REPETITION
    assert sheet.clients == {"": 4}
    assert (sheet.metrics[0][0].unit, sheet.metrics[1][0].unit) == ("transactions/s", "ms")


def test_summaries_one_after_the_other_are_several() -> None:
    sheet = golden_sheet("pgbench_three_summaries.txt")
    assert_values(only(sheet), [20482.476402, 20460.974181, 23676.230992])
    assert sheet.lines == (13, 26, 39)


def test_progress_is_of_one_run_and_has_slices() -> None:
    sheet = golden_sheet("pgbench_progress.txt")
    assert_values(only(sheet), [24011.0, 25750.8, 24779.6, 27615.0])
    assert only(sheet).grain is Grain.SLICE
    latency = only(sheet, 1)
    assert latency.weights is not None
    assert latency.weights.tolist() == only(sheet).values.tolist()


def test_seconds_without_work_count_as_such() -> None:
    line = "progress: {}.0 s, {} tps, lat {} ms stddev 0.1, 0 failed\n"
    text = "".join(line.format(n, tps, "0.000") for n, tps in ((1, 10.5), (2, 0.0), (3, 9.0)))
    assert_values(only(sheet_of(text)), [10.5, 0, 9])
    nothing = "".join(line.format(n, 0.0, "nan") for n in (1, 2))
    assert refusal(nothing) == '"f.txt" line 1, column 1: no transaction in any line of progress'


@pytest.mark.parametrize(
    "name", ["pgbench_progress_rate.txt", "pgbench_summary_rate.txt", "pgbench_aggregate_rate.txt"]
)
def test_at_a_fixed_rate_latency_is_judged_and_no_closed_loop_assumed(name: str) -> None:
    sheet = golden_sheet(name)
    assert sheet.metrics[0][0].name == LATENCY
    assert sheet.clients == {}
    assert any("fixed rate" in note for note in sheet.notes)


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        "2026-11-27T10:00:00Z ",
        "2026-11-27T10:00:00.123Z ",
        "2026-11-27T10:00:00.1234567Z ",
        "2026-11-27T10:00:00.123456789Z ",
        "2026-11-27T10:00:00.123456+01:00 ",
    ],
)
@pytest.mark.parametrize(
    "lag",
    [
        "rate limit schedule lag: avg 0.126 (max 2.145) ms",
        "Verzögerung durch Ratenbegrenzung: Mittel 0.126 (max 2.145) ms",
    ],
)
def test_a_rate_is_seen_behind_a_time_and_in_any_language(stamp: str, lag: str) -> None:
    lines = ("latency average = 0.778 ms", "latency stddev = 0.522 ms", lag, "tps = 301.274436")
    text = "".join(f"{stamp}{line}\n" for line in lines)
    sheet = sheet_of(text * 2)
    assert [metric.name for metric, _ in sheet.metrics] == [LATENCY, THROUGHPUT]
    assert_values(only(sheet), [0.778, 0.778])
    assert (sheet.clients, sheet.requested is not None) == ({}, True)
    rate_alone = "".join(f"{stamp}{line}\n" for line in (lag, "tps = 301.274436"))
    assert "there is no latency: throughput is what was asked for" in refusal(rate_alone)


def test_old_summaries_print_two_rates_and_the_purer_counts() -> None:
    text = """number of clients: 8
latency average: 2.500 ms
tps = 3100.5 (including connections establishing)
tps = 3200.25 (excluding connections establishing)
"""
    sheet = sheet_of(text * 2)
    assert_values(only(sheet), [3200.25, 3200.25])
    assert_values(only(sheet, 1), [2.5, 2.5])
    assert sheet.clients == {"": 8}


def summary(failed: int = 0, retried: int = 0, counts: str = "without initial connection") -> str:
    """What pgbench 18 prints of 1,000 transactions that succeeded."""
    return f"""number of clients: 8
number of transactions actually processed: 1000
number of failed transactions: {failed} (1.000%)
number of transactions retried: {retried} (1.000%)
latency average = 8.000 ms{" (including failures)" if failed else ""}
tps = 1000.0 ({counts} time{"s" if "reconnection" in counts else ""})
"""


def test_what_became_of_the_transactions_is_read() -> None:
    sheet = sheet_of(summary(20, 5) + summary(0, 3))
    assert sheet.outcomes == {"": TransactionCounts(tried=2020, troubled=28)}
    assert sheet_of(summary(20, 1020)).outcomes[""].troubled == 1020
    assert golden_sheet("pgbench_summary.txt").outcomes == {"": TransactionCounts(21239, 0)}
    assert sheet_of("tps = 5.5\n").outcomes == {}
    line = "progress: {}.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, {} failed, lag 0.1 ms, 1 skipped\n"
    seconds = "".join(line.format(n, 4) for n in (1, 2, 3))
    assert sheet_of(seconds).outcomes == {"": TransactionCounts(45, 15)}
    log = "0 1 500 0 1700000000 1\n0 2 failed 0 1700000000 2\n"
    assert sheet_of(log).outcomes == {"": TransactionCounts(2, 1)}


WITH_FAILURES = """number of clients: 8
number of transactions actually processed: 9980
number of failed transactions: 20 (0.200%)
latency average = 11.013 ms (including failures)
{} connection time = 45.758 ms
tps = 724.967014 ({})
"""


@pytest.mark.parametrize(
    ("connecting", "counts"),
    [
        ("initial", "without initial connection time"),
        ("average", "including reconnection times"),
    ],
)
@pytest.mark.parametrize("stamp", ["", "2026-11-27T10:00:00.123Z "])
def test_a_run_with_failures_has_its_latency_and_not_that_of_connecting(
    connecting: str, counts: str, stamp: str
) -> None:
    text = WITH_FAILURES.format(connecting, counts)
    sheet = sheet_of("".join(stamp + line for line in text.splitlines(keepends=True)))
    assert_values(only(sheet, 1), [11.013])
    assert sheet.outcomes == {"": TransactionCounts(10_000, 20)}


@pytest.mark.parametrize(
    "line",
    [
        "initial connection time = 45.758 ms",
        "average connection time = 45.758 ms",
        "latency stddev = 45.758 ms",
        " - latency average = 45.758 ms",
        " - latency stddev = 45.758 ms",
    ],
)
@pytest.mark.parametrize("conditions", ["", "number of clients: 8\n", "pgbench (18.4)\n"])
def test_no_other_time_stands_in_for_a_latency_that_is_missing(line: str, conditions: str) -> None:
    sheet = sheet_of(f"{conditions}{line}\ntps = 724.9 (without initial connection time)\n")
    assert [metric.name for metric, _ in sheet.metrics] == [THROUGHPUT]


def test_the_times_of_single_scripts_are_not_those_of_the_next_run() -> None:
    scripts = "SQL script 1: a.sql\n - 500 transactions\n - latency average = 1.900 ms\n"
    text = WITH_FAILURES.format("initial", "without initial connection time") + scripts
    assert_values(only(sheet_of(text * 2), 1), [11.013, 11.013])


@pytest.mark.parametrize("failures", ["", " (including failures)", " (inklusive Fehlschläge)"])
def test_the_latency_of_another_language_is_read_with_failures(failures: str) -> None:
    text = f"""Anzahl Clients: 8
Latenz-Durchschnitt = 8.119 ms{failures}
initiale Verbindungszeit = 12.1 ms
tps = 985.312 (ohne initiale Verbindungszeit)
"""
    assert_values(only(sheet_of(text), 1), [8.119])


@pytest.mark.parametrize(
    "line",
    [
        "pgbench: error: Run was aborted; the above results are incomplete.",
        "Run was aborted; the above results are incomplete.",
        "pgbench: error: client 3 aborted in command 5 (SQL) of script 0; ERROR:  deadlock",
        "pgbench: error: client 3 script 0 aborted in command 5 query 0: ERROR:  deadlock",
    ],
)
def test_an_aborted_run_is_refused_with_its_line(line: str) -> None:
    assert "line 7, column 1: the run was aborted, its results" in refusal(summary() + line + "\n")
    progress = "progress: 1.0 s, 9.0 tps, lat 1.0 ms stddev 0.1\n" * 2
    assert "line 3, column 1: the run was aborted" in refusal(progress + line)


def test_rates_with_and_without_the_time_to_connect_are_told_apart() -> None:
    old = "tps = 5.5 (excluding connections establishing)\n"
    with_it = summary(counts="including reconnection")
    assert sheet_of(with_it).connecting is True
    assert sheet_of(summary() + old).connecting is False
    assert sheet_of("tps = 5.5\n").connecting is None
    said = "line 12, column 1: the time to connect counts in some of the tps and not in others"
    assert said in refusal(summary() + with_it)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency average = 1.5 ms\n", "line 1, column 1: no complete summary of pgbench"),
        ("tps = fast\n", 'line 1, column 7: "fast" is not a number of transactions'),
        ("\ntps = 0.000 (without initial connection time)\n", "line 2, column 7: tps is zero"),
        ("progress: 1.0 s, 5 tps, la", "line 1, column 1: a line of progress that is torn"),
    ],
)
def test_torn_output_is_refused_with_its_place(text: str, said: str) -> None:
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("a=pg_de.txt", "b=pg_de2.txt"), 100 * (1005.312 / 985.312 - 1)),
        (("a=pg_de13.txt", "b=pg_de13b.txt"), 100 * (990.401 / 985.401 - 1)),
        (("a=pg_ci.txt", "b=pg96b.txt"), None),
    ],
)
def test_other_languages_and_times_before_each_line_are_read(
    files: tuple[str, str], expected: float | None
) -> None:
    judgement = judged(*files)
    assert judgement.cannot
    if expected is not None:
        assert percent(judgement) == pytest.approx(expected)
        assert any("LC_MESSAGES=C" in note for note in judgement.comparison.notes)


def test_what_was_asked_for_is_a_factor_of_every_summary() -> None:
    text = golden_text("pgbench_summary.txt")
    factors = {factor.name: factor.values for factor in only(sheet_of(text)).factors}
    assert factors["clients"] == ("4",)
    assert {"script", "scale", "mode", "threads", "duration"} <= set(factors)


def mixed(scripts: dict[str, int], tps: float) -> str:
    """What pgbench 18 prints of several scripts."""
    share = 100 / sum(scripts.values())
    parts = "".join(
        f"SQL script {n}: {name}\n - weight: {weight} (targets {weight * share:.1f}% of total)\n"
        f" - 500 transactions ({weight * share:.1f}% of total)\n"
        f" - number of transactions actually processed: 500 (tps = {tps / 2:.6f})\n"
        " - latency average = 1.900 ms\n - latency stddev = 0.100 ms\n"
        for n, (name, weight) in enumerate(scripts.items(), start=1)
    )
    head = "transaction type: multiple scripts\nscaling factor: 100\nnumber of clients: 8\n"
    return f"{head}tps = {tps:.6f} (without initial connection time)\n{parts}"


def mixed_runs(*mixtures: dict[str, int], level: int = 1000) -> str:
    return "".join(
        mixed(scripts, level * max(scripts.values()) * (1 + (n * 7 + level) % 11 / 900))
        for n in range(9)
        for scripts in mixtures
    )


def test_scripts_are_conditions_with_their_weights() -> None:
    even, uneven = {"read.sql": 2, "write.sql": 1}, {"read.sql": 9, "write.sql": 1}
    sheet = sheet_of(mixed(even, 5.5) + mixed(uneven, 9.5))
    factors = {factor.name: factor.values for factor in only(sheet).factors}
    assert factors["scripts"] == ("read.sql@2, write.sql@1", "read.sql@9, write.sql@1")
    assert verdict(judged_text(mixed_runs(even), mixed_runs(uneven), **RANDOM)) == "invalid"
    turned = dict(reversed(even.items()))
    same = judged_text(mixed_runs(even), mixed_runs(turned, level=1100), **RANDOM)
    assert (verdict(same), "conditions differ" in doubts(same)) == ("faster", False)
    sweep = judged_text(mixed_runs(even, uneven), mixed_runs(even, uneven, level=1100), **RANDOM)
    assert only_contrast(sweep).details.paired
    assert percent(sweep) == pytest.approx(10, abs=0.3)


def golden_text(name: str) -> str:
    return (GOLDEN / name).read_text()
