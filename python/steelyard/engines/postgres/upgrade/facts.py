"""Reads from a running copy what an upgrade depends on: databases, extensions, statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.database import connected

if TYPE_CHECKING:
    import psycopg

_DATABASES = """
SELECT datname::text, pg_catalog.pg_database_size(oid)::bigint, datallowconn, datconnlimit = -2
  FROM pg_catalog.pg_database WHERE datname <> 'template0' ORDER BY datname
"""
_TEMPLATE = """
SELECT pg_catalog.pg_encoding_to_char(encoding), datcollate::text, datctype::text
  FROM pg_catalog.pg_database WHERE datname = 'template0'
"""
_PREPARED = "SELECT gid, database::text FROM pg_catalog.pg_prepared_xacts ORDER BY gid"
_SLOTS = """
SELECT slot_name::text FROM pg_catalog.pg_replication_slots WHERE slot_type = 'logical' ORDER BY 1
"""
_CONTENTS = """
SELECT (SELECT count(*) FROM pg_catalog.pg_class WHERE relkind IN ('r','p','i','I','S','m','t')
          AND oid >= 16384),
       (SELECT count(*) FROM pg_catalog.pg_largeobject_metadata),
       (SELECT count(*) FROM pg_catalog.pg_statistic WHERE starelid >= 16384),
       (SELECT count(*) FROM pg_catalog.pg_statistic_ext_data)
"""
_EXTENSIONS = "SELECT extname::text, extversion FROM pg_catalog.pg_extension ORDER BY extname"
_AVAILABLE = "SELECT name::text, default_version FROM pg_catalog.pg_available_extensions"
_ROLE = re.compile(r'rolname = "(.*)"\t\(typeid')
OWNER_QUERY = "SELECT rolname FROM pg_catalog.pg_authid WHERE oid = 10"
"""The role that initdb made (BOOTSTRAP_SUPERUSERID): pg_upgrade wants it in both clusters."""


@dataclass(frozen=True)
class DatabaseFacts:
    """One database."""

    bytes: int
    relations: int  # tables, indexes, sequences, views that are stored; not of the system
    large_objects: int
    statistics: int  # columns of user tables with statistics
    extended: int  # statistics objects that were filled
    extensions: Mapping[str, str]  # version by name


@dataclass(frozen=True)
class ClusterFacts:
    """A whole cluster."""

    databases: Mapping[str, DatabaseFacts]
    closed: tuple[str, ...]  # databases that admit no connection
    invalid: tuple[str, ...]  # those whose DROP DATABASE was interrupted
    prepared: tuple[tuple[str, str], ...]  # gid, database
    template: tuple[str, str, str]  # encoding, collate, ctype of template0
    available: Mapping[str, str] = field(default_factory=dict)  # extensions that the build has
    slots: tuple[str, ...] = ()  # logical ones

    def total(self, name: str) -> int:
        """The sum of a number over all databases."""
        return sum(getattr(each, name) for each in self.databases.values())


def role_of(output: str) -> str:
    """The role that a single-user server answered OWNER_QUERY with; "postgres": it did not."""
    match = _ROLE.search(output)
    return match[1] if match else "postgres"


def read_facts(cluster: Cluster, owner: str) -> ClusterFacts:
    """Of a running cluster, as its first superuser. ServerError: a database cannot be opened."""
    with _session(cluster, owner, "template1") as session:
        databases = session.execute(_DATABASES.encode()).fetchall()
        prepared = session.execute(_PREPARED.encode()).fetchall()
        slots = session.execute(_SLOTS.encode()).fetchall()
        template = session.execute(_TEMPLATE.encode()).fetchone()
        available = session.execute(_AVAILABLE.encode()).fetchall()
    return ClusterFacts(
        databases={
            name: _database(cluster, owner, name, size)
            for name, size, open_, gone in databases
            if open_ and not gone
        },
        closed=tuple(name for name, _, open_, gone in databases if not open_ and not gone),
        invalid=tuple(name for name, *_, gone in databases if gone),
        prepared=tuple((str(gid), str(database)) for gid, database in prepared),
        template=template or ("UTF8", "C", "C"),
        available=dict(available),
        slots=tuple(str(name) for (name,) in slots),
    )


def resolve_blocks(cluster: Cluster, owner: str, facts: ClusterFacts) -> None:
    """Do in a running copy what has to be done in the original first: drop what is invalid, open
    databases, roll prepared transactions back, which may be of one that was closed."""
    from psycopg import sql

    with _session(cluster, owner, "template1") as session:
        for name in facts.invalid:
            session.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
        for name in facts.closed:
            opened = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true")
            session.execute(opened.format(sql.Identifier(name)))
    for gid, database in facts.prepared:
        with _session(cluster, owner, database) as session:
            session.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))


def _database(cluster: Cluster, owner: str, name: str, size: int) -> DatabaseFacts:
    with _session(cluster, owner, name) as session:
        row = session.execute(_CONTENTS.encode()).fetchone()
        extensions = session.execute(_EXTENSIONS.encode()).fetchall()
    assert row is not None  # one row, always
    relations, objects, statistics, extended = row
    return DatabaseFacts(size, relations, objects, statistics, extended, dict(extensions))


@contextmanager
def _session(cluster: Cluster, owner: str, database: str) -> Iterator[psycopg.Connection]:
    with connected(replace(cluster.address, user=owner, database=database)) as session:
        yield session
