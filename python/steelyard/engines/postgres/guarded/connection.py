"""Connects to PostgreSQL servers that are not ours, through a process that can be ended.

What psycopg does for a connection of ours, under the same names, as far as control statements need
it; see docs/decisions/2026-11-27-foreign-servers.md.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from steelyard.engines.postgres.guarded.frames import DATA, END, PIECE
from steelyard.engines.postgres.guarded.process import LOGIN_PROCESSOR_S
from steelyard.engines.postgres.guarded.watched_process import (
    IDLE,
    LimitError,
    ProcessLostError,
    WatchedProcess,
)
from steelyard.engines.postgres.libpq.connection_words import connection_words

CONNECT_S = 10
"""Of each host, unless `connect_timeout` says otherwise."""
ANSWER_S = 10.0
"""Of a control statement, unless its caller says otherwise."""


@dataclass(frozen=True)
class Info:
    """What is known of the server since the login."""

    server_version: int
    version: str | None
    backend_pid: int
    password: str
    host: str
    hostaddr: str
    port: str
    configured_database: str | None
    """The database that a service or the environment names, where the string names none."""
    words: Mapping[str, str]
    """What a service or the environment says beside the string, without the password."""

    def parameter_status(self, name: str) -> str | None:
        """Of the one parameter that is asked for."""
        return self.version if name == "server_version" else None


@dataclass(frozen=True)
class Column:
    """A column of a result."""

    name: str


class GuardedCursor:
    """The result of a statement, all of which has arrived."""

    def __init__(self, connection: GuardedConnection) -> None:
        self._connection = connection
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self.description: list[Column] | None = None
        self.rowcount = -1

    def execute(
        self, query: Any, values: object = None, *, prepare: bool | None = None
    ) -> GuardedCursor:
        """Execute one statement; psycopg's errors, or LimitError."""
        answer = self._connection.work(
            {"do": "execute", "query": _text(query), "values": values, "prepare": prepare}
        )
        names = answer["columns"]
        self.description = None if names is None else [Column(name) for name in names]
        self._rows, self._next = [tuple(row) for row in answer["rows"]], 0
        self.rowcount = answer["rowcount"]
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None: there is none."""
        row = next(iter(self._rows[self._next : self._next + 1]), None)
        self._next += 1
        return row

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        rows, self._next = self._rows[self._next :], len(self._rows)
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    @contextmanager
    def copy(self, query: Any) -> Iterator[GuardedCopy]:
        """Send rows by COPY ... FROM STDIN."""
        copy = GuardedCopy(self._connection, _text(query))
        yield copy
        self.rowcount = copy.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of_an_error: object) -> None:
        pass


class GuardedCopy:
    """Rows on their way to a table."""

    def __init__(self, connection: GuardedConnection, query: str) -> None:
        self._connection = connection
        connection.begin_copy(query)

    def write(self, rows: bytes) -> None:
        """Send a part of them, in COPY's format."""
        view = memoryview(rows)
        for start in range(0, len(view), PIECE):
            self._connection.send_piece(DATA, bytes(view[start : start + PIECE]))

    def end(self) -> int:
        """Rows that the server took; psycopg's errors."""
        self._connection.send_piece(END, b"")
        return int(self._connection.finish_copy())


class GuardedConnection:
    """A connection in autocommit, as psycopg's; LimitError where a server goes beyond a limit, and
    the connection is over then."""

    def __init__(self, where: str, process: WatchedProcess, answer_s: float | None) -> None:
        import psycopg

        self.Error = psycopg.Error
        self._where, self._process, self._answer_s = where, process, answer_s
        self._asked = "to log in"
        self._info: Info | None = None
        self._login_s: float | None = None
        self._over = False

    def log_in(self, request: dict[str, Any], limit_s: float | None) -> None:
        """Connect and authenticate."""
        self._login_s = request["words"].get("connect_timeout")
        self._info = Info(**self._answered(request, limit_s))

    @property
    def info(self) -> Info:
        """What is known of the server."""
        assert self._info is not None
        return self._info

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return self._over

    def execute(
        self, query: Any, values: object = None, *, prepare: bool | None = None
    ) -> GuardedCursor:
        """Execute one statement; psycopg's errors, or LimitError."""
        return GuardedCursor(self).execute(query, values, prepare=prepare)

    def cursor(self) -> GuardedCursor:
        """For one statement after the other."""
        return GuardedCursor(self)

    @contextmanager
    def transaction(self, *, force_rollback: bool = False) -> Iterator[None]:
        """What is done within is committed together, or not at all."""
        self.execute("BEGIN")
        try:
            yield
        except BaseException:
            if not self._over:
                self.execute("ROLLBACK")
            raise
        self.execute("ROLLBACK" if force_rollback else "COMMIT")

    @contextmanager
    def limited(self, answer_s: float) -> Iterator[None]:
        """Answers may take so long in the `with` block."""
        before, self._answer_s = self._answer_s, answer_s
        try:
            yield
        finally:
            self._answer_s = before

    def round_trip_ns(self, query: str, times: int) -> int:
        """Of a statement, the fastest of some, as the process measures it."""
        return int(self.work({"do": "time", "query": query, "times": times})["ns"])

    def work(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request of the process."""
        self._asked = f"for: {' '.join(request['query'].split())[:200]}"
        return self._answered(request, self._answer_s)

    def begin_copy(self, query: str) -> None:
        """Begin a COPY: its rows follow."""
        import psycopg

        if self._over:
            raise psycopg.OperationalError("the connection is closed")
        self._asked = f"for: {query[:200]}"
        request = {"do": "copy", "query": query, "limit_s": None}
        self._guarded(lambda: self._process.send_request(request))

    def send_piece(self, kind: bytes, body: bytes) -> None:
        """Send some of its rows, or the end."""
        self._guarded(lambda: self._process.send_piece(kind, body))

    def finish_copy(self) -> int:
        """Rows that it took."""
        return int(self._checked(self._guarded(lambda: self._process.answer(None)))["rowcount"])

    def cancel_safe(self, *, timeout: float = 0) -> None:
        """Cancel the statement under way; called from another thread."""
        if not self._over:
            self._process.interrupt()

    def close(self) -> None:
        """Disconnect; safe to call twice."""
        if self._over:
            return
        self._over = True
        try:
            self._process.request({"do": "close"}, 2.0)
        except (LimitError, ProcessLostError):
            return
        IDLE.give_back(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of_an_error: object) -> None:
        self.close()

    def _answered(self, request: dict[str, Any], limit_s: float | None) -> dict[str, Any]:
        import psycopg

        if self._over:
            raise psycopg.OperationalError("the connection is closed")
        return self._checked(self._guarded(lambda: self._process.request(request, limit_s)))

    def _guarded(self, work: Any) -> Any:
        """A limit that is passed, and the end of the process, become one LimitError."""
        try:
            return work()
        except LimitError as error:
            self._over = True
            raise self._beyond(error.primary, error.detail) from error
        except ProcessLostError as error:
            self._over = True
            raise self._beyond(_WHY.get(error.status, _DIED)) from error
        except BaseException:
            self._over = True  # the process was ended with it
            raise

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer; psycopg's error where it is one."""
        import psycopg

        error = answer.get("error")
        if error is None:
            return answer
        if answer["closed"] and self._info is not None:
            self.abandon()
        if "canceled" in error:
            raise psycopg.errors.QueryCanceled("canceling statement due to user request")
        if "limit" in error or (
            error["sqlstate"] is None and any(phrase in error["text"] for phrase in _OUT_OF_MEMORY)
        ):
            self.abandon()
            raise self._beyond("more data than a control connection takes")
        if self._info is None and error["text"].startswith(_TIMED_OUT):
            self.abandon()
            within = "in time" if self._login_s is None else f"within {self._login_s:g} s"
            raise self._beyond(f"it does not let us in {within}")
        raise _as_psycopg(error)

    def abandon(self) -> None:
        """End its process: there is no session to be ended in order."""
        self._over = True
        self._process.kill()

    def _beyond(self, why: str, detail: str | None = None) -> LimitError:
        sentence = f"It was asked {self._asked}"
        return LimitError(
            f'could not work with the server at "{self._where}": {why}',
            detail=f"{sentence}; {detail}" if detail else sentence,
            hint=_TO_LOG_IN if self._info is None else _HINT,
        )


_OUT_OF_MEMORY = ("out of memory", "cannot allocate memory", "can't allocate memory")
"""How libpq says that its own memory has run out (fe-misc.c, fe-protocol3.c, fe-exec.c)."""
_TIMED_OUT = "connection timeout expired"
"""psycopg's words."""
_DIED = "the process that was connected to it ended"
_WHY = {
    -signal.SIGXCPU: f"its login takes more than {LOGIN_PROCESSOR_S} s of processor time",
    -signal.SIGALRM: "no answer in time",
}
_HINT = "Look at the server, or whether another program answers there."
_TO_LOG_IN = (
    "Look at the server, or whether another program answers there. `connect_timeout` in the "
    "connection string is the time to connect; ALTER ROLE with a lower scram_iterations and the "
    "password anew makes a login cheaper."
)


def guarded(
    conninfo: str,
    *,
    where: str,
    answer_s: float | None = ANSWER_S,
    prepares: bool = True,
    **parameters: str | None,
) -> GuardedConnection:
    """A connection to a server of others. `where`: as messages name it; `answer_s`: how long an
    answer may take, None for work on whole tables; `parameters` replace those of the connection
    string. psycopg's errors; LimitError."""
    connect_s = timeout_s(conninfo)
    overrides = {**parameters, "connect_timeout": connect_s or None}
    request = {
        "do": "connect",
        "target": conninfo,
        "words": {word: value for word, value in overrides.items() if value is not None},
        "prepares": prepares,
        "environment": {name: value for name, value in os.environ.items() if name[:2] == "PG"},
    }
    connection = GuardedConnection(where, IDLE.take(), answer_s)
    try:
        connection.log_in(request, connect_s and connect_s * _hosts(conninfo) + 2.0)
    except BaseException:
        connection.abandon()
        raise
    return connection


@contextmanager
def answered_soon(connection: object) -> Iterator[None]:
    """A guarded connection for work on whole tables waits for an answer as one for control
    statements does; another one is left as it is."""
    if not isinstance(connection, GuardedConnection):
        yield
        return
    with connection.limited(ANSWER_S):
        yield


def timeout_s(conninfo: str) -> int | None:
    """How long connecting to a host may take; None: as long as it takes (`connect_timeout=0`)."""
    timeout = connection_words(conninfo).get("connect_timeout") or os.environ.get(
        "PGCONNECT_TIMEOUT"
    )
    try:
        return CONNECT_S if not timeout else max(int(timeout), 0) or None
    except ValueError:
        return CONNECT_S  # libpq refuses it in its own words


def _hosts(conninfo: str) -> int:
    parameters: Mapping[str, str] = connection_words(conninfo)
    hosts: Sequence[str] = (
        parameters.get("hostaddr") or parameters.get("host") or os.environ.get("PGHOST") or ""
    ).split(",")
    return len(hosts)


def _text(query: Any) -> str:
    if isinstance(query, bytes):
        return query.decode()
    return query if isinstance(query, str) else str(query.as_string(None))


def _as_psycopg(error: Mapping[str, Any]) -> Exception:
    """The same error, as if it had happened in this process."""
    import psycopg
    from psycopg.pq import DiagnosticField as Field

    state = error["sqlstate"]
    try:
        kind = psycopg.errors.lookup(state) if state else psycopg.OperationalError
    except KeyError:
        kind = psycopg.DatabaseError
    fields: dict[int, str | None] = {
        Field.SQLSTATE: state,
        Field.MESSAGE_PRIMARY: error["primary"],
        Field.MESSAGE_DETAIL: error["detail"],
        Field.MESSAGE_HINT: error["hint"],
    }
    diagnostics = {field: text.encode() if text else None for field, text in fields.items()}
    return kind(error["text"], info=diagnostics)
