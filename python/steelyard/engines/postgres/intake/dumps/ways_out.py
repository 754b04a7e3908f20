"""Shuts the ways by which the statements of a dump reach other servers, until it is restored and
its statistics are gathered.

A dump may hold servers with their passwords, and REFRESH, INSERT and COPY would log in there. No
text says which do: views, rules and search_path lead there too. So every foreign-data wrapper is
without its handler meanwhile (fdwapi: nothing reads or writes a foreign table but by it), and the
functions of dblink that connect are without their code. Both come back at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.engines.intake import Neutralised
from steelyard.engines.postgres.intake.configuration import printable
from steelyard.engines.postgres.intake.dumps.lexer import SqlStatement
from steelyard.engines.postgres.intake.dumps.session import DumpSession, StatementError

if TYPE_CHECKING:
    import psycopg

_SHUT = "steelyard_shut_"
_PART = rb'(?:"[^"]+"|[A-Za-z_\x80-\xff][\w$\x80-\xff]*)'
_TARGET = re.compile(
    rb"(?is)(?:COPY|INSERT\s+INTO)\s+(" + _PART + rb"(?:\." + _PART + rb")?)(?=[\s(;])(?!\s*\.)"
)
_REFRESHED = re.compile(
    rb"(?is)REFRESH\s+MATERIALIZED\s+VIEW\s+(?:CONCURRENTLY\s+)?(" + _PART
    + rb"(?:\." + _PART + rb")?)"
)  # fmt: skip
_NO_HANDLER = re.compile(r'foreign-data wrapper ".*" has no handler')
_NOT_POPULATED = re.compile(r'materialized view ".*" has not been populated')
_MAKES_WAYS = (
    ("CREATE", "EXTENSION"),
    ("ALTER", "EXTENSION"),
    ("CREATE", "FOREIGN", "DATA"),
    ("ALTER", "FOREIGN", "DATA"),
    ("DO",),
    ("CALL",),
)
_DBLINK = "'^(.*/)?dblink(\\.so)?$'"
_FOREIGN_OF = """
    WITH RECURSIVE named(oid) AS (SELECT pg_catalog.to_regclass({0})::pg_catalog.oid),
    below(oid) AS (SELECT oid FROM named UNION SELECT i.inhrelid FROM below AS b
        JOIN pg_catalog.pg_class AS p ON p.oid = b.oid AND p.relkind = 'p'
        JOIN pg_catalog.pg_inherits AS i ON i.inhparent = b.oid)
    SELECT c.oid = (SELECT oid FROM named), pg_catalog.format('%I.%I', n.nspname, c.relname)
    FROM below AS b JOIN pg_catalog.pg_class AS c ON c.oid = b.oid AND c.relkind = 'f'
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace ORDER BY 1 DESC, 2 LIMIT 1"""
_SHUT_WRAPPERS = """
    UPDATE pg_catalog.pg_foreign_data_wrapper AS w SET fdwhandler = 0
    FROM (SELECT oid, fdwhandler FROM pg_catalog.pg_foreign_data_wrapper) AS before
    WHERE before.oid = w.oid AND w.fdwhandler <> 0 RETURNING w.oid, before.fdwhandler::oid"""
# dblink.c: these take a connection string; all others use a connection that there is.
_SHUT_DBLINK = f"""
    UPDATE pg_catalog.pg_proc SET prosrc = '{_SHUT}' || prosrc WHERE probin ~ {_DBLINK}
    AND prosrc IN ('dblink_connect', 'dblink_record', 'dblink_exec')"""
_OPEN_DBLINK = f"""
    UPDATE pg_catalog.pg_proc SET prosrc = pg_catalog.substr(prosrc, {len(_SHUT) + 1})
    WHERE probin ~ {_DBLINK} AND prosrc ~ '^{_SHUT}'"""


@dataclass(frozen=True)
class ForeignTarget:
    """The foreign table that rows of a statement would go to, or may."""

    name: str
    itself: bool
    """It is the table that the statement names; else a partition of that."""


class WaysOut:
    """Those of the database that one session restores a dump into."""

    def __init__(self, session: DumpSession) -> None:
        self._session = session
        self._handlers: dict[int, int] = {}  # of wrappers, by their oids
        self._targets: dict[bytes, ForeignTarget | None] = {}
        self._left_empty = False

    def shut_after(self, statement: SqlStatement) -> None:
        """Shut what a statement that was executed may have made."""
        if not _adds_rows(statement):
            self._targets.clear()  # names may mean other tables now
        makes = any(statement.begins(*words) for words in _MAKES_WAYS)
        if statement.begins("SELECT") and not statement.begins("SELECT", "PG_CATALOG"):
            makes = True  # a function of the dump's own
        if statement.begins("CREATE") and b"dblink" in statement.text:
            makes = True  # its functions one by one, as dumps before 9.1 have them
        if not (makes and self._session.takes_statements):
            return
        for oid, handler in self._session.rows(_SHUT_WRAPPERS.encode()):
            self._handlers[int(oid)] = int(handler)
        self._session.execute(_SHUT_DBLINK.encode())

    def open_again(self) -> None:
        """Give back what was taken, as far as it is still there: the copy is like the original."""
        for oid, handler in self._handlers.items():
            self._session.execute(_give_back(oid, handler))
        self._session.execute(_OPEN_DBLINK.encode())

    def target(self, statement: SqlStatement) -> ForeignTarget | None:
        """The foreign table that a COPY or INSERT writes to, whatever it calls it. One that hides
        behind a view or a rule is shut all the same, and its statement fails."""
        match = _TARGET.match(statement.text) if _adds_rows(statement) else None
        if match is None or not self._session.takes_statements:
            return None
        name = bytes(match[1])
        if name not in self._targets:
            query = _FOREIGN_OF.encode().replace(b"{0}", self._session.literal(name))
            self._targets[name] = None
            for itself, table in self._session.rows(query):
                text = printable(table.decode(errors="replace"))
                self._targets[name] = ForeignTarget(text, itself=itself == b"t")
        return self._targets[name]

    def left_empty(self, statement: SqlStatement, error: StatementError) -> Neutralised | None:
        """What the copy is without where REFRESH failed for a way that is shut; None: for another
        reason, or it is no REFRESH."""
        match = _REFRESHED.match(statement.text)
        of_empty = self._left_empty and _NOT_POPULATED.search(error.primary) is not None
        if match is None or not (is_shut(error) or of_empty):
            return None
        self._left_empty = True
        name = printable(match[1].decode(errors="replace"))
        return Neutralised(
            f"rows of materialized view {name}",
            "they come from a foreign table or dblink, which no restore reads; reading it fails",
        )


def is_shut(error: StatementError) -> bool:
    """Whether a statement failed since a way to another server is shut."""
    return names_shut_way(error.primary)


def names_shut_way(primary: str) -> bool:
    """The same of a message of the server."""
    return _NO_HANDLER.search(primary) is not None or _SHUT in primary


@contextmanager
def shut_ways(session: psycopg.Connection) -> Iterator[None]:
    """The ways of a whole database, shut meanwhile; each statement is a transaction of its own."""
    handlers = session.execute(_SHUT_WRAPPERS.encode()).fetchall()
    session.execute(_SHUT_DBLINK.encode())
    try:
        yield
    finally:
        for oid, handler in handlers:
            session.execute(_give_back(int(oid), int(handler)))
        session.execute(_OPEN_DBLINK.encode())


def _give_back(wrapper: int, handler: int) -> bytes:
    """The statement that gives a wrapper its handler back, where that is still there."""
    return (
        f"UPDATE pg_catalog.pg_foreign_data_wrapper SET fdwhandler = {handler} WHERE oid ="
        f" {wrapper} AND EXISTS (SELECT FROM pg_catalog.pg_proc WHERE oid = {handler})"
    ).encode()


def _adds_rows(statement: SqlStatement) -> bool:
    return statement.reads_rows or statement.begins("INSERT")
