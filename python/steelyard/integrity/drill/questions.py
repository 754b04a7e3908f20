"""Asks a server what the tables hold: by scanning the table, by the index, by the index alone."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.engines.engine import Address
from steelyard.errors import ServerError

_WAYS = {
    "table": ("SET enable_indexscan = off; SET enable_bitmapscan = off; "
              "SET enable_indexonlyscan = off; SET enable_seqscan = on",
              "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM drill_{n} t"),
    "index": ("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexscan = on",
              "SELECT count(*), sum(hashtextextended(s.r, 0)) FROM "
              "(SELECT t::text AS r FROM drill_{n} t WHERE id > 0 ORDER BY id) s"),
    "index alone": ("SET enable_seqscan = off; SET enable_bitmapscan = off; "
                    "SET enable_indexonlyscan = on",
                    "SELECT count(id), sum(id) FROM drill_{n} WHERE id > 0"),
    "insert": ("SET enable_seqscan = on",
               "INSERT INTO drill_{n} SELECT i, i, repeat('z', 128) FROM "
               "generate_series(100001, 100020) i RETURNING 1"),
}  # fmt: skip
_PATIENCE_S = 20.0
_STATEMENT_TIMEOUT = "2s"
_KILLED_AFTER_S = 3.0
"""A damaged index may lead in a circle, and not every loop of a server can be cancelled. A sound
copy answers in milliseconds."""


@dataclass(frozen=True)
class Answers:
    """What a table's questions were answered; an error's words in place of an answer."""

    by_way: tuple[tuple[str, str], ...]
    errors: tuple[str, ...] = ()

    def differs(self, truth: Answers) -> bool:
        """Whether some answer that was given is not the true one."""
        true = dict(truth.by_way)
        return any(true.get(way) != answer for way, answer in self.by_way)


def statements(address: Address, texts: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of the last statement, all of them as superuser. ServerError: one of them failed."""
    import psycopg

    rows: list[tuple[Any, ...]] = []
    try:
        with psycopg.connect(address.conninfo(), autocommit=True) as session:
            for text in texts:
                cursor = session.execute(text.encode())
                rows = cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        raise ServerError("a statement failed", detail=str(error).strip()) from error
    return rows


def ask_all(address: Address, copies: Iterable[int]) -> dict[int, Answers]:
    """The answers of every copy's questions, each copy in a connection of its own."""
    return {number: ask(address, number) for number in copies}


def ask(address: Address, number: int) -> Answers:
    """The answers to one copy's questions. What it inserts is rolled back."""
    answers: list[tuple[str, str]] = []
    errors: list[str] = []
    for way, (settings, question) in _WAYS.items():
        answer, error = asked(address, settings, question.format(n=number))
        if error:
            errors.append(error)
        else:
            answers.append((way, answer))
    return Answers(tuple(answers), tuple(errors))


def asked(address: Address, settings: str, question: str) -> tuple[str, str]:
    """(answer, error). A server that died is waited for: it starts again by itself."""
    import psycopg

    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            session = psycopg.connect(address.conninfo(), autocommit=True)
            break
        except psycopg.Error as error:
            if time.monotonic() > deadline:
                return "", f"no connection: {error}"
            time.sleep(0.05)
    stuck = threading.Timer(_KILLED_AFTER_S, _kill, (session.info.backend_pid,))
    stuck.start()
    try:
        with session:
            session.execute(f"SET statement_timeout = '{_STATEMENT_TIMEOUT}'; {settings}".encode())
            session.execute(b"BEGIN")
            rows = session.execute(question.encode()).fetchall()
            session.execute(b"ROLLBACK")
            return repr(rows), ""
    except psycopg.Error as error:
        return "", f"{error.sqlstate or 'connection lost'}: {str(error).strip()}"
    finally:
        stuck.cancel()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
