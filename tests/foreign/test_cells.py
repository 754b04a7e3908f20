"""Rows are compared with rows of the same thing, and no other, in one file or in several."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, doubts, judged, judged_text, only, percent, verdict

TPCH = pytest.approx(-2.709, abs=0.005)


@pytest.mark.parametrize(
    "files",
    [
        ["tpch_wide.csv"],
        ["tpch_wide_named.csv"],
        ["tpch_nohead.csv"],
        ["a=q16.csv", "b=q17.csv"],
        ["a=q16n.csv", "b=q17n.csv"],
    ],
)
def test_queries_are_paired_by_name_whatever_it_is_made_of_and_carry_no_verdict(
    files: list[str],
) -> None:
    judgement = judged(*files, unit="s")
    assert percent(judgement) == TPCH
    assert only(judgement).details.paired
    assert len(judgement.comparison.row_names) == 22
    assert "order lost" in doubts(judgement)
    assert verdict(judgement) == "inconclusive"
    ends = only(judgement).estimate.in_percent()
    assert (ends.low, ends.high) == pytest.approx((-3.099, -2.317), abs=0.02)


def test_rows_that_differ_many_times_over_alike_are_no_repetitions_under_any_name() -> None:
    judgement = judged("tpch_nohead_num.csv", unit="s")
    assert percent(judgement) == TPCH
    assert "order lost" in doubts(judgement)
    assert verdict(judgement) == "inconclusive"


def test_names_in_files_pair_their_rows() -> None:
    judgement = judged("a=gab.json", "b=gab2.json")
    assert only(judgement).details.paired
    assert percent(judgement) == pytest.approx(-3.6, abs=0.05)


@pytest.mark.parametrize(
    ("file", "expected", "left_out"),
    [
        ("unbal_min.csv", 0.02, "rows of 16 that another arm lacks were left out: clients 8"),
        ("unbal_block.csv", -0.04, "rows of 16 that another arm lacks were left out: clients 1"),
    ],
)
def test_clients_that_one_arm_lacks_are_left_out_and_named(
    file: str, expected: float, left_out: str
) -> None:
    judgement = judged(file, **RANDOM)
    assert percent(judgement) == pytest.approx(expected, abs=0.02)
    assert left_out in judgement.comparison.notes
    assert verdict(judgement) == "equivalent"


def test_parts_of_a_sweep_are_paired_by_cell() -> None:
    for off, on, rows in (("sweep_off.txt", "sweep_on.txt", 4), ("modes_a.txt", "modes_b.txt", 3)):
        judgement = judged(f"off={off}", f"on={on}")
        contrast = only(judgement)
        assert (contrast.details.paired, contrast.epochs) == (True, rows)
        assert "conditions differ" not in doubts(judgement)
    judgement = judged("a=hdb_auto_a.txt", "b=hdb_auto_b.txt")
    assert only(judgement).details.paired
    assert percent(judgement) == pytest.approx(3.0, abs=0.01)
    assert verdict(judgement) == "inconclusive"  # a cell each: their order is not known


def test_a_parameter_is_no_arm() -> None:
    judgement = judged("scale_clients.csv", unit="tps")
    assert [arm.arm for arm in judgement.comparison.arms] == ["master", "patched"]
    assert judgement.comparison.row_names[0] == "scale 100, clients 1"
    percentages = judged("wide_pct.csv", unit="tps")
    assert [arm.arm for arm in percentages.comparison.arms] == ["master", "patched"]


@pytest.mark.parametrize(
    "heading", ["scale", "workers", "size", "shared_buffers", "gizmo", "pages"]
)
def test_no_column_of_steps_is_an_arm(heading: str) -> None:
    rows = "".join(f"{10 ** (1 + n // 3)},{900 + n}.5,{950 + n}.5\n" for n in range(9))
    judgement = judged_text(f"{heading},master,patched\n{rows}", unit="tps")
    assert [arm.arm for arm in judgement.comparison.arms] == ["master", "patched"]


def test_whole_numbers_of_an_arm_are_no_steps() -> None:
    rows = "".join(f"{900 + 7 * n % 5},{950 + n},{960 - n}\n" for n in range(9))
    judgement = judged_text(f"old,new,newer\n{rows}", unit="tps")
    assert [arm.arm for arm in judgement.comparison.arms] == ["old", "new", "newer"]


def test_what_rows_are_about_is_not_taken_for_their_arm() -> None:
    judgement = judged("two_text.csv")
    assert [arm.arm for arm in judgement.comparison.arms] == ["pg16", "pg17"]
    assert percent(judgement) == pytest.approx(2.9, abs=0.05)
    assert only(judgement).details.paired


def test_a_counter_pairs_rows_only_where_arms_took_turns() -> None:
    one_after_the_other = judged("seq_run.csv")
    assert not only(one_after_the_other).details.paired
    said = next(f.sentence for f in one_after_the_other.findings if f.name == "pairing")
    assert 'column "run" counts the rows of arms that stand one after the other' in said
    timed = judged("seq_run_ts.csv")
    assert not only(timed).details.paired
    assert "one arm after the other" in doubts(timed)
    turns = "".join(f"16,{n},{100 + n}\n17,{n},{101 + n}\n" for n in range(1, 9))
    assert only(judged_text(f"version,run,tps\n{turns}")).details.paired


def test_cells_that_were_measured_unequally_often_count_once() -> None:
    rows = "".join(
        f"{v},{c},{c * 1000 + n + v}\n" for c in (1, 8) for v in (16, 17) for n in range(v - 14)
    )
    judgement = judged_text(f"version,clients,tps\n{rows}")
    assert only(judgement).epochs == 2
    assert any("count once" in note for note in judgement.comparison.notes)
