"""Lines fit a terminal of 80 columns, and stay whole where there is no terminal."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.cli.views.text_layout import (
    WHOLE,
    broken,
    columns_of,
    contrast_table,
    hanging,
    padded,
    rest_in_report,
    sentence_width,
)

LETTERS = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x24FF, categories=("L", "N", "P", "Zs"))
    | st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
    | st.sampled_from("🐘Ａｱ가\u0301\u200d"),
    max_size=30,
)


def test_what_does_not_fit_follows_two_columns_deeper() -> None:
    words = "  2. keep the primary's log " + "that long " * 9
    lines = hanging(words, 40)
    assert all(len(line) <= 40 for line in lines)
    assert lines[0].startswith("  2. keep")
    assert {line[:4] for line in lines[1:]} == {"    "}
    assert " ".join(" ".join(lines).split()) == words.strip()
    assert hanging("", 40) == [""]


def test_a_word_that_is_to_be_copied_is_not_broken() -> None:
    path = "/a/very/long/path" * 6
    assert f"  {path}" in hanging(f"record {path}", 40)


def test_on_a_pipe_sentences_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert sentence_width() == WHOLE
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    assert sentence_width() == 80


@pytest.mark.parametrize("width", [40, 50, 62, 80, 100])
@pytest.mark.parametrize(
    ("control", "arm"),
    [
        ("shared_buffers=128MB", "shared_buffers=16GB"),
        ("/opt/postgresql/nightly/old/bin", "/opt/postgresql/nightly/new/bin"),
        ("effective_io_concurrency=1", "effective_io_concurrency=16"),
        ("基准版本数据库十八基准版本", "基准版本数据库十九基准版本"),
        ("x" * 300, "x" * 299 + "y"),
    ],
)
def test_columns_of_a_table_are_headed_by_names_that_differ(
    control: str, arm: str, width: int
) -> None:
    row = {"metric": "point.sql", "control": "6.31 ms", "arm": "24.2 ms", "reading": "+283 %"}
    head, line = contrast_table("mean", control, arm, [row], width)
    assert columns_of(head) <= width
    if "6.31" in line:
        _, first, second, _ = head.split()
        assert first != second
        assert head.index("change") == line.index("+283") - (columns_of(head) - len(head))


@pytest.mark.parametrize(
    ("control", "arm", "metric", "values"),
    [
        ("3 438 µs", "496.6 µs", "items.sql, µs", ("3 438", "496.6")),
        ("34.8 s", "49.6 s", "items.sql, s", ("34.8", "49.6")),
        ("3.43 ms", "4.96 ms", "items.sql, ms", ("3.43", "4.96")),
        ("1 min 18 s", "2 min 20 s", "items.sql", ("1 min 18 s", "2 min 20 s")),
        ("18 s", "1 min 20 s", "items.sql", ("18 s", "1 min 20 s")),
        ("< 0.001 images", "2 images", "items.sql, images", ("< 0.001", "2")),
    ],
)
def test_a_unit_goes_into_the_first_column_where_it_is_the_only_one(
    control: str, arm: str, metric: str, values: tuple[str, str]
) -> None:
    row = {"metric": "items.sql", "control": control, "arm": arm, "reading": "+2.5 %"}
    by_width = {
        width: contrast_table("a query", "off", "on", [row], width)[1] for width in range(20, 90)
    }
    assert all(value in by_width[89] for value in (control, arm))
    narrowest = next(line for line in by_width.values() if values[0] in line)
    assert re.split("  +", narrowest)[:3] == [metric, *values]


@given(st.text(st.sampled_from("ab 基准🐘é"), max_size=120), st.integers(20, 60))
def test_lines_fit_by_their_columns_and_lose_nothing(text: str, width: int) -> None:
    lines = broken(text, width, "", "  ")
    assert all(columns_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_what_a_list_leaves_out_is_counted_beneath_it() -> None:
    assert [rest_in_report(number, "plans") for number in (-3, 0)] == [[], []]
    assert rest_in_report(1, "plans") == ["and 1 plan more, in the report"]
    assert rest_in_report(2, "plans") == ["and 2 plans more, in the report"]
    assert rest_in_report(2) == ["and 2 more, in the report"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("−4 % →", 6), ("基准", 4), ("🐘 18", 5), ("e\u0301t", 2), ("ｱ", 1)],
)
def test_letters_take_their_columns(text: str, columns: int) -> None:
    assert columns_of(text) == columns
    if "\u0301" not in text:
        assert cell_len(text) == columns


@given(LETTERS, st.integers(0, 40))
def test_padded_text_fills_its_columns(text: str, width: int) -> None:
    for side in ("left", "right"):
        whole = padded(text, width, side)
        assert columns_of(whole) == max(width, columns_of(text))
        assert whole.strip(" ") == text.strip(" ")
