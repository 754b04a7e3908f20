"""An arm may be called by any word: what a column holds decides, and no column vanishes unsaid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign.series import Sheet
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Role, heading_of
from steelyard.model.errors import NumbersError

COUNTED = [str(n + 1) for n in range(12)]


def results(level: float, seed: int, decimals: int = 2, rows: int = 12) -> list[str]:
    """Numbers that scatter by 1 %."""
    values = level * np.exp(np.random.default_rng(seed).normal(0, 0.01, rows))
    return [f"{value:.{decimals}f}" for value in values]


def table(heading: str, *columns: list[str]) -> str:
    return "\n".join([heading, *(",".join(row) for row in zip(*columns, strict=True))]) + "\n"


ARMS = [
    *("simple,extended,prepared", "heap,index,both", "default,jit,parallel", "old,new,final"),
    *("none,compression,fsync", "session,transaction,statement", "seq,index,bitmap", "a,second,c"),
    *("processes,threads,hybrid", "serial,parallel", "cold,warm", "first,second", "btree,hash"),
    *("test,prod", "index,hash", "plain,limit", "local,client", "row,column", "initial,last"),
    *("master,patched", "build,server,engine", "base,patch", "setting,default", "group,method"),
]


@pytest.mark.parametrize("heading", ARMS)
@pytest.mark.parametrize("decimals", [0, 2])
@pytest.mark.parametrize("counter", ["", "run,", "#,"])
def test_words_that_mean_other_things_are_names_of_arms(
    heading: str, decimals: int, counter: str
) -> None:
    names = heading.split(",")
    columns = [results(1000 - 130 * n, n, decimals) for n, _ in enumerate(names)]
    sheet = sheet_of(table(counter + heading, *([COUNTED] if counter else []), *columns))
    assert list(arms_of(sheet)) == names
    assert [len(values) for values in arms_of(sheet).values()] == [12] * len(names)


@pytest.mark.parametrize("rows", [2, 3, 5, 30])
@pytest.mark.parametrize("heading", ["master,patched", "build,server"])
def test_results_that_come_again_are_no_versions(heading: str, rows: int) -> None:
    columns = [results(1000, 1, 0, rows), [*results(1020, 2, 0, rows - 1), "1021"]]
    columns[1][0] = columns[1][-1 if rows > 2 else 0]
    assert list(arms_of(sheet_of(table(heading, *columns)))) == heading.split(",")


COARSE = (["12", "12", "13", "12", "13", "12"], ["13", "13", "14", "13", "13", "14"])


@pytest.mark.parametrize("counter", ["", "run,"])
@pytest.mark.parametrize("heading", ["master,patched", "main,branch", "base,patch", "local,server"])
@pytest.mark.parametrize("scale", [1, 100])
def test_results_of_few_digits_are_no_names_of_arms(
    heading: str, counter: str, scale: float
) -> None:
    columns = [[f"{float(cell) / scale:g}" for cell in cells] for cells in COARSE]
    rows = [COUNTED[:6]] if counter else []
    text, last = table(counter + heading, *rows, *columns), heading.rpartition(",")[2]
    assert refusal(text).endswith(f'column "{last}" could be an arm, or name the arms')
    typed = sheet_of(text, arm=last)
    assert list(arms_of(typed)) == list(dict.fromkeys(columns[1]))
    renamed = sheet_of(text.replace(last, f"{last} A", 1))
    assert list(arms_of(renamed)) == f"{heading} A".split(",")


@pytest.mark.parametrize("heading", ["version", "pg", "server_version", "release"])
def test_versions_name_the_arms_beside_numbers_of_their_size(heading: str) -> None:
    sheet = sheet_of(table(f"{heading},foo", ["16", "17"] * 3, COARSE[0]))
    assert list(arms_of(sheet)) == ["16", "17"]


@pytest.mark.parametrize("level", [0.012, 3.4, 52_000])
@pytest.mark.parametrize("clock", ["timestamp", "second", "elapsed"])
def test_a_clock_before_them_is_none(level: float, clock: str) -> None:
    columns = [results(level * (1 + n / 9), n, 5) for n in range(3)]
    text = table(f"{clock},simple,extended,prepared", [str(10 * n) for n in range(12)], *columns)
    assert list(arms_of(sheet_of(text))) == ["simple", "extended", "prepared"]


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("clients", ["8", "16", "32"] * 4),
        ("scale", ["1000"] * 12),
        ("size", [str(128 * 2**n) for n in range(12)]),
        ("theta", ["0.5", "0.9", "0.99", "0.7"] * 3),
        ("query", COUNTED),
        ("query", ["1.1", "1.3", "1.2", *(f"{n}.{m}" for n in (2, 3, 4) for m in (3, 1, 2))]),
        ("block", [str(n // 2) for n in range(12)]),
        ("run", COUNTED),
        ("timestamp", [f"{1_700_000_000.25 + 7 * n}" for n in range(12)]),
        ("end", [f"{100.25 + 1.5 * n}" for n in range(12)]),
        ("errors", [str(n * 7 % 5) for n in range(12)]),
    ],
)
def test_parameters_counters_and_moments_are_still_what_their_heading_says(
    heading: str, cells: list[str]
) -> None:
    text = table(f"{heading},off,on", cells, results(100, 1), results(104, 2))
    assert list(arms_of(sheet_of(text))) == ["off", "on"]


@pytest.mark.parametrize(
    ("heading", "level", "meaning"),
    [
        ("index", 0.2, "a counter of rows"),
        ("parallel", 4_000, "a parameter"),
        ("final", 3, "a statistic"),
        ("max", 104, "a statistic"),
        ("errors", 96, "an outcome"),
        ("rows", 110, "a count"),
        ("normalized", 101, "computed from the others"),
        ("cpu", 3, "measured beside them"),
        ("load", 0.4, "measured beside them"),
    ],
)
def test_what_could_be_an_arm_or_not_is_asked_about(
    heading: str, level: float, meaning: str
) -> None:
    text = table(f"off,on,{heading}", results(100, 1), results(104, 2), results(level, 3))
    assert refusal(text).endswith(f'column "{heading}" could be an arm or {meaning}')
    renamed = text.replace(heading, "third", 1)
    assert list(arms_of(sheet_of(renamed))) == ["off", "on", "third"]


def computed(kind: str, off: list[str], on: list[str]) -> list[str]:
    pairs = [(float(a), float(b)) for a, b in zip(off, on, strict=True)]
    by_kind = {
        "ratio": [f"{b / a:.3f}" for a, b in pairs],
        "inverse": [f"{a / b:.4f}x" for a, b in pairs],
        "difference": [f"{b - a:.3f}" for a, b in pairs],
        "percent": [f"{100 * b / a:.1f}%" for a, b in pairs],
        "change": [f"{100 * (b / a - 1):+.2f}%" for a, b in pairs],
        "fraction": [f"{b / a - 1:.4f}" for a, b in pairs],
        "saved": [f"{1 - b / a:.4f}" for a, b in pairs],
        "saved percent": [f"{100 * (1 - b / a):.2f}" for a, b in pairs],
        "mean": [f"{(a + b) / 2:.4f}" for a, b in pairs],
        "floats": [f"{b - a}" for a, b in pairs],
        "sum": [f"{a + b:.3f}" for a, b in pairs],
    }
    return by_kind[kind]


KINDS = ["ratio", "inverse", "difference", "percent", "change", "fraction", "saved"]
KINDS += ["saved percent", "mean", "floats"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["Faktor", "x", "gewinn", "speedup", "c"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_columns_computed_from_two_others_are_no_arms(kind: str, name: str, place: int) -> None:
    off, on = results(84.31, 1, 3), results(86.7, 2, 3)
    columns, names = [off, on], ["off", "on"]
    columns.insert(place, computed(kind, off, on))
    names.insert(place, name)
    sheet = sheet_of(table(",".join(names), *columns))
    assert list(arms_of(sheet)) == ["off", "on"]
    assert any(f'"{name}"' in note for note in sheet.notes)


@pytest.mark.parametrize("kind", ["difference", "saved percent", "saved", "inverse", "mean"])
@pytest.mark.parametrize("name", ["Differenz", "Gewinn", "saved", "diff", "difference (ms)"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_computed_from_arms_far_apart_is_no_arm(kind: str, name: str, place: int) -> None:
    after, before = results(38.2, 1, 1), results(100.4, 2, 1)
    columns, names = [after, before], ["after", "before"]
    columns.insert(place, computed(kind, after, before))
    names.insert(place, name)
    assert list(arms_of(sheet_of(table(",".join(names), *columns)))) == ["after", "before"]


@pytest.mark.parametrize("name", ["total", "Grand Total", "Summe", "overall"])
@pytest.mark.parametrize("levels", [(84.31, 86.7), (100.4, 38.2)])
def test_a_sum_of_arms_that_is_called_so_is_no_arm(name: str, levels: tuple[float, float]) -> None:
    off, on = results(levels[0], 1, 3), results(levels[1], 2, 3)
    assert list(arms_of(sheet_of(table(f"off,on,{name}", off, on, computed("sum", off, on))))) == [
        *("off", "on")
    ]


@pytest.mark.parametrize("name", ["c", "third", "both"])
@pytest.mark.parametrize("kind", ["difference", "sum"])
def test_three_columns_that_add_up_are_refused_where_no_heading_says_which_is_computed(
    name: str, kind: str
) -> None:
    after, before = results(38.2, 1, 1), results(100.4, 2, 1)
    text = table(f"after,before,{name}", after, before, computed(kind, after, before))
    assert "one is the sum or the difference of the others" in refusal(text)


@pytest.mark.parametrize("name", ["total", "Grand Total", "overall"])
def test_what_is_called_a_total_and_is_no_sum_is_asked_about(name: str) -> None:
    text = table(f"off,on,{name}", results(100, 1), results(104, 2), results(102, 3))
    assert refusal(text).endswith(f'column "{name}" could be an arm or of all of them')


@pytest.mark.parametrize("levels", [(100.0, 104.0, 102.0), (100.0, 38.0, 62.0), (1.5, 1.0, 2.5)])
@pytest.mark.parametrize("decimals", [1, 2])
def test_arms_as_far_apart_as_sums_and_means_are_arms(
    levels: tuple[float, ...], decimals: int
) -> None:
    columns = [results(level, n, decimals) for n, level in enumerate(levels)]
    assert list(arms_of(sheet_of(table("a,b,c", *columns)))) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "name",
    [
        *("temp", "Temperature", "temp (C)", "temp_c", "cpu_temp", "mhz", "cpu_mhz", "freq (MHz)"),
        *("loadavg", "rpm", "humidity", "voltage", "CPU GHz", "max freq"),
    ],
)
@pytest.mark.parametrize("level", [1.3, 54.2, 1100, 3400])
def test_what_the_machine_was_like_is_asked_about(name: str, level: float) -> None:
    third = results(level, 3)
    for columns in ([results(1012, 1), results(1050, 2), third], [third, third[::-1], third]):
        assert refusal(table(f"off,on,{name}", *columns)).endswith(
            f'column "{name}" could be an arm or measured beside them'
        )


@pytest.mark.parametrize(
    "heads",
    ["temp,perm", "off tps,on tps,temp tps", "off,on,frequency_scaling", "off,on,high_freq"],
)
def test_words_of_the_machine_may_be_of_the_names_of_arms(heads: str) -> None:
    columns = [results(1000 + 40 * n, n) for n, _ in enumerate(heads.split(","))]
    assert list(arms_of(sheet_of(table(heads, *columns)))) == heads.split(",")


WORDS = sorted(
    word
    for word in set().union(
        known.PARAMETER_WORDS,
        known.COUNTER_WORDS,
        known.LABEL_WORDS,
        known.BLOCK_WORDS,
        known.CODE_WORDS,
        known.START_WORDS,
        known.COUNT_WORDS,
        known.BAD_WORDS,
        known.DERIVED_WORDS,
        *known.EXTREME_WORDS.values(),
    )
    if heading_of(word).role not in (Role.METRIC, Role.ARM) and word.isascii() and word not in "#%"
)


def mentioned(sheet: Sheet, name: str) -> bool:
    return name in arms_of(sheet) or any(f'"{name}"' in note for note in sheet.notes)


@pytest.mark.long
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([0.05, 1.0, 30.0]),
    st.integers(0, 10_000),
)
@settings(max_examples=150, deadline=None)
def test_every_column_is_an_arm_or_named_or_refused(
    words: list[str], decimals: int, factor: float, seed: int
) -> None:
    names = ["off", "on", *words]
    levels = [400.0, 410.0, *(400 * factor for _ in words)]
    columns = [results(level, seed + n, decimals) for n, level in enumerate(levels)]
    try:
        sheet = sheet_of(table(",".join(names), *columns))
    except NumbersError:
        return
    if sheet.form == "CSV, one arm":  # refused by the command: nothing to compare it with
        return
    assert all(mentioned(sheet, name) for name in names), (names, sheet.notes)
