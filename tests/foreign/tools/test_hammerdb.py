"""Lines of HammerDB are read as repetitions, and its counter as slices."""

from __future__ import annotations

import pytest

from foreign.reading import golden_sheet, only, refusal, sheet_of
from steelyard.foreign.series import Grain


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
