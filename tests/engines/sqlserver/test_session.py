"""Control connections to doubles of SQL Server: rows, refusals, malformed answers, ends."""

from __future__ import annotations

import json
import signal
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver.secured import authority
from driver.sqlserver import tokens
from driver.sqlserver.double import Double
from steelyard import _core
from steelyard.engines.sqlserver.session import (
    RefusedError,
    Session,
    bracketed,
    connected,
    literal,
    open_session,
)
from steelyard.engines.sqlserver.uri import read_uri
from steelyard.model.errors import DriverError

FOREVER = "WAITFOR DELAY '00:10:00.000';"


@contextmanager
def session_on(double: Double) -> Iterator[Session]:
    with double.running(), connected(read_uri(double.uri())) as session:
        yield session


def test_every_row_of_every_result_is_told_and_null_is_none() -> None:
    one = tokens.table(("n", "t"), (1, "a"), (2, None), (3, "é" * 3000))
    other = tokens.table(("x",))

    def answer(text: str) -> bytes:
        end = tokens.done(tokens.MORE | tokens.COUNTED, 3)
        return one[: -len(end)] + end + tokens.done(tokens.MORE, 0) + other

    with session_on(Double(answer=answer)) as session:
        for _ in range(2):
            first, second = session.execute("SELECT both;")
            assert first.columns == ("n", "t")
            assert first.rows == (("1", "a"), ("2", None), ("3", "é" * 3000))
            assert (second.columns, second.rows) == (("x",), ())
        assert session.rows("SELECT both;") == ()


def test_a_refusal_has_its_number_and_leaves_the_connection_as_it_is() -> None:
    def answer(text: str) -> bytes | None:
        return tokens.error(1205, "You were a victim.", 13) if text == "bad" else None

    with session_on(Double(answer=answer)) as session:
        with pytest.raises(RefusedError, match='database "d" of the server at') as raised:
            session.execute("bad")
        assert raised.value.number == 1205
        assert raised.value.detail == "the server refused: You were a victim. (1205)"
        assert session.rows("SELECT 1;") == (("7",),)


def test_an_error_that_ends_the_connection_leaves_none() -> None:
    fatal = tokens.error(596, "Session is in the kill state.", 21)
    with session_on(Double(answer=lambda _: fatal)) as session:
        with pytest.raises(RefusedError, match="could not work on"):
            session.execute("SELECT 1;")
        with pytest.raises(RefusedError) as raised:
            session.execute("SELECT 1;")
        assert (raised.value.detail, raised.value.number) == ("there is no connection", None)


@pytest.mark.parametrize(
    "malformed",
    [b"\x00", b"\xd1\x08" + bytes(8), tokens.rows("n", 1)[:-1], tokens.done(tokens.MORE),
     b"\x81\x01\x00" + bytes(6) + b"\x99\x00" + tokens.done(), b""],
)  # fmt: skip
def test_malformed_answers_end_the_connection_with_an_error(malformed: bytes) -> None:
    with session_on(Double(answer=lambda _: malformed)) as session:
        with pytest.raises(RefusedError) as raised:
            session.execute("SELECT 1;")
        assert "the connection was lost: the server" in (raised.value.detail or "")
        assert raised.value.number is None
        with pytest.raises(RefusedError, match="could not work on"):
            session.execute("SELECT 1;")


def test_more_rows_than_are_kept_are_an_error_and_no_memory() -> None:
    many = tokens.table(("t",), *([("x" * 2000,)] * 9000))
    with (
        session_on(Double(answer=lambda _: many)) as session,
        pytest.raises(RefusedError) as raised,
    ):
        session.execute("SELECT 1;")
    assert "rows of more than 16777216 bytes" in (raised.value.detail or "")


def test_another_thread_ends_what_does_not_end() -> None:
    with session_on(Double()) as session:
        end = threading.Timer(0.2, session.cancel)
        end.start()
        with pytest.raises(RefusedError) as raised:
            session.execute(FOREVER)
        assert raised.value.detail == "it was cancelled"


def test_a_signal_ends_what_does_not_end() -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with session_on(Double()) as session:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                session.execute(FOREVER)
            assert time.monotonic() - began < 300
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("strict", [False, True])
def test_it_is_encrypted_as_the_address_says(strict: bool, tmp_path: Path) -> None:
    signer = authority("steelyard's test authority")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*signer.sign("double", "127.0.0.1").save(tmp_path, "server"))
    roots = tmp_path / "roots.pem"
    roots.write_bytes(signer.pem)
    words = f"certificate={roots}&encrypt={'strict' if strict else 'mandatory'}"
    with (
        Double(context=context, strict=strict).running() as double,
        connected(read_uri(double.uri(words))) as session,
    ):
        assert session.rows("SELECT 1;") == (("7",),)


def test_who_is_not_let_in_is_told_in_the_servers_words_without_the_password() -> None:
    with Double().running() as double:
        with pytest.raises(RefusedError) as raised:
            open_session(read_uri(double.uri(user="app:secret")))
        assert raised.value.number == 18456
        assert "Login failed for user 'app'." in (raised.value.detail or "")
        assert "secret" not in str(raised.value)


def test_what_is_no_arm_is_refused() -> None:
    with pytest.raises(DriverError, match="invalid arm"):
        _core.SqlServerSession(json.dumps({"name": "a"}))


def test_names_and_texts_cannot_end_their_quotes() -> None:
    assert bracketed("a]; DROP DATABASE b") == "[a]]; DROP DATABASE b]"
    assert literal("it's") == "N'it''s'"
