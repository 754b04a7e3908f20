"""Connection strings as libpq reads them, and as it takes them."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    client_flags,
    conninfo_of,
    read_target,
)
from steelyard.engines.postgres.libpq.connection_words import connection_words
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "HOSTADDR", "PORT", "USER", "DATABASE", "PASSWORD", "SERVICE"):
        monkeypatch.delenv(f"PG{name}", raising=False)


def plain(target: Endpoint) -> Endpoint:
    """A target but for its words, and its encryption, which has tests of its own."""
    address = {field.name: getattr(target, field.name) for field in fields(Endpoint)}
    return Endpoint(**{**address, "tls": None})


@pytest.mark.parametrize(
    "conninfo",
    [
        "host=/tmp/x port=6000 user=u dbname=d password=p",
        "host='/tmp/x' port=6000 user=u dbname=d password=p",
        "postgresql://u:p@%2Ftmp%2Fx:6000/d",
        "postgresql:///d?host=/tmp/x&port=6000&user=u&password=p",
    ],
)
def test_every_way_of_writing_gives_the_same_target(conninfo: str) -> None:
    assert plain(read_target(conninfo)) == Endpoint("/tmp/x", 6000, "u", "d", Secret("p"))


@pytest.mark.parametrize("conninfo", ["host=h", "host='h'", "postgresql://h"])
def test_what_is_not_said_is_as_libpq_has_it(conninfo: str) -> None:
    user = getpass.getuser()
    assert plain(read_target(conninfo)) == Endpoint("h", 5432, user, user)


@pytest.mark.parametrize("conninfo", ["host=h", "host='h'"])
def test_the_environment_is_heeded(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PGPORT", "7000"), ("PGUSER", "u"), ("PGDATABASE", "d")):
        monkeypatch.setenv(name, value)
    assert plain(read_target(conninfo)) == Endpoint("h", 7000, "u", "d")


def test_single_words_give_way_to_the_string() -> None:
    def read(conninfo: str) -> Endpoint:
        return plain(read_target(conninfo, host="h", port="6000", user="u"))

    assert read("bench") == Endpoint("h", 6000, "u", "bench")
    assert read("port=7000 dbname=d") == Endpoint("h", 7000, "u", "d")
    assert read("postgresql://v@elsewhere/d") == Endpoint("elsewhere", 6000, "v", "d")
    assert read("application_name='my own'").application_name == "my own"
    with pytest.raises(UsageError, match="invalid connection string"):
        read("hoost=h")


def test_a_word_alone_is_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "/tmp")
    assert read_target("bench").database == "bench"


def test_an_empty_target_is_the_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_target("").host.startswith("/")
    monkeypatch.setenv("PGHOST", "elsewhere")
    assert read_target("").host == "elsewhere"


@pytest.mark.parametrize(
    "conninfo",
    [
        "host=h port=0",
        "host=h sslmode=bogus",
        "hoost=h",
        "service=nowhere",
    ],
)
def test_what_cannot_be_driven_is_wrong_usage(conninfo: str) -> None:
    with pytest.raises(UsageError):
        read_target(conninfo)


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(read_target("host=h password=secret"))


def with_a_user(target: str) -> Endpoint:
    return read_target(target, user="u")


@pytest.mark.parametrize("read", [connection_words, read_target, with_a_user])
@pytest.mark.parametrize(
    "target",
    [
        "mysql://u:secret@h/d",
        "mysql://u:secret@h/d?x=1",
        " postgresql://u:secret@h/d",
        "postgresql://u:p/secret@h/d",
        "postgresql://u:p@secret@h/d",
        "postgresql://u:secret@h/d?nonsense=1",
        "hoost=h password=secret",
        "host=h password=my secret",
    ],
)
def test_a_password_in_what_is_not_understood_is_in_no_message(
    target: str, read: Callable[[str], object]
) -> None:
    with pytest.raises(UsageError, match="invalid connection string") as refused:
        read(target)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_why_a_string_without_a_password_is_invalid_is_said() -> None:
    with pytest.raises(UsageError, match='invalid connection string: "hoost=h"') as refused:
        connection_words("hoost=h")
    assert 'invalid connection option "hoost"' in str(refused.value)


@pytest.mark.parametrize(
    "target",
    [
        "postgresql://u:p?s#w@h:6000/d",
        "postgresql://u@h:6000/d?user=a@b",
        "postgresql://u@[::1]:6000,h:6001/d",
    ],
)
def test_what_libpq_understands_is_taken(target: str) -> None:
    assert connection_words(target)["dbname"] == "d"


HERE = Endpoint("/tmp/x", 6000, "u", "d", password=Secret("secret"))


def test_what_is_written_is_read_as_the_same_address_without_the_password() -> None:
    assert plain(read_target(conninfo_of(HERE))) == replace(HERE, password=None)
    assert client_flags(HERE) == ["-h", "/tmp/x", "-p", "6000", "-U", "u"]


@pytest.mark.parametrize(
    ("conninfo", "words"),
    [
        ("host=h user=u dbname=d password=p", {"password": "p"}),
        ("host=h user=u dbname=d password='p \\'q\\\\'", {"password": "p 'q\\"}),
        ("postgresql://u:p%40@h/d?sslmode=require", {"password": "p@", "sslmode": "require"}),
        ("hostaddr=127.0.0.9 host=h user=u dbname=d", {"hostaddr": "127.0.0.9", "host": "h"}),
        ("d", {"dbname": "d", "host": "/tmp/it's", "user": "u"}),
        ("port=7000", {"port": "7000", "host": "/tmp/it's", "user": "u"}),
    ],
)
def test_control_sessions_connect_by_the_words_that_were_given(
    conninfo: str, words: dict[str, str]
) -> None:
    alone = conninfo in {"d", "port=7000"}
    target = read_target(conninfo, host="/tmp/it's", user="u") if alone else read_target(conninfo)
    for address in (target, replace(target, database="other")):
        expected = {**words, "dbname": address.database}
        connected_by = connection_words(conninfo_of(address))
        assert {word: connected_by[word] for word in expected} == expected


def test_a_given_address_keeps_its_words_but_for_the_database() -> None:
    words = "host=/tmp/x port=6000 user=u dbname=d application_name=mine"
    given = GivenAddress("/tmp/x", 6000, "u", "other", words=words)
    expected = {**connection_words(words), "dbname": "other"}
    assert connection_words(conninfo_of(given)) == expected


@pytest.mark.parametrize(
    "target", ["u:S3cretPw@h/db", "postgresql:/u:S3cretPw@h/db", "h:5432:d:u:S3cretPw"]
)
def test_a_slip_is_no_name_of_a_database_and_is_not_shown(target: str) -> None:
    with pytest.raises(UsageError, match="no connection string") as refused:
        read_target(target)
    assert "S3cretPw" not in str(refused.value)
    assert "postgresql://USER@HOST" in str(refused.value.hint)


@pytest.mark.parametrize("name", ["shop", "my shop", "shop-2026", "Läden", "a.b"])
def test_names_of_databases_stay(name: str) -> None:
    assert read_target(name, host="/tmp/x").database == name
