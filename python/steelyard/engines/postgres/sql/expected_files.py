"""Asks a running server which databases and relation files its data directory should hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8
from steelyard.engines.postgres.sql.relation_files import GLOBAL_TABLESPACE
from steelyard.model.errors import ServerError

_TIMEOUT_S = 5
_CLOCKS_DIFFER_S = 60
_SERVER = (
    "SELECT pg_catalog.pg_is_in_recovery(), s.system_identifier, "
    "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::float8 "
    "FROM pg_catalog.pg_control_system() s"
)
# -2 marks a database whose DROP was interrupted: its files may be gone.
_DATABASES = (
    "SELECT oid::int8, datname, dattablespace::int8, datallowconn "
    "FROM pg_catalog.pg_database WHERE datconnlimit <> -2"
)
_RELATIONS = """
SELECT c.oid::int8, c.relname, pg_catalog.pg_relation_filenode(c.oid)::int8,
       c.reltablespace::int8, c.relpersistence, c.relkind, c.relam::int8
FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'i', 'S', 't', 'm') AND c.relpersistence <> 't' AND NOT c.relisshared
  AND pg_catalog.pg_relation_filenode(c.oid) IS NOT NULL
"""


@dataclass(frozen=True)
class ServerDatabase:
    """A database as its server names it."""

    oid: int
    name: str
    tablespace: int


@dataclass(frozen=True)
class ServerRelation:
    """A relation whose file a server expects."""

    database: int
    oid: int
    name: str
    filenode: int
    tablespace: int
    kind: str  # relkind
    method: int  # relam


@dataclass(frozen=True)
class ServerFiles:
    """What a server expects to find in its data directory."""

    databases: tuple[ServerDatabase, ...]
    relations: tuple[ServerRelation, ...]
    unread: tuple[str, ...]  # databases that could not be connected to


def read_expected(
    conninfo: str, system_identifier: int, started: int | None, apart_from: Iterable[int] = ()
) -> ServerFiles:
    """What the server of a data directory expects there, by the catalogues of all its databases.

    `system_identifier` and `started`, seconds since 1970, are those of the directory: another
    server's files are not this one's. Databases in `apart_from`, by OID, are not connected to.
    ServerError: it cannot be queried, or it is another server.
    """
    import psycopg

    try:
        with connect_in_utf8(conninfo, connect_timeout=_TIMEOUT_S) as session:
            [(recovering, identifier, start)] = session.execute(_SERVER).fetchall()
            # As one signed and one unsigned number of 64 bits.
            same = int(identifier) % (1 << 64) == system_identifier % (1 << 64)
            if not same or (started is not None and abs(start - started) > _CLOCKS_DIFFER_S):
                raise ServerError("the server is not the one that runs in this directory")
            rows = session.execute(_DATABASES).fetchall()
    except psycopg.Error as error:
        raise ServerError(
            "could not read catalogues from the server", detail=str(error).strip()
        ) from error
    databases = tuple(ServerDatabase(int(r[0]), str(r[1]), int(r[2])) for r in rows)
    relations: list[ServerRelation] = []
    unread = []
    skipped = {*apart_from}
    for (oid, name, tablespace, open_to_all), database in zip(rows, databases, strict=True):
        if oid in skipped:
            continue
        try:
            if not open_to_all:
                raise psycopg.OperationalError("it accepts no connections")
            relations += _relations(conninfo, name, int(oid), int(tablespace), bool(recovering))
        except psycopg.Error:
            unread.append(database.name)
    return ServerFiles(databases, tuple(relations), tuple(unread))


def _relations(
    conninfo: str, name: str, oid: int, tablespace: int, recovering: bool
) -> list[ServerRelation]:
    with connect_in_utf8(conninfo, dbname=name, connect_timeout=_TIMEOUT_S) as session:
        rows = session.execute(_RELATIONS).fetchall()
    return [
        ServerRelation(
            database=oid,
            oid=int(number),
            name=str(relation),
            filenode=int(filenode),
            tablespace=int(own_tablespace) or tablespace,
            kind=str(kind),
            method=int(method),
        )
        for number, relation, filenode, own_tablespace, persistence, kind, method in rows
        # A standby has nothing of an unlogged relation but its init fork.
        if int(own_tablespace) != GLOBAL_TABLESPACE and not (recovering and persistence == "u")
    ]
