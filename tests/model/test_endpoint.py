"""Errors are named by what their server calls its codes."""

from __future__ import annotations

import pytest

from steelyard.model.endpoint import MYSQL, POSTGRES, SQLSERVER, error_words


@pytest.mark.parametrize(
    ("code", "protocol", "words"),
    [
        ("40001", POSTGRES, "SQLSTATE 40001"),
        ("57P01", POSTGRES, "SQLSTATE 57P01"),
        ("1205", MYSQL, "error 1205"),
        ("2013", MYSQL, "error 2013"),
        ("1205", SQLSERVER, "error 1205"),
        ("41302", SQLSERVER, "error 41302"),
        ("229", SQLSERVER, "error 229"),
        # The driver's own, which no number of the server's is.
        ("08001", SQLSERVER, "SQLSTATE 08001"),
        ("0K000", SQLSERVER, "SQLSTATE 0K000"),
    ],
)
def test_an_error_is_a_sqlstate_or_a_number(code: str, protocol: str, words: str) -> None:
    assert error_words(code, protocol) == words


def test_where_the_protocol_is_not_known_the_length_decides() -> None:
    assert error_words("1213") == "error 1213"
    assert error_words("23505") == "SQLSTATE 23505"
