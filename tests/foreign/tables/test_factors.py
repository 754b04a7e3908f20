"""Failures are counted in columns of whole numbers, an error with a fraction is a spread, and a row
that says that it failed is no repetition."""

from __future__ import annotations

import json

import pytest

from foreign.judged_files import RANDOM, doubts, judged_text, refused_text, verdict

FAILURES = "errors or retries differ"


def table(heading: str, cells: tuple[str, str], separator: str = ",") -> str:
    rows = ""
    for n in range(10):
        values = [f"{1000 + n * 7 % 5}", f"{1100 + n * 3 % 5}"]
        for arm, value, cell in zip(("off", "on"), values, cells, strict=True):
            rows += separator.join((arm, value, cell)) + "\n"
    return separator.join(("arm", "tps", heading)) + "\n" + rows


@pytest.mark.parametrize("heading", ["error", "tps_err", "err", "errors"])
def test_fractions_are_no_failures(heading: str) -> None:
    judgement = judged_text(table(heading, ("10.5", "90.25")), **RANDOM)
    assert judgement.comparison.metric.column == "tps"
    assert verdict(judgement) == "faster"
    assert FAILURES not in doubts(judgement)
    assert FAILURES not in doubts(judged_text(table(heading, ("10,5", "90,25"), ";"), **RANDOM))


@pytest.mark.parametrize("cells", [("0", "90"), ("0.0", "90.0"), ("90", "0"), ("", "90")])
def test_whole_numbers_are_failures(cells: tuple[str, str]) -> None:
    for heading in ("error", "errors", "failed", "retries"):
        assert FAILURES in doubts(judged_text(table(heading, cells), **RANDOM))


def test_a_fraction_anywhere_in_the_column_says_that_it_counts_nothing() -> None:
    text = table("error", ("1", "90")).replace("off,1000,1\n", "off,1000,1.5\n")
    assert "1.5" in text
    assert FAILURES not in doubts(judged_text(text, **RANDOM))


def scattered(heading: str, shares: tuple[str, str], rows: int = 10) -> str:
    """Shares that scatter by a tenth and more from row to row, about those of each arm."""
    text = f"arm,tps,{heading}\n"
    for n in range(rows):
        for arm, tps, share in zip(("off", "on"), (1000, 1100), shares, strict=True):
            unit = share[-1:] if share[-1:] == "%" else ""
            value = float(share.removesuffix("%")) * (0.8 + n * 7 % 5 / 10)
            text += f"{arm},{tps + n * 7 % 5},{value:.5g}{unit}\n"
    return text


SHARES = [
    ("error_rate", "0.001", "0.31"),
    ("error_rate", "0.31", "0.001"),
    ("Error %", "0.00%", "3.1%"),
    ("Error %", "1", "4"),
    ("Failures/s", "1.0", "30.5"),
    ("errors per second", "0", "30"),
    ("abort_rate", "0.02", "0.05"),
    ("% failed", "2", "5"),
    ("retry_pct", "2", "5"),
    ("timeout_rate", "0.01", "0.2"),
    ("success_rate", "1", "0.6"),
    ("success %", "99.9", "60"),
    ("ok_ratio", "1", "0.5"),
]


@pytest.mark.parametrize("layout", ["constant", "scattered", "a file an arm", "one row"])
@pytest.mark.parametrize(("heading", "off", "on"), SHARES)
def test_a_share_of_failures_that_differs_raises_a_doubt(
    heading: str, off: str, on: str, layout: str
) -> None:
    text = table(heading, (off, on)) if layout == "constant" else scattered(heading, (off, on))
    if layout == "one row":
        text = scattered(heading, (off, on), rows=1)
    texts = [text]
    if layout == "a file an arm":
        rows = [line.partition(",") for line in text.splitlines()[1:]]
        texts = [
            "\n".join([f"tps,{heading}", *(rest for name, _, rest in rows if name == arm)]) + "\n"
            for arm in ("off", "on")
        ]
    judgement = judged_text(*texts, **RANDOM)
    assert judgement.comparison.metric.column == "tps"
    assert FAILURES in doubts(judgement)


@pytest.mark.parametrize(
    ("heading", "off", "on"),
    [
        ("error_rate", "0.02", "0.02"),
        ("error_rate", "0.02", "0.0202"),
        ("success_rate", "0.9", "0.905"),
        ("Failures/s", "10", "11"),  # a hundredth of either rate
        ("Score Error (99.9%)", "1", "4"),
        ("tps_err_pct", "1", "4"),
        ("relative error %", "1", "4"),
        ("cache_miss_rate", "0.1", "0.4"),
        ("late %", "1", "4"),
    ],
)
def test_shares_alike_and_those_of_no_failures_raise_none(heading: str, off: str, on: str) -> None:
    judgement = judged_text(scattered(heading, (off, on)), **RANDOM)
    assert (verdict(judgement), FAILURES in doubts(judgement)) == ("faster", False)


def test_a_share_that_is_judged_is_no_doubt_of_itself() -> None:
    text = scattered("error_rate", ("0.1", "0.4"))
    judgement = judged_text(text, metric="error_rate", **RANDOM)
    assert judgement.comparison.metric.column == "error_rate"
    assert FAILURES not in doubts(judgement)


FAILED = [
    ("exit_code", "0", "137"),
    ("exit_code", "0", "-9"),
    ("exit_code", "0.0", "1.0"),
    ("exit", "0", "SIGKILL: killed"),
    ("exit_status", "0", "1"),
    ("rc", "0", "2"),
    ("returncode", "0", "1"),
    ("status", "0", "1"),
    ("status", "ok", "timeout"),
    ("status", "completed", "FAILED"),
    ("run_status", "ok", "not ok"),
    ("state", "done", "OOM-killed"),
    ("outcome", "passed", "Error: canceling statement"),
    ("success", "1", "0"),
    ("success", "true", "false"),
    ("ok", "yes", "no"),
    ("passed", "passed", "failed"),
    ("failed", "false", "true"),
    ("failed", "no", "yes"),
    ("error", "", "ERROR: canceling statement"),
    ("error", "none", "no space left on device"),
    ("error_message", "", "server closed the connection"),
    ("errors", "ok", "deadlock"),
    ("error_code", "0", "57014"),
    ("aborted", "f", "t"),
    ("query_timeouts", "no", "yes"),
    ("http_code", "200", "500"),
    ("http_status", "200", "404"),
    ("http_code", "200", "000"),
    ("responseCode", "200", "503"),
    ("response_code", "200.0", "500.0"),
    ("status", "200", "500"),
    ("status_code", "302", "429"),
    ("code", "200", "500"),
    ("completed", "true", "false"),
    ("completed", "1", "0"),
    ("finished", "yes", "no"),
    ("done", "True", "False"),
    ("is_valid", "true", "false"),
    ("valid", "1", "0"),
    ("included", "y", "n"),
    ("invalid", "0", "1"),
    ("timed_out", "false", "true"),
    ("is_timeout", "no", "yes"),
    ("timeout", "0", "1"),
    ("crashed", "0.0", "1.0"),
]


AMBIGUOUS = [("rc", "0"), ("status", "0"), ("status", "200"), ("code", "200"), ("timeout", "0")]


@pytest.mark.parametrize(("heading", "good", "bad"), FAILED)
@pytest.mark.parametrize("layout", ["long", "wide", "a file an arm", "records"])
@pytest.mark.parametrize("rows", [1, 12])
def test_a_row_that_says_that_it_failed_is_refused(
    heading: str, good: str, bad: str, layout: str, rows: int
) -> None:
    cells = [(good, bad if n >= 12 - rows else good) for n in range(12)]
    if (heading, good) in AMBIGUOUS and rows == 12 and layout in ("wide", "a file an arm"):
        return  # 2 throughout may be a version, 1 a setting
    error = refused_text(*laid_out(layout, heading, cells), **RANDOM)
    assert f'column "{heading}" says that this row failed: "{bad}"' in error.primary
    assert "line " in error.primary
    assert "Leave the row out" in str(error.hint)


def laid_out(layout: str, heading: str, cells: list[tuple[str, str]]) -> list[str]:
    """Rows of arms off and on, each with its cell of a column; of a wide table those of on."""
    values = [(f"{1000 + n * 7 % 5}.5", f"{1100 + n * 3 % 5}.5") for n in range(len(cells))]
    pairs = list(zip(values, cells, strict=True))
    if layout == "wide":
        rows = (f"{off},{on},{cell}" for (off, on), (_, cell) in pairs)
        return ["\n".join([f"off,on,{heading}", *rows]) + "\n"]
    if layout == "records":
        records = (
            {"arm": ("off", "on")[k], "tps": float(value[k]), heading: cell[k]}
            for value, cell in pairs
            for k in (0, 1)
        )
        return ["\n".join(map(json.dumps, records)) + "\n"]
    arms = [[f"{value[k]},{cell[k]}" for value, cell in pairs] for k in (0, 1)]
    if layout == "a file an arm":
        return ["\n".join([f"tps,{heading}", *arm]) + "\n" for arm in arms]
    turns = [f"off,{off}\non,{on}\n" for off, on in zip(*arms, strict=True)]
    return [f"arm,tps,{heading}\n" + "".join(turns)]


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("exit_code", ("0", "0")),
        ("rc", ("1", "2")),
        ("status", ("200", "204")),
        ("status", ("ok", "success")),
        ("status", ("0 errors", "no errors")),
        ("responseCode", ("200", "204")),
        ("status", ("500", "500")),  # of what, nothing says
        ("batch_code", ("200", "500")),
        ("completed", ("true", "yes")),
        ("completed", ("990", "1000")),
        ("is_valid", ("1", "1")),
        ("done", ("1.0", "1.0")),
        ("invalid", ("false", "false")),
        ("invalid", ("3", "3")),
        ("timeout", ("1", "1")),
        ("timeout", ("0", "30")),
        ("timed_out", ("no", "no")),
        ("success", ("1", "1")),
        ("success", ("1000", "990")),
        ("success_rate", ("1", "0")),
        ("failed", ("false", "no")),
        ("errors", ("3", "3")),
        ("error", ("± 1.5 tps", "±1.5tps")),
        ("error", ("1.5%", "0.5%")),
        ("errors", ("3 of 1000", "2 of 1000")),
        ("error", ("no error", "none")),
        ("state", ("idle", "idle")),
    ],
)
@pytest.mark.parametrize("layout", ["long", "a file an arm"])
def test_what_says_no_failure_refuses_nothing(
    heading: str, cells: tuple[str, str], layout: str
) -> None:
    judgement = judged_text(*laid_out(layout, heading, [cells] * 12), **RANDOM)
    assert verdict(judgement) == "faster"


def test_words_for_yes_count_what_was_retried() -> None:
    text = laid_out("long", "retried", [("no", "yes")] * 12)[0]
    assert FAILURES in doubts(judged_text(text, **RANDOM))


def test_a_column_that_is_asked_for_is_judged_whatever_it_says() -> None:
    cells = [(str(n % 3 + 1), str(n % 4 + 2)) for n in range(12)]
    text = laid_out("long", "exit", cells)[0]
    asked = {"columns": {"value": "exit"}, "higher_is_better": False}
    assert judged_text(text, **asked).comparison.metric.column == "exit"


@pytest.mark.parametrize("heading", ["query", "benchmark", "test_name", "endpoint"])
@pytest.mark.parametrize("files", [1, 2])
def test_merged_cells_of_labels_are_refused(heading: str, files: int) -> None:
    def rows(arm: str, level: int, label: str) -> str:
        return "".join(
            f"{query if n == 0 else label},{arm}{level * size + n * 7 % 5}.5\n"
            for size, query in ((1, "Q1"), (5, "Q2"))
            for n in range(6)
        )

    head, arms = (f"{heading},arm,ms\n", ("off,", "on,")) if files == 1 else ("", ("", ""))
    texts = [rows(arm, level, "") for arm, level in zip(arms, (100, 90), strict=True)]
    texts = [head + "".join(texts)] if files == 1 else [f"{heading},ms\n{text}" for text in texts]
    error = refused_text(*texts, **RANDOM)
    assert f'line 3, column 1: column "{heading}" does not say' in error.primary
    assert "Repeat the name in each row" in str(error.hint)


@pytest.mark.parametrize("cells", [["", "after reboot", ""] * 4, ["Q1"] * 12, [""] * 12])
def test_remarks_and_columns_without_a_name_at_all_are_no_merged_cells(cells: list[str]) -> None:
    heading = "note" if "after reboot" in cells else "query"
    text = laid_out("long", heading, [(cell, cell) for cell in cells])[0]
    assert verdict(judged_text(text, **RANDOM)) == "faster"


WARM_UPS = [
    ("warmup", "false", "true"),
    ("is_warmup", "0", "1"),
    ("warm-up", "no", "yes"),
    ("discarded", "", "x"),
    ("exclude", "f", "t"),
    ("phase", "measure", "warmup"),
    ("stage", "run", "Warm-up"),
    ("kind", "steady", "ramp-up phase"),
    ("note", "", "warm up run 1"),
    ("note", "", "ignored"),
]


WARMED = "says that this row is no repetition like the others"


@pytest.mark.parametrize(("heading", "good", "odd"), WARM_UPS)
@pytest.mark.parametrize("layout", ["long", "a file an arm", "records"])
@pytest.mark.parametrize("place", [0, 5])
def test_rows_that_warmed_up_are_no_repetitions(
    heading: str, good: str, odd: str, layout: str, place: int
) -> None:
    cells = [(odd, odd) if n == place else (good, good) for n in range(10)]
    error = refused_text(*laid_out(layout, heading, cells), **RANDOM)
    assert f'column "{heading}" {WARMED}: "{odd}"' in error.primary
    assert "Leave out the rows" in str(error.hint)


def test_rows_of_all_arms_that_warmed_up_are_none() -> None:
    cells = [("", str(int(n == 0))) for n in range(10)]
    error = refused_text(*laid_out("wide", "is_warmup", cells), unit="tps")
    assert f'line 2, column 15: column "is_warmup" {WARMED}: "1"' in error.primary


@pytest.mark.parametrize("layout", ["long", "a file an arm", "records"])
@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("warmup", ["true"] * 10),
        ("warmup", ["0"] * 10),
        ("warmup_s", ["0", "1"] * 5),
        ("cache", ["cold", "warm"] * 5),
        ("query", ["warm cache", "cold cache"] * 5),
        ("note", ["", "after the warm-up as planned"] * 5),
    ],
)
def test_what_all_rows_say_or_no_row_says_of_itself_is_a_condition(
    layout: str, heading: str, cells: list[str]
) -> None:
    texts = laid_out(layout, heading, [(cell, cell) for cell in cells])
    assert verdict(judged_text(*texts, **RANDOM)) == "faster"
