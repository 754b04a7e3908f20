"""Tests that lines become statements of INSERT that hold them all, and are not too long."""

from __future__ import annotations

from itertools import repeat

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driver.mysql_double import Double
from steelyard._core import RowStream
from steelyard.engines.mysql.sql.loader import inserts, load_lines, load_statement
from steelyard.engines.mysql.sql.session import connected
from steelyard.engines.mysql.uri import read_uri

HEAD = b"INSERT INTO t VALUES "


def test_a_line_becomes_a_row_of_quoted_fields() -> None:
    chunk = b"1\t\\N\tit's\ta\\tb\\\\N\n-2\t\t\\\\N\t.\n"
    assert list(inserts(HEAD, [chunk], 1000)) == [
        HEAD + rb"('1',NULL,'it''s','a\tb\\N'),('-2','','\\N','.')"
    ]


@given(st.lists(st.integers(0, 10**9), min_size=1), st.integers(30, 200))
def test_no_statement_is_longer_than_allowed_and_no_row_is_lost(
    numbers: list[int], most: int
) -> None:
    lines = "".join(f"{number}\n" for number in numbers).encode()
    statements = list(inserts(HEAD, [lines[:0], lines], most))
    assert all(len(one) <= most or b"),(" not in one for one in statements)
    rows = [row for one in statements for row in one.removeprefix(HEAD).split(b",")]
    assert rows == [f"('{number}')".encode() for number in numbers]


def test_the_statement_names_columns_and_no_file() -> None:
    words = load_statement("t", ("a", "b"))
    assert words.startswith("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t CHARACTER SET utf8mb4 ")
    assert words.endswith("(a, b)")
    assert "(" not in load_statement("t", ())


def test_a_connection_that_is_lost_while_rows_are_sent_is_said_to_be_lost() -> None:
    statement = load_statement("t", ())
    with (
        Double(leaves_at="LOAD DATA").running() as double,
        connected(read_uri(double.uri()), sends_rows=True) as connection,
    ):
        with pytest.raises(pymysql.OperationalError) as lost:
            load_lines(connection, statement, repeat(b"1\n" * 5000, 10_000), 1 << 16)
        assert lost.value.args[0] in (2006, 2013)
        assert not connection.open


def test_both_encodings_have_the_same_rows_and_sum() -> None:
    made = {}
    for encoding in ("copy", "lines"):
        stream = RowStream("reserva", "cards", 1, {"banks": "50"}, 7, encoding=encoding)
        size = sum(len(chunk) for chunk in stream)
        made[encoding] = (stream.sent, stream.control_sum)
        assert stream.rows == 1000
        assert size > 0
    assert made["copy"] == made["lines"]
    with pytest.raises(ValueError, match='there is no encoding "csv"'):
        RowStream("reserva", "cards", 1, {}, 7, encoding="csv")
