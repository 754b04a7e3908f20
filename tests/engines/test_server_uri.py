"""A URI of a server is split, and no message shows a part of its password."""

from __future__ import annotations

import pytest

from steelyard.engines.mysql.uri import read_uri as read_mysql
from steelyard.engines.postgres.libpq.connection_words import require_clear
from steelyard.engines.server_uri import hidden, split_uri
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
    "where",
    ["h,1433", "h1,h2", "(local)", ".", "h;database=d", "h;words=1:9", "h:0", "h h", "h+x", "$h"],
)
def test_what_is_not_one_host_and_port_is_refused_with_what_to_type(where: str) -> None:
    for scheme, read in (("mysql", read_mysql), ("sqlserver", read_sqlserver)):
        with pytest.raises(UsageError, match=r"no host and port|invalid URI") as refused:
            read(f"{scheme}://u:secret@{where}/d")
        assert "secret" not in str(refused.value)
        assert "host:" in str(refused.value.hint)


@pytest.mark.parametrize(
    "host",
    ["h", "db-1.example", "10.0.0.1", "_srv", "münchen.example", "[::1]", "[fe80::1%25eth0]"],
)
def test_a_name_or_an_address_is_a_host(host: str) -> None:
    bare = host.strip("[]").replace("%25", "%")
    assert split_uri(f"mysql://u@{host}:9/d", 3306).host == bare


@pytest.mark.parametrize(
    ("words", "twice"),
    [
        ("encrypt=mandatory&encrypt=disable", "encrypt"),
        ("encrypt=mandatory&Encrypt=disable", "encrypt"),
        ("TrustServerCertificate=yes&trust-server-certificate=no", "trust-server-certificate"),
        ("connect-timeout=5&connect-timeout=6", "connect-timeout"),
    ],
)
def test_a_word_has_one_value(words: str, twice: str) -> None:
    with pytest.raises(UsageError, match=f"two values of {twice}"):
        read_sqlserver(f"sqlserver://u@h/d?{words}")
    assert read_sqlserver("sqlserver://u@h/d?encrypt=strict&Encrypt=strict").tls is not None
    with pytest.raises(UsageError, match="two values of ssl-mode"):
        read_mysql("mysql://u@h/d?ssl-mode=required&ssl-mode=disabled")


def test_a_slash_of_a_name_is_written_with_its_number() -> None:
    for scheme, read in (("mysql", read_mysql), ("sqlserver", read_sqlserver)):
        assert read(f"{scheme}://u@h/a%2Fb").database == "a/b"
        for path in ("a/b", "a/"):
            with pytest.raises(UsageError, match=r"no database of one name|instances are not"):
                read(f"{scheme}://u@h/{path}")


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


@pytest.mark.parametrize(
    ("target", "scheme"),
    [
        ("mysql+pymysql://root@db/shop", "mysql://"),
        ("MariaDB+mariadbconnector://root@db/shop", "mysql://"),
        ("mssql+pyodbc://sa@db/shop", "sqlserver://"),
        ("postgresql+psycopg2://app@db/shop", "postgresql://"),
        ("postgresql://app@db/shop", None),
    ],
)
def test_a_uri_of_another_library_is_told_how_ours_begins(target: str, scheme: str | None) -> None:
    if scheme is None:
        require_clear(target)
        return
    with pytest.raises(UsageError) as refused:
        require_clear(target)
    assert f"begins with {scheme}." in (refused.value.hint or "")
