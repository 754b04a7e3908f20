"""A URI of a server is split, and no message shows a part of its password."""

from __future__ import annotations

import pytest

from steelyard.engines.access.server_uri import hidden, split_uri
from steelyard.engines.mysql.uri import read_uri as read_mysql
from steelyard.engines.sqlserver.adapter import reach
from steelyard.engines.sqlserver.uri import read_uri as read_sqlserver
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret

UNCLEAR = (
    *("u:se/cret@h/d", "u:12/secret@h/d", "u:a?secret@h", "u:12?socket=secret@h"),
    *("u:a#secret@h/d", "u:12#secret@h/d", "u:[secret@h/d", "u:sec]ret@h/d"),
    *("u:p@ss/secret@h/d", "u:p@ss?secret&y=1@h/d", "u:℀secret@h/d", "u:secret"),
)
"""Passwords with letters that end the place of a host, or with no host behind them."""


@pytest.mark.parametrize("rest", UNCLEAR)
def test_a_password_whose_end_is_not_clear_is_refused_and_not_shown(rest: str) -> None:
    for scheme, read in (("mysql", read_mysql), ("sqlserver", read_sqlserver)):
        with pytest.raises(UsageError, match="invalid URI of a server") as refused:
            read(f"{scheme}://{rest}")
        said = str(refused.value)
        assert f'"{scheme}://' in said
        assert not [part for part in ("secret", "se/cret", "sec]ret", "cret") if part in said]
        assert "%2F" in said
        assert refused.value.__cause__ is None


def test_letters_that_are_written_with_their_numbers_are_a_password() -> None:
    uri = split_uri("mysql://u:%2F%3F%23%5B%5D%40%3A@h:1/d?socket=/run/a@b", 3306)
    assert (uri.user, uri.password, uri.host, uri.port) == ("u", Secret("/?#[]@:"), "h", 1)
    assert (uri.database, list(uri.words)) == ("d", [("socket", "/run/a@b")])
    assert uri.bare == "mysql://u@h:1/d?socket=/run/a@b"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("mysql://u:p@h/d", "mysql://…@h/d"),
        ("mysql://u:p@ss@h/d", "mysql://…@h/d"),
        ("mysql://h/d", "mysql://h/d"),
        ("mysql://u:p", "mysql://u:…"),
        ("host=h", "host=h"),
    ],
)
def test_what_is_shown_is_what_follows_the_last_at(target: str, shown: str) -> None:
    assert hidden(target) == shown


def test_an_address_of_another_server_is_not_shown_with_its_password_either() -> None:
    with pytest.raises(UsageError, match="no address of a SQL Server") as refused:
        reach("mysql://u:secret@h/d", None, {}, None)
    assert "secret" not in str(refused.value)
