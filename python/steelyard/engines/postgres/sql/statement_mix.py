"""Reads what pg_stat_statements counted and the planner's statistics of the columns, and parses
statements of a mix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from steelyard.engines.postgres.sql.database import connected
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError

if TYPE_CHECKING:
    import psycopg

_PREPARED = "steelyard_tried"
_SYNTAX = "42601"
_PREPARABLE = re.compile(r"\s*(?:select|insert|update|delete|merge|values|with)\b", re.IGNORECASE)
"""What PREPARE takes (gram.y: PreparableStmt); a statement that begins with a comment may not."""
# In each of the own statements, so that they are not taken for the application's.
_OWN = "/* steelyard asks */"
_COUNTED = f"""
SELECT {_OWN} nullif(query, '<insufficient privilege>'), calls, total_exec_time, rows
  FROM pg_catalog.pg_database AS own, {{}}.pg_stat_statements
 WHERE own.oid = dbid AND own.datname = current_database() AND toplevel AND calls > 0
   AND position('{_OWN}' IN coalesce(query, '')) = 0
 ORDER BY total_exec_time DESC
"""
_WHERE = f"""
SELECT {_OWN} n.nspname, e.extversion FROM pg_catalog.pg_extension AS e
  JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
 WHERE e.extname = 'pg_stat_statements'
"""
_FORGOTTEN = f"SELECT {_OWN} dealloc FROM {{}}.pg_stat_statements_info"
_KNOWN = f"""
SELECT {_OWN} schemaname, tablename, attname, null_frac,
       most_common_vals::text::text[], most_common_freqs::float8[], histogram_bounds::text::text[],
       pg_catalog.pg_table_is_visible(c.oid) OR
       (SELECT count(*) = 1 FROM pg_catalog.pg_class AS others
         WHERE others.relname = s.tablename AND others.relkind IN ('r', 'p', 'm', 'f', 'v'))
  FROM pg_catalog.pg_stats AS s
  JOIN pg_catalog.pg_namespace AS n ON n.nspname = s.schemaname
  JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = s.tablename
 WHERE s.tablename = ANY (%s) ORDER BY s.inherited
"""
# What a table's heirs hold comes last, and counts: a statement reads them too.

_FIRST_READ = (1, 9)
"""The first version with `toplevel` and with pg_stat_statements_info (PostgreSQL 14)."""
_ANSWER_S = 60.0
"""The texts are read from a file, which may hold hundreds of megabytes."""


@dataclass(frozen=True)
class CountedStatement:
    """A statement without its values."""

    text: str
    """Empty: the server does not show it."""
    calls: int
    seconds: float
    rows: int
    """That all its calls returned or changed."""


@dataclass(frozen=True)
class ServerCounts:
    """The statements of a database, those that took most time first."""

    statements: tuple[CountedStatement, ...]
    forgotten: int
    """How often the server made room (pg_stat_statements.max): each time it forgot the twentieth
    part that was called least."""


@dataclass(frozen=True)
class ColumnStatistics:
    """The planner's statistics of a column's values."""

    schema: str
    table: str
    column: str
    null_share: float
    common: tuple[str, ...]
    common_shares: tuple[float, ...]
    bounds: tuple[str, ...]
    unqualified: bool = True
    """Whether its table's name without a schema means this one: by the search path, or since no
    other schema has a table of that name."""


def counted_statements(target: Endpoint) -> ServerCounts:
    """The statements of the target's database. EngineError: pg_stat_statements is not there, or of
    a version that does not count what is read; ServerError: it cannot be read."""
    with connected(target, answer_s=_ANSWER_S) as session:
        row = session.execute(_WHERE).fetchone()
        if row is None:
            raise EngineError(
                f'database "{target.database}" does not count its statements',
                hint="CREATE EXTENSION pg_stat_statements, preloaded; or capture its log.",
            )
        schema, version = row
        if _number(str(version)) < _FIRST_READ:
            raise EngineError(
                f'cannot read pg_stat_statements {version} of database "{target.database}"',
                detail="Its server was upgraded, and the extension in this database was not.",
                hint="Type ALTER EXTENSION pg_stat_statements UPDATE there.",
            )
        from psycopg import sql

        def rows_of(query: LiteralString) -> list[tuple[Any, ...]]:
            return session.execute(sql.SQL(query).format(sql.Identifier(schema))).fetchall()

        rows, [(forgotten,)] = rows_of(_COUNTED), rows_of(_FORGOTTEN)
    statements = tuple(
        CountedStatement(text or "", int(calls), ms / 1000, int(returned))
        for text, calls, ms, returned in rows
    )
    return ServerCounts(statements, int(forgotten))


def _number(version: str) -> tuple[int, ...]:
    """1.10 is later than 1.9."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def column_statistics(target: Endpoint, tables: Iterable[str]) -> list[ColumnStatistics]:
    """What ANALYZE left of the columns of the tables of some names, in whatever schema."""
    with connected(target, answer_s=_ANSWER_S) as session:
        rows = session.execute(_KNOWN, [sorted(set(tables))]).fetchall()
    return [
        ColumnStatistics(
            schema=schema,
            table=table,
            column=column,
            null_share=float(nulls or 0.0),
            common=tuple(values or ()),
            common_shares=tuple(shares or ()),
            bounds=tuple(bounds or ()),
            unqualified=bool(unqualified),
        )
        for schema, table, column, nulls, values, shares, bounds, unqualified in rows
    ]


@dataclass(frozen=True)
class ServerParseError:
    """Why a server cannot parse a statement; its message may hold values."""

    sqlstate: str
    message: str


def parse_errors(target: Endpoint, texts: Sequence[str]) -> list[ServerParseError | None]:
    """Of each text why the target cannot parse it with parameters without types, as the driver
    sends them; None: it can. Nothing is executed. ServerError: it cannot be reached."""
    errors = list[ServerParseError | None]()
    with connected(target) as session:
        errors += [_parse_error(session, text) for text in texts]
    return errors


def _parse_error(session: psycopg.Connection, text: str) -> ServerParseError | None:
    from psycopg import Error

    try:
        # Utility statements cannot be prepared in SQL: they have no parameters, and are let be.
        session.execute(f"PREPARE {_PREPARED} AS {text}".encode())
        session.execute(f"DEALLOCATE {_PREPARED}".encode())
    except Error as error:
        if error.sqlstate == _SYNTAX and not _PREPARABLE.match(text):
            return None
        return ServerParseError(error.sqlstate or "", error.diag.message_primary or str(error))
    return None
