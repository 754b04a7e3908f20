"""Rows as lines become INSERTs of T-SQL, no more of them in one than the server takes."""

from __future__ import annotations

from steelyard.engines.sqlserver.database import MOST_ROWS, inserts


def test_fields_are_literals_whatever_is_in_them() -> None:
    lines = "1\tit's\t\\N\n2\ta\\tb\\\\c\\nd\té\n"
    [statement] = inserts("INSERT INTO [t] VALUES", [lines.encode()])
    assert statement == ("INSERT INTO [t] VALUES (N'1',N'it''s',NULL),(N'2',N'a\tb\\c\nd',N'é')")


def test_a_statement_has_as_many_rows_as_the_server_takes() -> None:
    chunk = b"".join(b"%d\n" % number for number in range(2 * MOST_ROWS + 1))
    found = [statement.count("(") for statement in inserts("INSERT INTO [t] VALUES", [chunk])]
    assert found == [MOST_ROWS, MOST_ROWS, 1]


def test_long_rows_are_in_several_statements() -> None:
    chunk = (b"x" * 300_000 + b"\n") * 3
    found = [statement.count("(") for statement in inserts("INSERT INTO [t] VALUES", [chunk])]
    assert found == [1, 1, 1]


def test_no_rows_are_no_statement() -> None:
    assert list(inserts("INSERT INTO [t] VALUES", [b"", b""])) == []
