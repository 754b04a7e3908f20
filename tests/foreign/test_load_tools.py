"""Real output of pgbench 18.4 and lines of HammerDB are read as what they are."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.reading import GOLDEN, assert_values, golden_sheet, only, refusal, sheet_of
from steelyard.foreign.formats import format_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT
from steelyard.foreign.series import Grain, Outcome
from steelyard.foreign.source import open_source

FORMATS = {
    "pgbench_summary.txt": "pgbench",
    "pgbench_three_summaries.txt": "pgbench",
    "pgbench_progress.txt": "pgbench",
    "pgbench_progress_rate.txt": "pgbench",
    "pgbench_summary_rate.txt": "pgbench",
    "pgbench_log.txt": "pgbench-log",
    "pgbench_log_skipped.txt": "pgbench-log",
    "pgbench_aggregate.txt": "pgbench-aggregate",
    "pgbench_aggregate_rate.txt": "pgbench-aggregate",
    "hammerdb.txt": "hammerdb",
    "hammerdb_before_4.txt": "hammerdb",
    "hammerdb_counter.txt": "hammerdb",
    "hyperfine.json": "json",
}


def test_every_format_is_told_by_its_content() -> None:
    assert {p.name: format_of(open_source(p)) for p in GOLDEN.iterdir()} == FORMATS


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
latency average = 8.000 ms
tps = 1000.0 ({counts} time{"s" if "reconnection" in counts else ""})
"""


def test_what_became_of_the_transactions_is_read() -> None:
    sheet = sheet_of(summary(20, 5) + summary(0, 3))
    assert sheet.outcomes == {"": Outcome(tried=2020, troubled=28)}
    assert sheet_of(summary(20, 1020)).outcomes[""].troubled == 1020
    assert golden_sheet("pgbench_summary.txt").outcomes == {"": Outcome(21239, 0)}
    assert sheet_of("tps = 5.5\n").outcomes == {}
    line = "progress: {}.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, {} failed, lag 0.1 ms, 1 skipped\n"
    seconds = "".join(line.format(n, 4) for n in (1, 2, 3))
    assert sheet_of(seconds).outcomes == {"": Outcome(45, 15)}
    log = "0 1 500 0 1700000000 1\n0 2 failed 0 1700000000 2\n"
    assert sheet_of(log).outcomes == {"": Outcome(2, 1)}


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


def test_a_log_of_transactions_gives_means_of_ten_in_the_order_of_ends() -> None:
    sheet = golden_sheet("pgbench_log.txt")
    series = only(sheet)
    cells = [line.split() for line in (GOLDEN / "pgbench_log.txt").read_text().splitlines()]
    ended = sorted((int(c[4]) * 10**6 + int(c[5]), int(c[2])) for c in cells)
    expected = np.array([latency for _, latency in ended], dtype=float).reshape(20, 10).mean(axis=1)
    assert_values(series, expected.tolist())
    assert series.timestamps is not None
    assert (np.diff(series.timestamps) >= 0).all()


def test_throughput_of_a_log_counts_by_seconds() -> None:
    rows = [f"0 {n} 1000 0 {1_700_000_000 + n // 100} {n % 100 * 10_000}\n" for n in range(451)]
    sheet = sheet_of("".join(rows))
    assert [metric.name for metric, _ in sheet.metrics] == [LATENCY, THROUGHPUT]
    assert only(sheet, 1).values.tolist() == [100, 100, 100, 100]


def test_skipped_and_failed_transactions_are_counted_and_said() -> None:
    sheet = golden_sheet("pgbench_log_skipped.txt")
    text = (GOLDEN / "pgbench_log_skipped.txt").read_text()
    assert f"{text.count('skipped')} transactions were skipped" in sheet.notes
    failed = "0 1 500 0 1700000000 1\n0 2 serialization 0 1700000000 2 0\n"
    assert "1 transactions were serialization" in sheet_of(failed).notes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1 500 0 1700000000 1\n0 2 5", 'line 2, column 1: "0 2 5" is no line of a log'),
        ("0 1 500 0 1700000000 1\n0 2 soon 0 1700000000 2\n", "line 2, column 1: "),
        ("0 1 skipped 0 1700000000 1\n", "line 1, column 1: no transaction that was completed"),
        ("1700000000 5 100 2000 1 9\n1700000001 5 x 2000 1 9\n", "line 2, column 1: "),
        ("1700000000 0 0 0 0 0\n", "line 1, column 1: no transaction with a latency in any"),
        ("1700000000 5 0 0 0 0\n", "line 1, column 1: no transaction with a latency in any"),
    ],
)
def test_torn_logs_are_refused_with_their_line(text: str, said: str) -> None:
    assert said in refusal(text)


def test_intervals_weigh_by_their_transactions_and_cut_ones_are_no_throughput() -> None:
    sheet = golden_sheet("pgbench_aggregate.txt")
    assert [metric.name for metric, _ in sheet.metrics] == [THROUGHPUT, LATENCY]
    assert only(sheet).values.tolist() == [22585, 25303]
    latency = only(sheet, 1)
    assert_values(latency, [1227311 / 12289, 1963551 / 22585, 1974798 / 25303, 1963497 / 25140])
    assert latency.weights is not None
    assert latency.weights.tolist() == [12289, 22585, 25303, 25140]


def test_intervals_without_transactions_have_no_latency_and_no_throughput() -> None:
    rows = ((0, 9), (1, 10), (2, 0), (3, 12), (4, 5))
    text = "".join(f"{1_700_000_000 + n} {count} {50 * count} 1 1 9\n" for n, count in rows)
    sheet = sheet_of(text)
    assert only(sheet).values.tolist() == [10, 0, 12]
    assert only(sheet, 1).values.tolist() == [50, 50, 50, 50]


def test_results_of_hammerdb_are_repetitions_of_nopm_and_tpm() -> None:
    sheet = golden_sheet("hammerdb.txt")
    assert only(sheet).values.tolist() == [42332, 38385, 37331]
    assert only(sheet, 1).values.tolist() == [97427, 88486, 86015]
    assert [metric.unit for metric, _ in sheet.metrics] == ["NOPM", "TPM"]
    old = golden_sheet("hammerdb_before_4.txt")
    assert (only(old).values.tolist(), only(old, 1).values.tolist()) == ([2779], [6611])


def test_the_counter_of_hammerdb_has_slices_without_the_idle_ends() -> None:
    series = only(golden_sheet("hammerdb_counter.txt"))
    assert series.values.tolist() == [81318, 90210, 88764]
    assert series.grain is Grain.SLICE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x System achieved 0 NOPM from 5 PostgreSQL TPM\n",
            "line 1, column 1: a result of 0 NOPM",
        ),
        ("0 PostgreSQL tpm @ now\n", "no result of HammerDB with NOPM and TPM in it"),
        ("System achieved nothing\n", "no result of HammerDB with NOPM and TPM in it"),
    ],
)
def test_hammerdb_without_work_is_refused(text: str, said: str) -> None:
    assert said in refusal(text)


def test_results_of_different_numbers_of_users_are_said() -> None:
    text = "{} Active Virtual Users configured\nSystem achieved 5 NOPM from 9 Oracle TPM\n"
    assert (
        "different numbers of virtual users" in sheet_of(text.format(8) + text.format(16)).notes[0]
    )
