"""Finds the names of the relations that files of a data directory belong to, on a running server,
and which databases and relation files its data directory should hold.

File numbers (relfilenode) are unique within a database and tablespace only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import ServerError
from steelyard.model.files.small_file import MOST_OF_LOCK, read_small

GLOBAL_TABLESPACE, DEFAULT_TABLESPACE = 1664, 1663
"""OIDs of pg_global and pg_default (catalog/pg_tablespace.dat)."""
_WHERE = "the catalogue's server"
_DATABASES = (
    "SELECT oid::int8, datname, dattablespace::int8 FROM pg_catalog.pg_database WHERE datallowconn"
)
_IDENTIFIER = "SELECT system_identifier FROM pg_catalog.pg_control_system()"
NAME_OF_DATABASE = "SELECT datname FROM pg_database WHERE oid = {oid}"
"""Finds the name of a database from its OID."""
_RELATIONS = """
SELECT pg_catalog.pg_relation_filenode(c.oid)::int8, c.oid::pg_catalog.regclass::text, c.relkind,
       coalesce(i.indrelid, t.oid)::pg_catalog.regclass::text, c.reltablespace::int8
FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_catalog.pg_class t ON t.reltoastrelid = c.oid
WHERE pg_catalog.pg_relation_filenode(c.oid) = ANY(%s) AND c.relisshared = %s
"""


@dataclass(frozen=True)
class RelationFile:
    """The numbers that identify the files of one relation."""

    database: int  # OID; 0: shared by all databases
    tablespace: int  # OID
    filenode: int


@dataclass(frozen=True)
class Relation:
    """A relation as its server names it."""

    database: str  # "": shared by all databases
    name: str  # "public.accounts"
    kind: str  # relkind of pg_class: "r", "i", "t", ...
    table: str = ""  # the table of an index or of a TOAST table


def local_conninfo(directory: Path) -> str:
    """The connection string of the server in a data directory. ServerError: unknown.

    Layout of postmaster.pid: src/include/utils/pidfile.h; port, socket directory and address are
    its 4th to 6th line.
    """
    try:
        lines = read_small(
            directory / "postmaster.pid", MOST_OF_LOCK, errors="replace"
        ).splitlines()
        port, socket, address = lines[3].strip(), lines[4].strip(), lines[5].strip()
    except (OSError, IndexError) as error:
        raise ServerError("postmaster.pid does not give the server's address") from error
    host = socket or {"*": "localhost", "0.0.0.0": "localhost"}.get(address, address)
    return f"host={host} port={port} user=postgres dbname=postgres"


def read_relations(
    files: Iterable[RelationFile], conninfo: str, system_identifier: int | None = None
) -> dict[RelationFile, Relation]:
    """The relations of the files that the server knows.

    `system_identifier`: of the files' cluster; in every other one the same numbers are those of
    other relations. ServerError: the server cannot be queried, or is of another cluster. Files of a
    database that cannot be queried are left out.
    """
    import psycopg  # a scrub without a server needs none of this

    from steelyard.engines.postgres.guarded.connection import guarded

    filenodes: dict[int, set[int]] = defaultdict(set)
    for file in files:
        filenodes[file.database].add(file.filenode)
    try:
        with guarded(conninfo, where=_WHERE) as session:
            session.execute("SET search_path = pg_catalog")  # makes regclass print the schema
            if system_identifier is not None:
                _require_cluster(session.execute(_IDENTIFIER).fetchall(), system_identifier)
            databases = {
                int(oid): (str(name), int(tablespace))
                for oid, name, tablespace in session.execute(_DATABASES)
            }
            shared = sorted(filenodes.get(0, ()))
            rows = session.execute(_RELATIONS, (shared, True)).fetchall()
    except psycopg.Error as error:
        raise ServerError(
            "could not read relation names from the server", detail=str(error).strip()
        ) from error
    relations = {
        RelationFile(0, GLOBAL_TABLESPACE, int(row[0])): _relation("", row) for row in rows
    }
    for oid, numbers in filenodes.items():
        if oid in databases:
            relations |= _relations_of(conninfo, *databases[oid], oid, sorted(numbers))
    return relations


def _require_cluster(rows: Sequence[Sequence[Any]], system_identifier: int) -> None:
    [(identifier,)] = rows
    # As one signed and one unsigned number of 64 bits.
    if int(identifier) % (1 << 64) != system_identifier % (1 << 64):
        raise ServerError(
            "the server is of another cluster: its system identifier is "
            f"{int(identifier) % (1 << 64)}, that of these files {system_identifier % (1 << 64)}"
        )


def _relations_of(
    conninfo: str, database: str, default_tablespace: int, oid: int, filenodes: list[int]
) -> dict[RelationFile, Relation]:
    import psycopg

    from steelyard.engines.postgres.guarded.connection import guarded

    try:
        with guarded(conninfo, where=_WHERE, dbname=database) as session:
            session.execute("SET search_path = pg_catalog")
            rows = session.execute(_RELATIONS, (filenodes, False)).fetchall()
    except psycopg.Error:
        return {}  # the damage may be in this database's catalogue
    return {
        RelationFile(oid, int(row[4]) or default_tablespace, int(row[0])): _relation(database, row)
        for row in rows
    }


def _relation(database: str, row: Sequence[object]) -> Relation:
    table = "" if row[3] in (None, "-") else str(row[3])
    return Relation(database, str(row[1]), str(row[2]), table)


_TIMEOUT_S = 5
_CLOCKS_DIFFER_S = 60
_SERVER = (
    "SELECT pg_catalog.pg_is_in_recovery(), s.system_identifier, "
    "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::float8 "
    "FROM pg_catalog.pg_control_system() s"
)
# -2 marks a database whose DROP was interrupted: its files may be gone.
_EXPECTED_DATABASES = (
    "SELECT oid::int8, datname, dattablespace::int8, datallowconn "
    "FROM pg_catalog.pg_database WHERE datconnlimit <> -2"
)
_EXPECTED_RELATIONS = """
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

    from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8

    try:
        with connect_in_utf8(conninfo, connect_timeout=_TIMEOUT_S) as session:
            [(recovering, identifier, start)] = session.execute(_SERVER).fetchall()
            # As one signed and one unsigned number of 64 bits.
            same = int(identifier) % (1 << 64) == system_identifier % (1 << 64)
            if not same or (started is not None and abs(start - started) > _CLOCKS_DIFFER_S):
                raise ServerError("the server is not the one that runs in this directory")
            rows = session.execute(_EXPECTED_DATABASES).fetchall()
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
    from steelyard.engines.postgres.libpq.client_encoding import connect_in_utf8

    with connect_in_utf8(conninfo, dbname=name, connect_timeout=_TIMEOUT_S) as session:
        rows = session.execute(_EXPECTED_RELATIONS).fetchall()
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
