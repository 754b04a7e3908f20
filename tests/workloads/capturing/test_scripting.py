"""A script sends each statement as it was: what looks like a variable stays text."""

from __future__ import annotations

import pytest

from steelyard.workloads.capturing.mix import TransactionKind
from steelyard.workloads.capturing.scripting import escaped_literal, script_of
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.statements import Protocol


def script(text: str, rows: list[tuple[str | None, ...]], mode: Protocol) -> tuple[str, object]:
    """Of a statement of which the parameters had these values."""
    read = shape_of(text)
    assert read is not None
    shape, literals = read
    values = [
        tuple(
            literal if number is None else row[number - 1]
            for number, literal in zip(shape.numbers, literals, strict=True)
        )
        for row in rows
    ]
    words, drawn = script_of("s", TransactionKind((shape,), len(rows), rows=list(values)), mode)
    return words.removesuffix("\n;\n"), drawn


@pytest.mark.parametrize(
    ("literal", "written"),
    [
        ("'a:scale'", "E'a\\x3Ascale'"), ("'a:other b:c'", "'a:other b:c'"),
        ("'10:30:00'", "'10:30:00'"), ("'a::scale'", "'a::scale'"),
        ("'it''s \\ :p1'", "E'it''s \\\\ \\x3Ap1'"), ("E'\\n:p1'", "E'\\n\\x3Ap1'"),
        ("E'\\:p1'", "E'\\x3Ap1'"), ("$q$it's \\ :p1$q$", "E'it''s \\\\ \\x3Ap1'"),
        ("U&'\\0061:p1'", "U&'\\0061\\003Ap1'"),
        ("U&'!0061:p1' UESCAPE '!'", "U&'!0061!003Ap1' UESCAPE '!'"), ("7", "7"),
        ("'a:p1 '\n 'b'", "E'a\\x3Ap1 b'"), ("N':p1'", "NCHAR E'\\x3Ap1'"), ("n'a'", "n'a'"),
    ],
)  # fmt: skip
def test_a_literal_with_a_variables_name_is_written_otherwise(literal: str, written: str) -> None:
    assert escaped_literal(literal) == written


@pytest.mark.parametrize(
    ("literal", "written"),
    [
        ("'a\r\nb'", "E'a\\r\nb'"), ("'it''s \\\r'", "E'it''s \\\\\\r'"),
        ("E'\\\\\r\\\r\\n'", "E'\\\\\\r\\r\\n'"), ("e'\r:p1'", "e'\\r\\x3Ap1'"),
        ("$q$it's\r$q$", "E'it''s\\r'"), ("U&'\\0061\r'", "U&'\\0061\\000D'"),
        ("U&'!0061\r' UESCAPE '!'", "U&'!0061!000D' UESCAPE '!'"),
        ("'a\r'\r\n'it''s'", "E'a\\rit''s'"), ("N'a\r'", "NCHAR E'a\\r'"),
        ("E'a\\''\r\n'b\r'", "E'a\\'b\\r'"), ("U&'a'\r\n'\r'", "U&'a\\000D'"),
    ],
)  # fmt: skip
def test_a_carriage_return_in_a_literal_is_escaped(literal: str, written: str) -> None:
    assert escaped_literal(literal) == written


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
@pytest.mark.parametrize("literal", ["'a\r\nb'", "$$\r$$", "E'\r\\n'", "N'\r'"])
def test_no_script_holds_a_carriage_return_of_a_literal(mode: Protocol, literal: str) -> None:
    """A script is read with line feeds alone, rows with what they escape."""
    words, rows = script(f"SELECT 1\n, {literal}", [()], mode)
    assert "\r" not in words
    assert rows == ([[literal]] if mode == "simple" else [])


def test_in_simple_mode_every_name_after_a_colon_is_drawn_as_it_stands() -> None:
    words, rows = script("SELECT 'a:b' /* :scale */ AS \"x:y\" -- :z", [()], "simple")
    assert words == '\\draw s p1 p2 p3 p4\nSELECT :p1 /* :p2 */ AS "x:p3" -- :p4'
    assert rows == [["'a:b'", ":scale", ":y", ":z"]]


@pytest.mark.parametrize(
    ("text", "row", "words", "drawn"),
    [
        ("SELECT ($1 = 1 OR $1 IS NULL)", ("7",), "SELECT (:p1 = 1 OR :p1 IS NULL)", ["7"]),
        ("SELECT a[$1:$2], a[i:j]", ("1", "2"), "SELECT a[:p1 : :p2], a[i: j]", ["1", "2"]),
        ("SELECT a[1:$1]", ("2",), "SELECT a[1: :p1]", ["2"]),
        ("SELECT a=$1and b=$2", ("1", "2"), "SELECT a= :p1 and b= :p2", ["1", "2"]),
        ("SELECT $1::int, $2", ("1", None), "SELECT :p1::int, :p2", ["1", None]),
        ("SELECT $2, $1", ("1", "2"), "SELECT :p1, :p2", ["2", "1"]),
        ("SELECT $1; -- done", ("1",), "SELECT :p1 -- done", ["1"]),
    ],
)
def test_a_parameter_is_one_variable_that_touches_nothing(
    text: str, row: tuple[str | None, ...], words: str, drawn: list[str | None]
) -> None:
    made, rows = script(text, [row], "extended")
    assert made.partition("\n")[2] == words
    assert rows == [drawn]


def test_a_value_with_a_sign_makes_no_comment_of_the_minus_before_it() -> None:
    read = [shape_of(text) for text in ("SELECT a -1", "SELECT a - -1", "SELECT a-2")]
    kinds = {shape[0].key for shape in read if shape is not None}
    assert len(kinds) == 1
    assert read[0] is not None
    kind = TransactionKind((read[0][0],), 2, rows=[("-1",), ("1",)])
    assert script_of("s", kind, "simple")[0].startswith("\\draw s p1\nSELECT a - :p1\n;")
