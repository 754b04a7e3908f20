"""Opens control connections, and reads settings and defaults over them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8, use_utf8
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError
from steelyard.model.identity import Default
from steelyard.model.setting_value import Allowed

if TYPE_CHECKING:
    import psycopg


CONNECT_SECONDS = 10

_DEFAULTS = "SELECT name, boot_val, unit, context FROM pg_catalog.pg_settings"
_ALLOWED = """
SELECT name, vartype, boot_val, unit, min_val::float8, max_val::float8, enumvals, context
  FROM pg_catalog.pg_settings
"""
_SETTINGS = """
SELECT name, CASE WHEN name IN ('statement_timeout', 'client_encoding') THEN reset_val
            ELSE setting END, unit
  FROM pg_catalog.pg_settings ORDER BY name
"""
_HAS_DATABASE = "SELECT 1 FROM pg_catalog.pg_database WHERE datname ="
_TRIES = 5


def read_settings(address: Endpoint, database: str | None = None) -> dict[str, str]:
    """Every setting by name, its unit behind the value, as sessions see it in a database of this
    name, where there is one; ServerError when the server cannot be reached."""
    if database is not None and _ask(address, f"{_HAS_DATABASE} '{database}'"):
        address = replace(address, database=database)
    return _with_units(_ask(address, _SETTINGS))


def settings_in(session: Any) -> dict[str, str]:
    """Every setting as an open session sees it, likewise."""
    return _with_units(session.execute(_SETTINGS.encode()).fetchall())


def _with_units(rows: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    return {name: f"{value} {unit}" if unit else value for name, value, unit in rows}


def read_defaults(address: Endpoint) -> dict[str, Default]:
    """What the server assumes for every setting, by name; ServerError when it cannot be reached."""
    rows = _ask(address, _DEFAULTS)
    return {name: Default(value, unit or "", context) for name, value, unit, context in rows}


def read_allowed(address: Endpoint) -> dict[str, Allowed]:
    """What the server accepts for every setting, by name; ServerError when it is not reached."""
    return {
        name: Allowed(kind, default, unit or "", low, high, tuple(values or ()), context)
        for name, kind, default, unit, low, high, values, context in _ask(address, _ALLOWED)
    }


class Checkpoints:
    """A connection that requests checkpoints: the server's dirty pages and WAL reach the disk."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection = connect(conninfo)

    def checkpoint(self) -> int:
        """Nanoseconds a CHECKPOINT took; 0 when the server died, which the load reports too.
        ServerError: it was refused, or the connection alone was lost."""
        import psycopg

        started = time.monotonic_ns()
        try:
            self._connection.execute("CHECKPOINT")
        except psycopg.Error as failure:
            if self._connection.closed and not self._server_answers():
                return 0
            raise ServerError(
                "could not make the server write what it owes", detail=str(failure).strip()
            ) from failure
        return time.monotonic_ns() - started

    def _server_answers(self) -> bool:
        """Whether it takes connections now: not while it ends or recovers."""
        from psycopg import pq
        from psycopg.conninfo import make_conninfo

        limited = make_conninfo(self._conninfo, connect_timeout=CONNECT_SECONDS)
        return self._connection.pgconn.ping(limited.encode()) == pq.Ping.OK

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def connect(conninfo: str) -> psycopg.Connection[Any]:
    """A control connection in autocommit. Time limits that an arm sets for its statements do not
    apply to it: a checkpoint that was given up would be no debt."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        options = conninfo_to_dict(conninfo).get("options") or ""
        return connect_in_utf8(
            conninfo,
            connect_timeout=CONNECT_SECONDS,
            application_name="steelyard telemetry",
            options=f"{options} -c statement_timeout=0".strip(),
        )
    except psycopg.Error as failure:
        raise EngineError(
            "could not connect to the server to read its counters", detail=str(failure).strip()
        ) from failure


def _ask(address: Endpoint, query: str) -> list[tuple[Any, ...]]:
    import psycopg  # not everything that finds an engine connects to one

    try:
        with (
            _clean_environment(),
            psycopg.connect(conninfo_of(address), autocommit=True) as session,
        ):
            _take_time(session)
            use_utf8(session)
            return session.execute(query.encode()).fetchall()
    except psycopg.Error as error:
        raise ServerError(
            f'could not read the settings of the server at "{address.host}"',
            detail=str(error).strip(),
        ) from error


def _take_time(session: psycopg.Connection[Any]) -> None:
    """Lift the limit of a server that gives its statements a millisecond. Not by an option of the
    connection, which would hide what the server's own value is."""
    import psycopg

    for _ in range(_TRIES):
        with suppress(psycopg.errors.QueryCanceled):
            session.execute(b"SET statement_timeout = 0")
            return


@contextmanager
def _clean_environment() -> Iterator[None]:
    """Without the caller's PG* variables: libpq makes session settings of PGTZ, PGOPTIONS, ..."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("PG")}
    for name in variables:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(variables)
