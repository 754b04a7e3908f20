"""Counts log and blocks of every statement, by pg_stat_statements.

An entry is complete when its statement ends: no waiting for a flush. The module comes with contrib
and must be loaded at the start. Its extension is created in the database "postgres", so that the
data stays what it was; its view shows all databases. Statements of other sessions than the load's
are not counted: ours switch that off for themselves (`UNCOUNTED`). Source: pgstatstatements.sgml
of 14 to 18; wal_bytes and toplevel are in all of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.engines.engine import Settings
from steelyard.engines.postgres.sql.queries import query
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.errors import EngineError
from steelyard.model.readings import StatementCount, StatementCounts

MODULE = "pg_stat_statements"
_PRELOADED = "shared_preload_libraries"
UNCOUNTED = f"-c {MODULE}.track=none"
"""Options of a session that is not to be counted; only where the module is loaded, by a
superuser."""


def counting(settings: Settings) -> dict[str, str]:
    """What is to be set beside an arm's own settings for its statements to be counted."""
    loaded = settings.get(_PRELOADED, "")
    libraries = [name.strip() for name in loaded.split(",") if name.strip()]
    return {
        _PRELOADED: ",".join([*libraries, *([] if MODULE in libraries else [MODULE])]),
        f"{MODULE}.track": "top",
        f"{MODULE}.track_utility": "off",
        f"{MODULE}.track_planning": "off",
        f"{MODULE}.save": "off",
    }


def counts(settings: Mapping[str, str]) -> bool:
    """Whether a server with these settings counts statements."""
    return MODULE in settings.get(_PRELOADED, "")


def prepare_counting(conninfo: str) -> None:
    """Create the extension, if it is not there; EngineError: the server has none."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {MODULE}".encode())
    except psycopg.Error as reason:
        raise EngineError(
            "could not make the server count statements", detail=str(reason)
        ) from reason


def read_statements(conninfo: str, version_number: int, database: str) -> StatementCounts:
    """What each statement in a database did so far; EngineError: the server does not show it."""
    import psycopg

    try:
        with connect(conninfo) as connection:
            rows = connection.execute(
                query("statements", version_number).encode(), {"database": database}
            ).fetchall()
    except psycopg.Error as reason:
        raise EngineError("could not read what statements cost", detail=str(reason)) from reason
    return StatementCounts(
        {row[0]: StatementCount(row[0], *map(int, row[1:5])) for row in rows},
        forgotten=int(rows[0][5]) if rows else 0,
    )
