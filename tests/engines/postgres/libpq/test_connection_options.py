"""Every option and variable of libpq is used, sent, without effect, or refused: none is dropped."""

from __future__ import annotations

import os

import pytest
from psycopg import pq

from steelyard.engines.postgres.libpq.connection_string import read_target
from steelyard.engines.postgres.libpq.connection_words import (
    REFUSED,
    SENT,
    USED,
    WITHOUT_EFFECT,
)
from steelyard.model.errors import UsageError


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)


def test_each_option_that_libpq_knows_is_in_one_class() -> None:
    known = [option.keyword.decode() for option in pq.Conninfo.get_defaults()]
    classes = (USED, SENT, WITHOUT_EFFECT, set(REFUSED))
    counted = {option: sum(option in one for one in classes) for option in known}
    assert {option for option, count in counted.items() if count != 1} == set()
    assert len(known) > 45


@pytest.mark.parametrize("option", sorted(REFUSED))
def test_an_option_that_cannot_be_carried_out_is_refused_by_name_without_its_value(
    option: str,
) -> None:
    if option == "gssencmode" or option.endswith("_protocol_version"):
        value = {"gssencmode": "require"}.get(option, "3.2")
    elif option == "sslcertmode":
        value = "require"
    elif option == "gssdelegation":
        value = "1"
    else:
        value = "marked"
    with pytest.raises(UsageError) as refused:
        read_target(f"host=h user=u dbname=d {option}={value}")
    said = str(refused.value)
    assert option in said or "invalid connection string" in said
    assert "marked" not in said


@pytest.mark.parametrize("option", sorted(REFUSED))
def test_its_values_that_request_nothing_are_taken(option: str) -> None:
    for value in REFUSED[option]:
        assert read_target(f"host=h user=u dbname=d {option}={value}").host == "h"


@pytest.mark.parametrize("conninfo", ["host=h user=u password=p", "host='h' user=u password=p"])
@pytest.mark.parametrize(
    ("variable", "value", "settings"),
    [
        ("PGGEQO", "off", (("geqo", "off"),)),
        ("PGTZ", "Asia/Tokyo", (("timezone", "Asia/Tokyo"),)),
        ("PGDATESTYLE", "German", (("datestyle", "German"),)),
        ("PGCLIENTENCODING", "LATIN1", (("client_encoding", "LATIN1"),)),
        ("PGTZ", "Default", ()),
    ],
)
def test_what_libpq_sends_from_the_environment_is_sent(
    conninfo: str,
    variable: str,
    value: str,
    settings: tuple[tuple[str, str], ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, value)
    assert read_target(conninfo).settings == settings


def test_the_encoding_of_the_string_goes_before_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGGEQO", "off")
    target = read_target("postgresql://u@h/d?client_encoding=SQL_ASCII")
    assert target.settings == (("client_encoding", "SQL_ASCII"), ("geqo", "off"))


@pytest.mark.parametrize(
    ("options", "encoding"),
    [
        ("-c client_encoding=LATIN1", "LATIN1"),
        ("-cclient_encoding=LATIN1", "LATIN1"),
        ("--client-encoding=LATIN1 -c geqo=on", "LATIN1"),
        ("-c client_encoding=UTF8 -c CLIENT_ENCODING=EUC\\\\ JP", "EUC JP"),
        ("-c geqo=on", None),
    ],
)
def test_an_encoding_among_the_options_is_the_sessions(options: str, encoding: str | None) -> None:
    """The driver's own would count before it, without a word."""
    settings = dict(read_target(f"host=h user=u options='{options}'").settings)
    assert settings.get("client_encoding") == encoding


@pytest.mark.long
def test_the_name_of_last_resort_is_sent_where_there_is_no_other() -> None:
    name = "fallback_application_name=mine"
    assert read_target(f"host=h {name}").application_name == "mine"
    assert read_target(f"host=h {name} application_name=own").application_name == "own"


@pytest.mark.parametrize(
    ("conninfo", "said"),
    [
        ("host=h port=0", 'invalid port number: "0"'),
        ("host=@interop", "sockets without a file are not supported"),
        ("host=@interop sslmode=require", "sockets without a file are not supported"),
    ],
)
def test_places_that_cannot_be_reached_are_named(conninfo: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_target(conninfo)
    assert said in str(refused.value)
