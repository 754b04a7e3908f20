"""What a study of running servers may hold, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from steelyard.model.errors import StudyError
from steelyard.study.address import address_text, address_words, server_text
from steelyard.study.read import read_study
from steelyard.study.secrets import holds_password
from steelyard.study.study import Study


def study(**changes: Any) -> Study:
    facts: dict[str, Any] = {
        "name": "far",
        "title": "t",
        "question": "q",
        "address": "host=db1",
        "control": {"name": "a"},
        "arms": [{"name": "b", "settings": {"jit": "off"}}],
    }
    return Study.model_validate({**facts, **changes})


def test_a_study_reaches_by_its_own_address_or_by_those_of_its_arms() -> None:
    assert study().is_external
    assert not study(address=None).is_external
    both = {
        "control": {"name": "a", "address": "host=db1"},
        "arms": [{"name": "b", "address": "host=db2"}],
    }
    assert study(address=None, **both).is_external


def test_without_an_address_for_all_every_arm_needs_one() -> None:
    with pytest.raises(ValueError, match="every arm needs an address"):
        study(address=None, control={"name": "a", "address": "host=db1"})


@pytest.mark.parametrize(
    "address",
    [
        "host=db1 password=secret",
        "host=db1 password = 'se cret'",
        "postgresql://app:secret@db1/shop",
        "SQLServer://app:secret@db1/shop",
        "postgresql://db1/shop?password=secret",
        "sqlserver://sa:my pass@db1",
        "sqlserver://sa:@pw@db1",
        "sqlserver://sa@corp:pw@db1",
        "sqlserver://sa:p/w?x#y@db1/shop",
        "postgresql://app:p/w@db1/shop",
        "mysql+tls://app:secret@db1/shop",
        " sqlserver://sa:secret@db1",
    ],
)
def test_a_password_is_refused(address: str) -> None:
    assert holds_password(address)
    with pytest.raises(ValueError, match="PGPASSWORD"):
        study(address=address)


@pytest.mark.parametrize(
    "address",
    [
        "host=db1 user=password",
        "postgresql://app@db1/shop",
        "postgresql://db1:5432/shop?user=app@db1",
        "postgresql://app@[::1]:5432,db2:5433/shop",
        "sqlserver://sa@db1:1433/shop?certificate=/etc/a@b.pem",
        "passfile=app.pgpass",
        "shop",
    ],
)
def test_what_says_none_is_taken(address: str) -> None:
    assert not holds_password(address)
    assert study(address=address).address == address


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"memory": "1GB"}, "memory"),
        ({"source": "/data"}, "source"),
        ({"contrib": True}, "contrib"),
        ({"layout": "turns"}, "turns"),
        ({"layout": "cycles"}, "cycles"),
        ({"cost": "whole"}, "whole"),
        ({"arms": [{"name": "b", "checksums": False}]}, "checksums"),
        ({"sql": "VACUUM"}, "sql"),
        ({"arms": [{"name": "b", "sql": "VACUUM"}]}, "sql"),
        ({"arms": [{"name": "b", "connect": "tcp"}]}, "connect"),
        ({"arms": [{"name": "b", "bindir": "/opt/bin"}]}, "bindir"),
        ({"arms": [{"name": "b", "profile": "ours"}]}, "profile"),
        ({"arms": [{"name": "b", "weight": {"background": 0.1}}]}, "weight.background"),
    ],
)
def test_what_needs_a_server_of_ours_is_refused_by_its_name(
    changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        study(**changes)


def on_sqlserver(**changes: Any) -> Study:
    return study(engine="sqlserver", address="sqlserver://sa@db1", **changes)


def test_arms_of_a_sql_server_are_databases_and_pay_their_own_debt() -> None:
    assert on_sqlserver(cost="whole").uses_own_databases
    assert not study().uses_own_databases
    assert not study(engine="sqlserver", address=None).uses_own_databases


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arms": [{"name": "b", "address": "sqlserver://sa@db2"}]}, "one address"),
        ({"layout": "turns"}, "needs servers that we start"),
        ({"layout": "cycles"}, "needs servers that we start"),
        ({"memory": "1GB"}, "only servers that we start"),
        ({"workload": {"machines": 2}}, "by this machine alone"),
        ({"address": "sqlserver://sa:secret@db1"}, "SQLCMDPASSWORD"),
    ],
)
def test_what_a_server_of_others_cannot_be_asked_for_is_refused_there_too(
    changes: dict[str, Any], said: str
) -> None:
    facts: dict[str, Any] = {"engine": "sqlserver", "address": "sqlserver://sa@db1", **changes}
    with pytest.raises(ValueError, match=said):
        study(**facts)


def test_an_archive_is_of_the_log_of_postgresql() -> None:
    with pytest.raises(StudyError, match=r'"archive" needs servers of PostgreSQL, not of mysql'):
        read_study("mariadb-vs-mysql", ["archive=true"])
    assert read_study("checksums-rw", ["archive=true"]).archive


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("host=db1 dbname=shop", "dbname=shop host=db1"),
        ("  dbname = 'shop'   host=DB1 ", "dbname=shop host=db1"),
        ("postgresql://db1/shop", "dbname=shop host=db1"),
        ("postgres://app@db1:5433/shop", "dbname=shop host=db1 port=5433 user=app"),
        ("postgresql://[::1]:5432,db2/shop", "dbname=shop host=::1,db2 port=5432,"),
        ("postgresql:///shop?host=/var/run/Socket", "dbname=shop host=/var/run/Socket"),
        ("host=db1 passfile=a connect_timeout=3 application_name=x", "host=db1"),
        ("host=db1 sslmode=require sslcert=/a.crt sslkey=/a.key", "host=db1 sslmode=require"),
        ("host=db1 hostaddr=10.0.0.1", "host=db1"),
        ("hostaddr=10.0.0.1", "hostaddr=10.0.0.1"),
        ("host=db1 options='-c jit=off'", 'host=db1 options="-c jit=off"'),
        ("port=''", ""),
        ("sqlserver://sa@db1:1433/shop", "dbname=shop host=db1 port=1433 scheme=sqlserver user=sa"),
        ("what is this", 'address="what is this"'),
    ],
)
def test_an_address_is_known_again_however_it_is_written(address: str, text: str) -> None:
    assert address_text(address_words(address)) == text


def test_of_a_server_its_place_alone_counts() -> None:
    assert server_text("host=db1 port=5432 dbname=shop user=app") == "host=db1 port=5432"
    assert server_text("postgresql://app@db1:5432/shop?sslmode=require") == "host=db1 port=5432"
    assert server_text("dbname=shop") == ""


WORDS = st.dictionaries(
    st.sampled_from(["host", "port", "dbname", "user", "options", "sslmode"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12),
)


@given(WORDS)
def test_a_connection_string_is_read_as_libpq_reads_it(words: dict[str, str]) -> None:
    text = make_conninfo("", **words)
    theirs = {word: str(value) for word, value in conninfo_to_dict(text).items()}
    assert theirs == words
    if "host" in theirs and not theirs["host"].startswith("/"):
        theirs["host"] = theirs["host"].lower()
    assert address_words(text) == theirs


@given(
    st.lists(st.sampled_from(["db1", "10.0.0.1", "[::1]", "a-b.example"]), min_size=1, max_size=3),
    st.sampled_from(["", ":5432"]),
    st.sampled_from(["", "app@"]),
    st.sampled_from(["", "/", "/shop", "/a%20b"]),
    st.sampled_from(["", "?sslmode=require", "?options=-c%20jit%3Doff&sslmode=disable"]),
)
def test_a_uri_is_read_as_libpq_reads_it(
    hosts: list[str], port: str, user: str, database: str, query: str
) -> None:
    uri = f"postgresql://{user}{','.join(host + port for host in hosts)}{database}{query}"
    theirs = {word: str(value) for word, value in conninfo_to_dict(uri).items()}
    if not theirs.get("port", "").strip(","):
        theirs.pop("port", None)
    assert address_words(uri) == theirs
