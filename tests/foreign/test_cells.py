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


@pytest.mark.parametrize("heading", ["block", "day", "round", "session"])
@pytest.mark.parametrize(("lacks", "named"), [((3,), "3"), ((1, 6), "1"), ((2, 4, 6), "2")])
def test_a_block_that_an_arm_lacks_is_left_out_and_named(
    heading: str, lacks: tuple[int, ...], named: str
) -> None:
    rows = "".join(
        f"{arm},{b},{900 * 1.1**b * (1 + k / 20) + n * 7 % 5 + b * 3 % 7:.2f}\n"
        for b in range(1, 7)
        for n in range(2)
        for k, arm in enumerate(("off", "on"))
        if not (arm == "on" and b in lacks)
    )
    judgement = judged_text(f"arm,{heading},tps\n{rows}", **RANDOM)
    assert percent(judgement) == pytest.approx(5, abs=0.1)
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, 6 - len(lacks))
    left_out = f"rows of off that another arm lacks were left out: {heading} {named}"
    assert any(note.startswith(left_out) for note in judgement.comparison.notes)


@pytest.mark.parametrize(
    ("heading", "off", "on"),
    [
        ("day", "1122", "3344"),  # none of both
        ("day", "1122334455", "5566778899"),  # one of nine
        ("run", "123456789", "12345678"),  # counted, and not named
    ],
)
def test_rows_of_too_few_common_blocks_stay_unpaired(heading: str, off: str, on: str) -> None:
    turns = max(len(off), len(on))
    rows = "".join(
        f"{arm},{blocks[n]},{900 + 50 * k + n * 7 % 11}.5\n"
        for n in range(turns)
        for k, (arm, blocks) in enumerate((("off", off), ("on", on)))
        if n < len(blocks)
    )
    judgement = judged_text(f"arm,{heading},tps\n{rows}", **RANDOM)
    assert not only(judgement).details.paired
    assert [len(arm.values) for arm in judgement.comparison.arms] == [len(off), len(on)]
    assert f'column "{heading}" does not' in judgement.comparison.apart


def wide(heading: str, names: list[str], missing: dict[str, int]) -> str:
    """A column an arm, the second a tenth faster; of the last rows of an arm some are missing."""
    rows = [
        (f"{9 + n * 5 % 13 / 9:.3f}", f"{(9 + n * 5 % 13 / 9) * 0.9 * (1 + n * 7 % 5 / 900):.3f}")
        for n in range(len(names))
    ]
    arms = enumerate(("off", "on"))
    cells = [
        ["-" if n >= len(rows) - missing.get(arm, 0) else row[k] for n, row in enumerate(rows)]
        for k, arm in arms
    ]
    lines = zip(names, *cells, strict=True)
    return f"{heading},off (s),on (s)\n" + "".join(",".join(line) + "\n" for line in lines)


QUERIES = [f"Q{n}" for n in range(1, 13)]


@pytest.mark.parametrize(
    ("heading", "names", "lost"),
    [
        ("query", QUERIES, True),
        ("clients", [str(2**n) for n in range(12)], True),
        ("round", [str(n) for n in range(12)], False),
    ],
)
@pytest.mark.parametrize("missing", [{}, {"on": 1}, {"off": 2}, {"on": 6}])
def test_a_named_row_that_an_arm_lacks_is_left_out_of_all_columns(
    heading: str, names: list[str], lost: bool, missing: dict[str, int]
) -> None:
    judgement = judged_text(wide(heading, names, missing))
    common = 12 - sum(missing.values())
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, common)
    assert judgement.comparison.row_names == tuple(names[:common])
    assert percent(judgement) == pytest.approx(-10, abs=0.4)
    assert ("order lost" in doubts(judgement)) == lost
    for arm in missing:
        other = "on" if arm == "off" else "off"
        left_out = f"rows of {other} that another arm lacks were left out: {names[common]}"
        assert any(note.startswith(left_out) for note in judgement.comparison.notes)


@pytest.mark.parametrize("heading", ["scale", "run", ""])
def test_repetitions_that_nothing_names_are_all_judged_though_an_arm_has_fewer(
    heading: str,
) -> None:
    names = [str(n) for n in range(12)] if heading != "scale" else ["100"] * 12
    rows = "".join(
        f"{name},{100 + n * 7 % 5}.5,{110 + n * 3 % 5 if n < 10 else ''}\n"
        for n, name in enumerate(names)
    )
    text = f"{heading},off,on\n{rows}"
    if not heading:
        text = "\n".join(line.partition(",")[2] for line in text.splitlines()) + "\n"
    judgement = judged_text(text, unit="s")
    assert [len(arm.values) for arm in judgement.comparison.arms] == [12, 10]
    assert not only(judgement).details.paired


@pytest.mark.parametrize("heading", ["block_size", "bs_x", "record size", "gizmo"])
@pytest.mark.parametrize(
    "cells", [("4k", "8k", "64k"), ("512 B", "4 KB", "1 MB"), ("1%", "10%", "50%"), ("1M", "2M")]
)
@pytest.mark.parametrize("times", [1, 3])
def test_no_column_of_sizes_with_their_units_is_an_arm(
    heading: str, cells: tuple[str, ...], times: int
) -> None:
    if times == 1 and len(cells) < 3:
        return  # of two rows nothing can be said
    rows = "".join(
        f"{x},{9000 * 3**n + k * 7 % 5}.5,{9400 * 3**n + k * 3 % 5}.5\n"
        for n, x in enumerate(cells)
        for k in range(times)
    )
    judgement = judged_text(f"{heading},off,on\n{rows}", unit="iops")
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]
    assert judgement.comparison.row_names[0] == cells[0]


def test_an_arm_of_rounded_thousands_is_no_column_of_sizes() -> None:
    rows = "".join(f"{15 + n * 7 % 5}k,{16 + n * 3 % 7}k,{17 + n * 2 % 3}k\n" for n in range(8))
    judgement = judged_text(f"old,new,newer\n{rows}", unit="iops")
    assert [arm.arm for arm in judgement.comparison.arms] == ["old", "new", "newer"]


def remarked(heading: str, remarks: dict[tuple[str, int], str], files: int) -> list[str]:
    """Twelve rows an arm, the second a twentieth faster; a few with a remark."""
    rows = {
        arm: [
            f"{remarks.get((arm, n), remarks.get((arm, -1), ''))},{1000 + 50 * k + n * 7 % 13}.5\n"
            for n in range(12)
        ]
        for k, arm in enumerate(("off", "on"))
    }
    if files == 2:
        return [f"{heading},tps\n" + "".join(lines) for lines in rows.values()]
    turns = zip(*rows.values(), strict=True)
    return [f"arm,{heading},tps\n" + "".join(f"off,{a}on,{b}" for a, b in turns)]


@pytest.mark.parametrize("heading", ["comment", "notes", "remark", "gizmo"])
@pytest.mark.parametrize(
    "remarks",
    [
        {("on", 3): "after reboot"},
        {("on", 3): "after reboot", ("on", 7): "slow disk", ("off", 2): "cat on keyboard"},
        {("on", 3): "reboot", ("off", 4): "reboot"},
    ],
)
@pytest.mark.parametrize("files", [1, 2])
def test_rows_with_a_remark_are_judged_as_the_others_are(
    heading: str, remarks: dict[tuple[str, int], str], files: int
) -> None:
    judgement = judged_text(*remarked(heading, remarks, files), **RANDOM)
    assert [len(arm.values) for arm in judgement.comparison.arms] == [12, 12]
    assert percent(judgement) == pytest.approx(5, abs=0.1)
    assert not judgement.comparison.row_names
    assert "conditions differ" not in doubts(judgement)


@pytest.mark.parametrize("heading", ["query", "gizmo", "kind"])
def test_words_that_most_rows_have_say_what_they_are_about(heading: str) -> None:
    remarks = {("off", n): f"w{n % 3}" for n in range(12)} | {
        ("on", n): f"w{n % 3}" for n in range(11)
    }
    judgement = judged_text(*remarked(heading, remarks, 1), **RANDOM)
    names = {name.removeprefix(f"{heading} ") for name in judgement.comparison.row_names}
    assert names == {"w0", "w1", "w2"}
