"""What is cut off in a csvlog takes nothing else with it, and is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.errors import UsageError
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    CUT,
    FOREIGN,
    csv,
    entries,
    outcomes,
    stderr,
    texts,
)

ODD = "select \"A\", 'x\ny' from t"


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.integers(60, 170), st.sampled_from(["", "\n", "\0\0\n"]), st.booleans())
def test_a_cut_anywhere_is_one_entry_that_is_not_whole(
    folder: Path, at: int, end: str, headings: bool
) -> None:
    before = [f"select a from t where id = {n}" for n in range(3)]
    after = ['select "b",\n  c from u', *before]
    text = "".join(csv(n, each) for n, each in enumerate(before))
    rest = "".join(csv(10 + n, each) for n, each in enumerate(after))
    head = "log_time,user_name,database_name\n" if headings else ""
    read = entries(folder, head + text + csv(5, ODD)[:at] + end + rest)
    assert texts(read) == [*before, *after]
    assert [entry.whole for entry in read].count(False) == 1


def test_what_began_before_the_file_is_counted_once(tmp_path: Path) -> None:
    own = csv(1, "select 1") + csv(2, "select 2")
    tail = csv(0, "select 'a,\n\nb, c, d' from t\nwhere id = 1").split("\n", 1)[1]
    assert outcomes(tmp_path, tail + own) == {CUT: 1, CAPTURED: 2}
    many = "\n".join(f"line {number}" for number in range(900))
    tail = csv(0, f"do $$\n{many}\n$$").split("\n", 1)[1]
    assert outcomes(tmp_path, tail + own) == {CUT: 1, CAPTURED: 2}


def test_a_text_that_looks_like_an_entry_is_none(tmp_path: Path) -> None:
    inner = f"select '\n{csv(7, 'select 7')}'"
    assert texts(entries(tmp_path, csv(1, inner) + csv(2, "select 2"))) == [inner, "select 2"]


def test_a_stderr_log_with_many_commas_is_no_csvlog(tmp_path: Path) -> None:
    text = "select " + ", ".join("abcdefghijklmnop")
    assert texts(entries(tmp_path, stderr(1, text))) == [text]


def test_lines_of_another_format_are_counted_and_many_are_refused(tmp_path: Path) -> None:
    own = "".join(csv(n, f"select {n}") for n in range(5))
    assert outcomes(tmp_path, own + stderr(7, "select 7") + own) == {CAPTURED: 10, FOREIGN: 1}
    with pytest.raises(UsageError, match="20 statements are in another format"):
        entries(tmp_path, own + stderr(7, "select 7") * 20)


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n"])
def test_line_ends_of_other_systems_are_read(tmp_path: Path, end: str) -> None:
    own = "".join(csv(n, f"select {n}") for n in range(3))
    assert texts(entries(tmp_path, own.replace("\n", end))) == [f"select {n}" for n in range(3)]


@pytest.mark.parametrize("headings", ["", "log_time,user_name\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_line_feeds_of_values_are_no_line_ends_of_the_file(
    tmp_path: Path, end: str, headings: str
) -> None:
    """Windows writes a carriage return before each, within values too."""
    written = ["select 'a\n\nb'", "select 'a\r\nb'", "select '\r', 'a\r'", "select 'a\n'"]
    own = headings + "".join(csv(n, text) for n, text in enumerate(written))
    assert texts(entries(tmp_path, own.replace("\n", end))) == written


@pytest.mark.parametrize("write", [csv, stderr])
def test_carriage_returns_alone_are_refused(tmp_path: Path, write: object) -> None:
    own = "".join((csv if write is csv else stderr)(n, f"select {n}") for n in range(3))
    with pytest.raises(UsageError, match="carriage returns alone"):
        entries(tmp_path, own.replace("\n", "\r"))


def test_columns_of_versions_to_come_are_read(tmp_path: Path) -> None:
    own = "".join(csv(n, f"select {n}").replace(",0\n", ',0,"new",7\n') for n in range(3))
    assert texts(entries(tmp_path, own)) == [f"select {n}" for n in range(3)]
