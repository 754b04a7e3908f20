"""Control sessions exchange texts whatever their database is encoded in, and leave settings be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from own_cache import own_server
from steelyard.engines.engine import Instance
from steelyard.engines.postgres.guarded.connection import guarded
from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.postgres.sql.plans import plans_in
from steelyard.engines.postgres.sql.session import connect, read_settings, settings_in
from steelyard.model.errors import EngineError, ServerError

pytestmark = pytest.mark.postgres

WORDS = {
    "UTF8": "grün 中",
    "SQL_ASCII": "grün 中",
    "LATIN1": "grün",
    "EUC_TW": "中",
    "WIN1251": "ж",
}
"""Encoding of a database -> a word that it can hold."""
SESSIONS: dict[str, Callable[[str], Any]] = {
    "own": connect_in_utf8,
    "telemetry": connect,
    "guarded": lambda conninfo: guarded(conninfo, where="here"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Instance]:
    """With a database of each encoding, and one that nothing converts to UTF-8."""
    with own_server("18", {"shared_buffers": "16MB"}) as instance:
        with psycopg.connect(conninfo_of(instance.address), autocommit=True) as session:
            for encoding in (*WORDS, "MULE_INTERNAL"):
                name = encoding.lower()
                session.execute(
                    f"CREATE DATABASE in_{name} TEMPLATE template0 ENCODING '{encoding}'".encode()
                )
        yield instance


def conninfo(server: Instance, encoding: str) -> str:
    return conninfo_of(replace(server.address, database=f"in_{encoding.lower()}"))


@pytest.mark.parametrize("kind", SESSIONS)
@pytest.mark.parametrize("encoding", WORDS)
def test_texts_go_and_come_in_utf8_whatever_the_database_is_encoded_in(
    server: Instance, encoding: str, kind: str
) -> None:
    word = WORDS[encoding]
    with SESSIONS[kind](conninfo(server, encoding)) as session:
        query = f"SELECT '{word}', current_database(), ARRAY['{word}'], octet_length('{word}')"
        row = session.execute(query.encode()).fetchone()
        octets = len(word.encode("utf-8" if encoding == "SQL_ASCII" else _codec(encoding)))
        assert row == (word, f"in_{encoding.lower()}", [word], octets)
        assert session.execute("SELECT %s::text", [word]).fetchone() == (word,)
        plans = plans_in(session, {"q": f"SELECT 1 FROM pg_database WHERE '{word}' = datname;"})
        assert [word in plan for plan in plans.values()] == [True]
        assert settings_in(session)["client_encoding"] == encoding


def _codec(encoding: str) -> str:
    """Python has no EUC_TW: its bytes are as many as those of GBK here."""
    return {"LATIN1": "latin-1", "WIN1251": "cp1251", "EUC_TW": "gbk"}.get(encoding, "utf-8")


@pytest.mark.parametrize("named", ["SQL_ASCII", "LATIN1"])
def test_what_the_environment_or_the_string_names_counts_for_the_load_alone(
    server: Instance, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = conninfo(server, "UTF8")
    for string in (f"{target} client_encoding={named}", target):
        for kind, open_session in SESSIONS.items():
            with open_session(string) as session:
                assert session.execute("SELECT 'grün'::text").fetchone() == ("grün",), kind
                assert settings_in(session)["client_encoding"] == named
        monkeypatch.setenv("PGCLIENTENCODING", named)


@pytest.mark.parametrize("encoding", WORDS)
def test_settings_are_read_in_every_encoding_as_the_server_has_them(
    server: Instance, encoding: str
) -> None:
    address = replace(server.address, database=f"in_{encoding.lower()}")
    settings = read_settings(address)
    assert (settings["client_encoding"], settings["server_encoding"]) == (encoding, encoding)
    assert settings["shared_buffers"] == "2048 8kB"


@pytest.mark.long
def test_what_cannot_be_converted_is_refused_in_the_servers_words(server: Instance) -> None:
    target = conninfo(server, "MULE_INTERNAL")
    for kind, open_session in SESSIONS.items():
        with pytest.raises((psycopg.Error, EngineError)) as refused:
            open_session(target)
        shown = f"{refused.value} {getattr(refused.value, 'detail', '')}"
        assert "UTF8 and MULE_INTERNAL" in shown, kind
    address = replace(server.address, database="in_mule_internal")
    with pytest.raises(ServerError, match="could not work on database"), connected(address):
        pass
