"""No text of a captured statement stays readable, however it is written."""

from __future__ import annotations

import re

import pytest
from pglast import parse_sql

from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.redacting import redacted, redacted_piece
from steelyard.workloads.capturing.scripting import script_of
from steelyard.workloads.capturing.shapes import shape_of
from steelyard.workloads.capturing.statements import LoggedStatement
from steelyard.workloads.capturing.transactions import transactions


def test_a_text_is_hashed_in_every_quoting_and_a_secret_number_becomes_another() -> None:
    salt = b"salt"
    for literal in ("'Ann'", "E'Ann'", "$$Ann$$", "$a$Ann$a$", "U&'Ann'", "N'Ann'"):
        assert redacted(literal, salt, literal=True) == redacted("'Ann'", salt, literal=True)
    assert "416e6e" not in str(redacted("X'416e6e'", salt, literal=True))
    uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for plain, shape in (
        ("'4711'", r"'\d{4}'"),
        ("4711", r"\d{4}"),
        (f"'{uuid}'", r"'[0-9a-f-]{36}'"),
    ):
        drawn = str(redacted(plain, salt, literal=True, secret=True))
        assert drawn != plain
        assert re.fullmatch(shape, drawn)
        assert redacted(plain, salt, literal=True) == plain


@pytest.mark.parametrize(
    ("literal", "plain"),
    [
        ("U&'d!0061t' UESCAPE '!'", "'dat'"), ("u&'d\\0061t'", "'dat'"),
        ("U&'d\\+000061t'", "'dat'"), ("U&'a!!b' UESCAPE '!'", "'a!b'"),
        ("U&'\\D83D\\DE00'", "'\U0001f600'"), ("U&'a\\b' UESCAPE '+'", "'a\\b'"),
        ("U&'\\+ffffff'", "'\U0010ffff'"),
    ],
)  # fmt: skip
def test_a_text_with_unicode_escapes_is_hashed_as_what_it_stands_for(
    literal: str, plain: str
) -> None:
    assert redacted(literal, b"salt", literal=True) == redacted(plain, b"salt", literal=True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE k = U&'d!0061t' UESCAPE '!' AND n = {0}",
        "SELECT a FROM t WHERE k = u&'d!0061t' -- why\n uescape\n'!' AND n = {0}",
        "SELECT U&\"d!0061t\" UESCAPE '!' FROM t WHERE n = {0}",
        "SELECT U&'a', U&'b' UESCAPE '!', 'c', {0} FROM t",
    ],
)
@pytest.mark.parametrize("salt", [None, b"salt"])
def test_an_own_escape_stays_with_its_text(text: str, salt: bytes | None) -> None:
    events = [LoggedStatement("1", 0.0, 1.0, text.format(n), "simple") for n in range(2)]
    [kind] = mix_of(transactions(events)).kinds
    script, rows = script_of("s", kind, "simple", salt)
    assert rows == [["0"], ["1"]]
    statement = script.partition("\n")[2].removesuffix("\n;\n").replace(":p1", "1")
    assert shape_of(statement) is not None
    if salt is None:
        assert parse_sql(statement) == parse_sql(text.format(1))
    else:
        assert "0061t" not in statement


@pytest.mark.parametrize(
    "number", ["+4917112345670", "017112345670", "4111111111111111", "0049891234"]
)
@pytest.mark.parametrize("literal", [True, False])
def test_a_number_that_is_a_text_becomes_another_of_its_length(number: str, literal: bool) -> None:
    value = f"'{number}'" if literal else number
    drawn = str(redacted(value, b"salt", literal=literal))
    assert drawn == redacted(value, b"salt", literal=literal) != value
    assert len(drawn) == len(value)
    assert re.fullmatch(r"'?\+?\d+'?", drawn)
    assert drawn.lstrip("'").startswith("+") is number.startswith("+")


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        ("SELECT 1 /* user=Ann */ FROM t", "SELECT 1   FROM t"),
        ("SELECT 1 /* a /* Ann */ Ann */ FROM t", "SELECT 1   FROM t"),
        ("SELECT 1 -- Ann\nFROM t", "SELECT 1  \nFROM t"),
        ("/*+ IndexScan(t) */ SELECT", "/*+ IndexScan(t) */ SELECT"),
        ('SELECT "users"."id", "a_1"', 'SELECT "users"."id", "a_1"'),
        ('SELECT "--not a comment"', None), ('SELECT id AS "Ann Lee"', None),
        ('SELECT id AS "ANN"', None), ('SELECT id AS "a""b"', None),
    ],
)  # fmt: skip
def test_comments_go_and_names_that_need_quotes_are_hashed(piece: str, shown: str | None) -> None:
    drawn = redacted_piece(piece, b"salt")
    if shown is not None:
        assert drawn == shown
    else:
        name = piece[piece.index('"') :]
        assert re.fullmatch(r'"h[0-9a-f]{16}"', drawn.removeprefix(piece.removesuffix(name)))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("INSERT INTO users (id, name, pin_token) VALUES ({0}, 'a', 39473{0})", True),
        ("INSERT INTO users (id, token) VALUES ({0}, 1), (2, 39473{0})", True),
        ("SELECT pgp_sym_decrypt(a, 39473{0}) FROM t", True),
        ("UPDATE users SET token = 39473{0} WHERE id = 7", True),
        ("INSERT INTO orders (id, amount) VALUES ({0}, 39473{0})", False),
    ],
)
def test_numbers_that_are_secrets_by_the_whole_statement_become_others(
    text: str, secret: bool
) -> None:
    events = [LoggedStatement("1", 0.0, 1.0, text.format(n), "simple") for n in range(100, 110)]
    [kind] = mix_of(transactions(events)).kinds
    _, rows = script_of("s", kind, "simple", b"salt")
    written = {value for row in rows for value in row}
    numbers = {f"39473{n}" for n in range(100, 110)}
    assert (numbers <= written, numbers.isdisjoint(written)) == (not secret, secret)
