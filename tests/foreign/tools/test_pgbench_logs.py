"""Real logs of pgbench 18.4, by transactions and by intervals, are read as what they are."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.reading import GOLDEN, assert_values, golden_sheet, only, refusal, sheet_of
from steelyard.foreign.metric import LATENCY, THROUGHPUT


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
    other = failed.replace("serialization", "other")
    assert "1 transactions were other" in sheet_of(other).notes


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
