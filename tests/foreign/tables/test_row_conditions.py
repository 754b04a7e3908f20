"""What rows are about is known by what a column holds where its heading says little."""

from __future__ import annotations

import pytest

from foreign.judged_files import RANDOM, doubts, judged_text, only, percent, verdict

DIFFER = "conditions differ"
KINDS = ("type", "query_type", "op_type", "sql_id", "stmt_id", "op_id", "query_code", "phase")


def mixed(arm: str, first: int, second: int, words: tuple[str, str]) -> str:
    """Rows of two kinds of work, the first a tenth faster; nothing else differs."""
    counts = ((words[0], 1000, first), (words[1], 900, second))
    return "".join(
        f"{arm},{word},{level + n * 7 % 5 / 10:.1f}\n"
        for word, level, count in counts
        for n in range(count)
    )


@pytest.mark.parametrize("heading", [*KINDS, "worker_id", "kind", "query"])
@pytest.mark.parametrize("words", [("read", "write"), ("1", "2")])
@pytest.mark.parametrize("files", [1, 2])
def test_another_mixture_of_kinds_makes_no_difference(
    heading: str, words: tuple[str, str], files: int
) -> None:
    if words[0].isdecimal() and heading in ("worker_id", "kind"):
        return  # a number of either may be measured
    off, on = mixed("off", 24, 6, words), mixed("on", 6, 24, words)
    texts = [f"arm,{heading},iops\n{off}{on}"]
    if files == 2:
        texts = [
            f"{heading},iops\n" + "".join(line.partition(",")[2] for line in rows.splitlines(True))
            for rows in (off, on)
        ]
    judgement = judged_text(*texts, **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.05)
    assert only(judgement).details.paired
    assert only(judgement).epochs == 2
    assert verdict(judgement) == "inconclusive"


@pytest.mark.parametrize("heading", KINDS)
def test_equal_mixtures_are_paired_by_kind(heading: str) -> None:
    rows = "".join(
        f"{arm},{kind},{level * factor * (1 + (n * 7 + len(arm)) % 5 / 900):.3f}\n"
        for n in range(9)
        for arm, factor in (("off", 1.0), ("on", 1.05))
        for kind, level in (("read", 1000), ("write", 90))
    )
    judgement = judged_text(f"arm,{heading},iops\n{rows}", **RANDOM)
    assert only(judgement).details.paired
    assert percent(judgement) == pytest.approx(5, abs=0.2)
    assert verdict(judgement) == "faster"


def plain(heading: str, off: list[str], on: list[str]) -> str:
    pairs = enumerate(zip(off, on, strict=True))
    return f"arm,{heading},tps\n" + "".join(
        f"off,{a},{1000 + n * 7 % 5}.5\non,{b},{1100 + n * 3 % 5}.5\n" for n, (a, b) in pairs
    )


@pytest.mark.parametrize(
    ("heading", "off", "on"),
    [
        ("git_hash", ["a1b2c3"] * 10, ["d4e5f6"] * 10),
        ("server_id", ["alpha"] * 10, ["beta"] * 10),
        ("test_id", [f"t-{n}" for n in range(10)], [f"t-{n + 10}" for n in range(10)]),
        ("pid", [str(n + 4000) for n in range(10)], [str(n + 5000) for n in range(10)]),
        ("test_id", [str(n) for n in range(10)], [str(n) for n in range(10)]),
        ("responseCode", ["200"] * 10, ["200"] * 9 + ["204"]),
        ("type", ["oltp"] * 10, ["oltp"] * 10),
    ],
)
def test_codes_that_name_no_kinds_say_nothing_of_rows(
    heading: str, off: list[str], on: list[str]
) -> None:
    judgement = judged_text(plain(heading, off, on), **RANDOM)
    assert verdict(judgement) == "faster"
    assert DIFFER not in doubts(judgement)
    assert not judgement.comparison.row_names


@pytest.mark.parametrize("heading", ["type", "op_type", "phase"])
def test_arms_of_two_kinds_differ_in_their_conditions(heading: str) -> None:
    assert DIFFER in doubts(judged_text(plain(heading, ["read"] * 10, ["write"] * 10), **RANDOM))
    files = [f"{heading},tps\n" + f"{word},1000.5\n{word},1001.5\n" * 4 for word in ("r", "w")]
    with_noise = [text.replace("1001.5\n", f"100{n}.25\n", 1) for n, text in enumerate(files)]
    assert DIFFER in doubts(judged_text(*with_noise, **RANDOM))


def test_a_kind_that_follows_from_the_name_of_a_query_names_no_other_cells() -> None:
    rows = "".join(
        f"{arm},Q{n},{('scan', 'join')[n % 2]},{3 * n + 5}.{k}\n"
        for n in range(6)
        for k, arm in enumerate(("off", "on"))
    )
    judgement = judged_text(f"arm,query,type,seconds\n{rows}", **RANDOM)
    assert judgement.comparison.row_names == tuple(f"Q{n}" for n in range(6))


def test_rows_of_kinds_measured_once_have_no_order() -> None:
    rows = "".join(f"{word},{90 + 7 * n}.5,{91 + 7 * n}.5\n" for n, word in enumerate("abcdefghi"))
    for heading in ("type", "phase", "query"):
        judgement = judged_text(f"{heading},off,on\n{rows}", unit="tps")
        assert judgement.comparison.row_names == tuple("abcdefghi")
        assert "order lost" in doubts(judgement)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        *((name, "invalid") for name in ("iodepth", "qd", "procs", "nproc", "queue_depth", "QD")),
        *((name, "faster") for name in ("vcpu", "stripes", "gizmo", "core", "my_workmem_knob")),
    ],
)
@pytest.mark.parametrize("files", [1, 2])
def test_arms_under_another_parameter_differ_in_their_conditions(
    heading: str, expected: str, files: int
) -> None:
    texts = [plain(heading, ["16"] * 10, ["32"] * 10)]
    if files == 2:
        rows = texts[0].splitlines()[1:]
        texts = [
            "\n".join([f"{heading},tps", *(r.partition(",")[2] for r in rows if r.startswith(arm))])
            for arm in ("off,", "on,")
        ]
    judgement = judged_text(*texts, **RANDOM)
    assert judgement.comparison.metric.column == "tps"
    assert DIFFER in doubts(judgement)
    assert verdict(judgement) == expected


@pytest.mark.parametrize("cells", [("3", "4", "5"), ("5.5", "6.5", "7.5"), ("7", "7", "9")])
def test_numbers_that_explain_nothing_are_no_steps(cells: tuple[str, str, str]) -> None:
    off = [cells[n % 3] for n in range(10)]
    on = [cells[n * 2 % 3] for n in range(10)]
    judgement = judged_text(plain("gizmo", off, on), **RANDOM)
    assert verdict(judgement) == "faster"
    assert DIFFER not in doubts(judgement)
    assert not judgement.comparison.row_names


@pytest.mark.parametrize("heading", ["version", "pg_version", "server", "mode"])
@pytest.mark.parametrize("levels", [("16", "17"), ("1.5", "1.6")])
def test_numbers_that_could_name_arms_are_conditions_beside_them(
    heading: str, levels: tuple[str, str]
) -> None:
    off, on = mixed("off", 24, 6, levels), mixed("on", 6, 24, levels)
    judgement = judged_text(f"arm,{heading},tps\n{off}{on}", **RANDOM)
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]
    assert percent(judgement) == pytest.approx(0, abs=0.05)
    assert only(judgement).epochs == 2
    own = judged_text(plain(heading, [levels[0]] * 10, [levels[1]] * 10), **RANDOM)
    assert (verdict(own), DIFFER in doubts(own)) == ("faster", False)


SHARES = ["read_ratio", "write_pct", "update percent", "read %", "% writes", "rw_mix", "scan_share"]


@pytest.mark.parametrize("heading", [*SHARES, "read/write ratio", "insert_proportion"])
@pytest.mark.parametrize(
    "levels", [("50", "95"), ("0.5", "0.95"), ("50.0", "95.0"), ("50%", "95%"), (".5", "1.0")]
)
@pytest.mark.parametrize("files", [1, 2])
def test_the_share_of_reads_that_was_asked_for_is_of_the_load(
    heading: str, levels: tuple[str, str], files: int
) -> None:
    def texts(off: str, on: str) -> list[str]:
        if files == 1:
            return [f"arm,{heading},tps\n{off}{on}"]
        return [
            f"{heading},tps\n" + "".join(r.partition(",")[2] for r in rows.splitlines(True))
            for rows in (off, on)
        ]

    mixtures = [mixed("off", 24, 6, levels), mixed("on", 6, 24, levels)]
    judgement = judged_text(*texts(*mixtures), **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.05)
    assert only(judgement).epochs == 2
    apart = [mixed("off", 9, 0, levels), mixed("on", 0, 9, levels)]
    assert verdict(judged_text(*texts(*apart), **RANDOM)) == "invalid"


def test_a_measured_share_is_no_condition() -> None:
    off, on = ([f"{level + n * 7 % 10 / 9:.2f}" for n in range(10)] for level in (51, 49))
    for heading in ("read %", "write_ratio"):
        judgement = judged_text(plain(heading, off, on), **RANDOM)
        assert (verdict(judgement), DIFFER in doubts(judgement)) == ("faster", False)


def test_shares_in_a_table_of_arms_name_its_rows() -> None:
    rows = "".join(f"{n * 10},{900 - 3 * n}.5,{950 - 2 * n}.5\n" for n in range(11))
    judgement = judged_text(f"write_pct,off,on\n{rows}", unit="tps")
    assert [arm.arm for arm in judgement.comparison.arms] == ["off", "on"]
    assert judgement.comparison.row_names[1] == "10"
    assert "order lost" in doubts(judgement)


@pytest.mark.parametrize("heading", ["n", "k", "number", "N"])
@pytest.mark.parametrize("levels", [("10", "100"), ("1000", "1000000"), ("1", "8")])
def test_an_n_that_counts_no_rows_is_a_condition(heading: str, levels: tuple[str, str]) -> None:
    off, on = mixed("off", 24, 6, levels), mixed("on", 6, 24, levels)
    judgement = judged_text(f"arm,{heading},tps\n{off}{on}", **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.05)
    assert only(judgement).epochs == 2
    own = judged_text(plain(heading, [levels[0]] * 10, [levels[1]] * 10), **RANDOM)
    assert DIFFER in doubts(own)


@pytest.mark.parametrize("runs", [("1", "2"), ("1", "2", "3"), ("7", "8")])
def test_an_n_that_counts_repeated_rows_is_none(runs: tuple[str, ...]) -> None:
    cells = [runs[n % len(runs)] for n in range(12)]
    judgement = judged_text(plain("n", cells, cells), **RANDOM)
    assert DIFFER not in doubts(judgement)
    assert judgement.comparison.row_names == runs


@pytest.mark.parametrize("heading", ["rows", "records", "number of rows", "tuples"])
@pytest.mark.parametrize("files", [1, 2])
def test_round_amounts_of_data_are_of_the_load(heading: str, files: int) -> None:
    def arm(name: str, factor: float, amounts: tuple[int, ...]) -> str:
        return "".join(
            f"{name}{n},{n / 1000 * factor * (1 + k * 7 % 9 / 900):.6f}\n"
            for k, n in enumerate(amounts)
        )

    def texts(off: tuple[int, ...], on: tuple[int, ...]) -> list[str]:
        if files == 1:
            rows = arm("copy,", 1, off) + arm("insert,", 2, on)
            return [f"method,{heading},seconds\n{rows}"]
        return [f"{heading},seconds\n{arm('', f, n)}" for f, n in ((1, off), (2, on))]

    sizes = (100, 2_500, 10_000, 1_000_000)
    judgement = judged_text(*texts(sizes, sizes))
    assert percent(judgement) == pytest.approx(100, abs=0.1)
    assert (only(judgement).details.paired, only(judgement).epochs) == (True, 4)
    apart = judged_text(*texts((10_000,) * 9, (100_000,) * 9), **RANDOM)
    assert verdict(apart) == "invalid"


def test_amounts_that_came_of_it_are_no_conditions() -> None:
    counts = [str(10_000 + 37 * n) for n in range(10)]
    judgement = judged_text(plain("rows", counts, counts[::-1]), **RANDOM)
    assert (verdict(judgement), DIFFER in doubts(judgement)) == ("faster", False)


def test_offsets_are_compared_each_with_its_own() -> None:
    levels = ("1000", "100000")
    off, on = mixed("off", 24, 6, levels), mixed("on", 6, 24, levels)
    judgement = judged_text(f"arm,offset,iops\n{off}{on}", **RANDOM)
    assert percent(judgement) == pytest.approx(0, abs=0.05)
    assert only(judgement).epochs == 2
