"""`--from`: what is a path, what a connection string, and what is neither and says a password."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.options.source_options import SourceOptions, is_dsn
from steelyard.engines.postgres.libpq.connection_words import connection_words, is_miswritten
from steelyard.model.errors import UsageError

T = "S3cretPw"
MISWRITTEN = [
    *(f"postgresql:/u:{T}@h/db", f"postgres:u:{T}@h/db?x=1", f"postgresql//u:{T}@h/db=1"),
    *(f"u:{T}@h/db", f"u:{T}/a@h/db", f"u:{T}=a@h/db", f"u:a {T}@h", f"u:{T}//h/db"),
    *(f"h:5432:d:u:{T}", f"*:*:*:*:{T}", f"db1.example:5432:*:repl:{T} x", f"u/{T}@//h:1521/x"),
    *(f"//u:{T}@h/db", f"u/{T}@h:1521/x", f"u/{T}@h:5432", f"psql -h h -U u -W {T}"),
]
NOT_UNDERSTOOD = [
    *(f"host=h user=u password {T}", f"host=h user=u password: {T}", f"host=h user=u:{T} pw"),
    *(f"Server=h;Uid=u;Pwd={{a {T}}};Database=d", f"Host=h;Password = a {T};Database=d"),
    *(f"host=h pwd {T}", f"host=h secret {T}", f"hoost=h my_token {T}", f"host=h passwd={{{T}"),
    *(f"host=h pasword={T} user=u", f"host=h pas_word = 'a {T}'", f"h0st=h paswd={T}"),
    *(f"postgresql://u@h/d?pasword={T}&sslmode=require", f"host=h authen={T}"),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def take(text: str) -> object:
    return SourceOptions(text, None, None, agreed=True).changes(["workload.name=pgbench"])


@pytest.mark.parametrize("call", [is_dsn, take, connection_words])
@pytest.mark.parametrize("text", MISWRITTEN)
def test_a_miswritten_connection_string_is_refused_without_its_password(
    text: str, call: Callable[[str], object]
) -> None:
    with pytest.raises(UsageError) as refused:
        call(text)
    assert T not in str(refused.value)


def test_what_is_to_be_typed_is_said() -> None:
    with pytest.raises(UsageError, match="neither a file") as refused:
        is_dsn(f"u:{T}@h/db")
    assert '"u:…"' in refused.value.primary
    assert "postgresql://USER@HOST/DATABASE" in str(refused.value)


@pytest.mark.parametrize("call", [take, connection_words])
@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_libpq_does_not_understand_is_shown_without_its_password(
    text: str, call: Callable[[str], object]
) -> None:
    with pytest.raises(UsageError, match="invalid connection string") as refused:
        call(text)
    assert T not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("host=h pasword=a user=u", '"host=h pasword=…"'),
        ("postgresql://h/d?sslmod=x", '"postgresql://h/d?sslmod=x"'),
        ("host=h kee=a", '"host=h kee=…"'),
        ("host=h port=1 a", '"host=h port=1 a"'),
    ],
)
def test_which_word_is_not_known_is_shown(text: str, shown: str) -> None:
    with pytest.raises(UsageError) as refused:
        connection_words(text)
    assert shown in refused.value.primary
    assert "invalid" in str(refused.value.detail) or "missing" in str(refused.value.detail)


@given(st.sampled_from("abS3:/@ ="), st.text("abS3:/@ =.%", min_size=2, max_size=12))
def test_no_password_of_a_user_at_a_host_is_shown(first: str, rest: str) -> None:
    text = f"u:Zq{first}{rest}qZ@h/db"
    with pytest.raises(UsageError) as refused:
        take(text)
    assert "Zq" not in str(refused.value)
    assert "qZ" not in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        *("shop.dump", "dumps/2026-01-01/shop.dump", "dumps/day=2026-01-01/shop.dump", "./a=b"),
        *("/var/lib/postgresql/18/main", "~/a:b", "../a=b/c", "/backup/10:00:00/a@b", "a.b=c"),
        *("2026-11-27T10:00:00.log", "postgres/data", "host:5432", "a@b.dump"),
        *("dumps/shop@2026.dump", "//backup/a@b.dump", "psql.dump", "pg_dump/a b@c"),
    ],
)
def test_a_path_that_is_not_there_stays_a_path(path: str) -> None:
    assert not is_dsn(path)


@pytest.mark.parametrize("name", [f"u:{T}@h", "h:5432:d:u:p", "host=h", "postgresql:x", "a=b"])
def test_what_is_there_is_a_path_whatever_its_name(name: str) -> None:
    Path(name).touch()
    assert not is_dsn(name)


@pytest.mark.parametrize(
    "text",
    [
        *("host=h", " host = h user=u", "postgresql://u@h/d", "postgres://", "service=prod"),
        *("mysql://u@h", "host=/run/postgresql", "host=a.b.example", "Server=h;Uid=u"),
        *("passfile=/a:b@c", "user=u:x@h", "sslcert=./a.crt host=h", "options='-c a=b:c@d'"),
    ],
)
def test_a_connection_string_is_one(text: str) -> None:
    assert is_dsn(text)
    assert not is_miswritten(text)


@pytest.mark.parametrize(
    "text", ["127.0.0.1:5432/db", "db.example.com:5432/shop", "bob@h-1:5432/shop", "[::1]:5432/db"]
)
def test_an_address_without_its_scheme_is_refused_with_it(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        is_dsn(text)
    assert f"postgresql://{text}" in str(refused.value.hint)
