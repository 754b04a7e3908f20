"""Tests that a server's version says what it is, and that one which is too old is refused."""

from __future__ import annotations

import pytest

from steelyard.engines.mysql.sql.variables import product_of
from steelyard.model.errors import EngineError


@pytest.mark.parametrize(
    ("words", "kind", "version"),
    [
        ("5.7.29", "mysql", (5, 7)),
        ("8.0.36-28", "mysql", (8, 0)),
        ("10.11.19-MariaDB-0+deb12u1", "mariadb", (10, 11)),
        ("5.5.5-10.3.39-MariaDB", "mariadb", (10, 3)),
    ],
)
def test_a_version_tells_the_product(words: str, kind: str, version: tuple[int, int]) -> None:
    found = product_of(words)
    assert (found.kind, found.version) == (kind, version)
    found.require_usable("h")


@pytest.mark.parametrize("words", ["5.6.51", "5.5.5-10.2.44-MariaDB", "5.5.68-MariaDB", "?"])
def test_what_is_too_old_is_refused_with_the_oldest_that_are_not(words: str) -> None:
    with pytest.raises(EngineError, match="is too old") as caught:
        product_of(words).require_usable("db.example")
    assert words in str(caught.value)
    assert caught.value.detail == "The oldest that are worked with: MySQL 5.7 and MariaDB 10.3."
