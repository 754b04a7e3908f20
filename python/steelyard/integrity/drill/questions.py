"""Asks a server what the tables hold: by scanning the table, by the index, by the index alone.

A server that does not answer in time hangs: that is neither an error nor an answer.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError

WAYS = {
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
_CANCELLED = "57014"


@dataclass(frozen=True)
class Reply:
    """What one question was answered: rows as text, or an error, or nothing in time."""

    answer: str = ""
    error: str = ""
    hung: bool = False
    died: bool = False  # the connection, and maybe the server with it


@dataclass(frozen=True)
class Answers:
    """What a table's questions were answered, by the way of asking."""

    replies: dict[str, Reply]

    @property
    def erred(self) -> set[str]:
        """Ways that ended in an error of the server's own."""
        return {way for way, reply in self.replies.items() if reply.error}

    @property
    def hung(self) -> set[str]:
        """Ways that had no answer in time."""
        return {way for way, reply in self.replies.items() if reply.hung}

    def wrong(self, truth: Answers) -> set[str]:
        """Ways whose answer is not the true one, whatever others said."""
        return {
            way
            for way, reply in self.replies.items()
            if not reply.error and not reply.hung and reply.answer != truth.replies[way].answer
        }

    def unread(self, truth: Answers) -> bool:
        """Whether somebody who knows every row would see that one is wrong, or not to be had."""
        return bool((self.erred | self.hung | self.wrong(truth)) - {"insert"})


def statements(address: Endpoint, texts: Sequence[str]) -> list[tuple[Any, ...]]:
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


def ask_all(
    address: Endpoint, copies: Iterable[int], sound: tuple[int, Answers] | None = None
) -> dict[int, Answers]:
    """The answers of every copy's questions, each question in a connection of its own.

    `sound` is a copy that nothing was planted in, with its true answers: when the server died over
    another one, and then has not these, nothing it says of the copies that follow is their doing.
    They are left out.
    """
    found: dict[int, Answers] = {}
    for number in copies:
        found[number] = ask(address, number)
        died = any(reply.died for reply in found[number].replies.values())
        if died and sound and ask(address, sound[0]) != sound[1]:
            break
    return found


def ask(address: Endpoint, number: int) -> Answers:
    """The answers to one copy's questions. What it inserts is rolled back."""
    return Answers(
        {
            way: asked(address, settings, question.format(n=number))
            for way, (settings, question) in WAYS.items()
        }
    )


def asked(address: Endpoint, settings: str, question: str) -> Reply:
    """The reply to a question. A server that died is waited for: it starts again by itself."""
    import psycopg

    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            session = psycopg.connect(address.conninfo(), autocommit=True)
            break
        except psycopg.Error:
            if time.monotonic() > deadline:
                return Reply(hung=True, died=True)
            time.sleep(0.05)
    killed = threading.Event()
    stuck = threading.Timer(_KILLED_AFTER_S, _kill, (session.info.backend_pid, killed))
    stuck.start()
    try:
        with session:
            session.execute(f"SET statement_timeout = '{_STATEMENT_TIMEOUT}'; {settings}".encode())
            session.execute(b"BEGIN")
            rows = session.execute(question.encode()).fetchall()
            session.execute(b"ROLLBACK")
            return Reply(repr(rows))
    except psycopg.Error as error:
        if killed.is_set() or error.sqlstate == _CANCELLED:
            return Reply(hung=True, died=killed.is_set())
        died = error.sqlstate is None or session.closed
        words = f"{error.sqlstate or 'connection lost'}: {str(error).strip()}"
        return Reply(error=words, died=died)
    finally:
        stuck.cancel()


def _kill(pid: int, killed: threading.Event) -> None:
    killed.set()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
