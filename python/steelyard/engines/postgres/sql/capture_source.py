"""Reads of a server what a capture takes from it: what pg_stat_statements counted, the planner's
statistics of the columns, why statements of a mix cannot be parsed, what sessions of a role begin
with, and which types a database defines itself, with what their binary values are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, LiteralString

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


_ROLES = """
SELECT /* steelyard asks */ r.rolname, setting
  FROM pg_catalog.pg_db_role_setting AS s JOIN pg_catalog.pg_roles AS r ON r.oid = s.setrole,
       pg_catalog.unnest(s.setconfig) AS setting
 WHERE s.setdatabase IN
       (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))
 ORDER BY s.setdatabase
"""
# Of a role in one database comes last, and counts (process_settings in postinit.c).


def role_settings(target: Endpoint) -> dict[str, dict[str, str]]:
    """Role → setting → value: what sessions of a role begin with in the target's database, by ALTER
    ROLE. ServerError: it cannot be read."""
    with connected(target) as session:
        rows = session.execute(_ROLES).fetchall()
    settings = dict[str, dict[str, str]]()
    for role, setting in rows:
        name, _, value = str(setting).partition("=")
        settings.setdefault(str(role), {})[name] = value
    return settings


TypeKind = Literal["enum", "domain", "composite", "range", "multirange", "array", "same", "other"]
_FIRST_OID = 10_000
"""Of what initdb and users create (FirstGenbkiObjectId); below are the built-in types."""
# rngmultitypid is not there before 14. A send function of an extension that is the server's own by
# another name, as citext's is textsend, makes the same bytes.
_TYPES = f"""
SELECT /* steelyard asks */ t.oid::int8, pg_catalog.format_type(t.oid, NULL),
       CASE WHEN t.typtype = 'b' AND p.prosrc = 'array_send' THEN 'a' ELSE t.typtype::text END,
       COALESCE(NULLIF(t.typbasetype, 0), r.rngsubtype, m.rngtypid, NULLIF(t.typelem, 0), 0)::int8,
       COALESCE((SELECT min(b.oid) FROM pg_catalog.pg_type b
                   JOIN pg_catalog.pg_proc q ON q.oid = b.typsend
                  WHERE b.oid < {_FIRST_OID} AND b.typtype = 'b' AND q.prosrc = p.prosrc
                    AND p.prolang = q.prolang), 0)::int8
  FROM pg_catalog.pg_type t
  LEFT JOIN pg_catalog.pg_proc p ON p.oid = t.typsend
  LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid
  LEFT JOIN pg_catalog.pg_range m
    ON (pg_catalog.to_jsonb(m) ->> 'rngmultitypid')::oid = t.oid AND t.typtype = 'm'
 WHERE t.oid >= {_FIRST_OID}
"""
_KINDS: dict[str, TypeKind] = {
    "e": "enum", "d": "domain", "c": "composite", "r": "range", "m": "multirange", "a": "array",
}  # fmt: skip
_TYPES_S = 60.0


@dataclass(frozen=True)
class DefinedType:
    """A type of a database that is not built in."""

    name: str
    """As SQL names it, with its schema."""
    kind: TypeKind
    """`same`: its binary form is that of the built-in type `of`; `other`: only the server knows."""
    of: int
    """Oid of a domain's base, a range's bounds, a multirange's ranges, an array's elements; 0 where
    there is none."""


def defined_types(target: Endpoint) -> dict[int, DefinedType]:
    """Oid → the type, of the target's database. ServerError: it cannot be read."""
    with connected(target, answer_s=_TYPES_S) as session:
        session.execute("SET search_path = pg_catalog")  # so that every name has its schema
        rows = session.execute(_TYPES.encode()).fetchall()
    return {oid: DefinedType(name, *_made_of(kind, of, same)) for oid, name, kind, of, same in rows}


def _made_of(kind: str, of: int, same: int) -> tuple[TypeKind, int]:
    type_kind = _KINDS.get(kind)
    if type_kind is not None:
        return type_kind, of
    return ("same", same) if same else ("other", 0)
