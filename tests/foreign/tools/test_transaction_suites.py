"""Lines of HammerDB are read as repetitions, and its counter as slices."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import INPUTS, judged, judged_text, percent
from foreign.reading import golden_sheet, only, refusal, sheet_of
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.series import Grain
from steelyard.foreign.source import open_source


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


def test_the_sentences_in_lists_of_json_and_counts_of_jobs_are_read() -> None:
    judgement = judged("a=hdb_json_result.json", "b=hdb_json_result2.json")
    assert percent(judgement) == pytest.approx(100 * (43332 / 42332 - 1))
    counted = read_sheet(open_source(INPUTS / "hdb_tcount.json"))
    assert only(counted).values.tolist() == [90204, 97000]
    assert only(counted).grain is Grain.SLICE


def test_ramp_up_and_ramp_down_of_the_counter_are_left_out() -> None:
    judgement = judged("off=hdb_counter_off.txt", "on=hdb_counter_on.txt")
    assert percent(judgement) == pytest.approx(3.0, abs=0.1)


def test_queries_of_tproc_h_are_paired() -> None:
    line = "Vuser 1:query {} completed in {} seconds\n"
    one = "".join(line.format(q, 1.5 * q) for q in (14, 2, 9))
    judgement = judged_text(one, one.replace("21.0", "22.05"))
    assert judgement.comparison.row_names == ("query 14", "query 2", "query 9")
    assert percent(judgement) == pytest.approx(1.64, abs=0.01)


def test_virtual_users_are_a_condition_and_failed_ones_are_refused() -> None:
    text = "{} Active Virtual Users configured\nSystem achieved 5 NOPM from 9 Oracle TPM\n"
    assert only(sheet_of(text.format(8) + text.format(16))).factors[0].values == ("8", "16")
    assert "virtual users failed" in refusal(text.format(8) + "Vuser 3:FINISHED FAILED\n")


SENTENCES = (
    "Vuser 1:8 Active Virtual Users configured",
    "Vuser 1:TEST RESULT : System achieved 40519 NOPM from 81038 PostgreSQL TPM",
    "Vuser 1:16 Active Virtual Users configured",
    "Vuser 1:TEST RESULT : System achieved 51183 NOPM from 102366 PostgreSQL TPM",
)
SHAPES = {
    "list": SENTENCES,
    "lists": (SENTENCES[:2], SENTENCES[2:]),
    "object": {"job": {"result": SENTENCES}},
    "one string": ["\n".join(SENTENCES)],
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("indent", [None, 2])
def test_sentences_in_json_are_read_however_its_lines_are_broken(
    shape: object, indent: int | None
) -> None:
    sheet = sheet_of(json.dumps(shape, indent=indent))
    assert only(sheet).values.tolist() == [40519, 51183]
    assert only(sheet).factors[0].values == ("8", "16")
    assert "different numbers of virtual users" in sheet.notes[0]


@pytest.mark.parametrize("indent", [None, 2])
def test_failed_users_in_json_are_refused_with_their_line(indent: int | None) -> None:
    text = json.dumps(["Vuser 3:FINISHED FAILED", *SENTENCES], indent=indent)
    assert f"line {1 if indent is None else 2}, column 1: virtual users failed" in refusal(text)


def test_queries_of_tproc_h_are_read_on_one_line_too() -> None:
    text = json.dumps([f"Vuser 1:query {q} completed in {q / 2} seconds" for q in (14, 2)])
    assert only(sheet_of(text, "hammerdb")).values.tolist() == [7, 1]


def test_lines_with_their_time_in_brackets_are_no_json() -> None:
    text = "".join(f"[2026-09-09 10:00:0{n}] {line}\n" for n, line in enumerate(SENTENCES))
    assert only(sheet_of(text)).values.tolist() == [40519, 51183]
