"""Asks a server which relations its files belong to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.integrity.scrub.finding import Finding, Owner
from steelyard.model.errors import ServerError

_TIMEOUT_S = 5
_DATABASES = (
    "SELECT oid::int8, datname, dattablespace::int8 FROM pg_catalog.pg_database WHERE datallowconn"
)
_GLOBAL = 1664
_Key = tuple[int, int, int]
"""(database, tablespace, filenode): numbers of files are unique within their directory alone."""
_RELATIONS = """
SELECT pg_catalog.pg_relation_filenode(c.oid)::int8, c.oid::pg_catalog.regclass::text, c.relkind,
       coalesce(i.indrelid, t.oid)::pg_catalog.regclass::text, c.reltablespace::int8
FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid
LEFT JOIN pg_catalog.pg_class t ON t.reltoastrelid = c.oid
WHERE pg_catalog.pg_relation_filenode(c.oid) = ANY(%s) AND c.relisshared = %s
"""


def conninfo_of(directory: Path) -> str:
    """How the server in a data directory is reached, by its postmaster.pid; ServerError: unknown.

    Layout: src/include/utils/pidfile.h; port and socket directory are its 4th and 5th line.
    """
    try:
        lines = (directory / "postmaster.pid").read_text(errors="replace").splitlines()
        port, socket, address = lines[3].strip(), lines[4].strip(), lines[5].strip()
    except (OSError, IndexError) as error:
        raise ServerError("the server does not say where it listens") from error
    host = socket or {"*": "localhost", "0.0.0.0": "localhost"}.get(address, address)
    return f"host={host} port={port} user=postgres dbname=postgres"


def with_owners(findings: Sequence[Finding], conninfo: str) -> list[Finding]:
    """The findings with the names of their relations, where the server knows them.

    ServerError: it cannot be asked at all; a database that cannot be asked leaves its own unnamed.
    """
    import psycopg

    by_database: dict[int, set[int]] = defaultdict(set)
    for finding in findings:
        by_database[finding.database].add(finding.filenode)
    known: dict[_Key, Owner] = {}
    try:
        with psycopg.connect(
            conninfo, connect_timeout=_TIMEOUT_S, autocommit=True
        ) as session:  # fmt: skip
            session.execute("SET search_path = pg_catalog")
            databases = {
                int(oid): (str(name), int(space))
                for oid, name, space in session.execute(_DATABASES)
            }
            shared = sorted(by_database.get(0, ()))
            rows = session.execute(_RELATIONS, (shared, True)).fetchall()
            known |= {(0, _GLOBAL, int(row[0])): _owner("", row) for row in rows}
    except psycopg.Error as error:
        raise ServerError(
            "could not ask the server for names", detail=str(error).strip()
        ) from error
    for oid, filenodes in by_database.items():
        if oid in databases:
            known |= _owners_in(conninfo, *databases[oid], oid, sorted(filenodes))
    return [replace(f, owner=known.get((f.database, f.tablespace, f.filenode))) for f in findings]


def _owners_in(
    conninfo: str, database: str, default_tablespace: int, oid: int, filenodes: list[int]
) -> dict[_Key, Owner]:
    import psycopg

    try:
        with psycopg.connect(
            conninfo, dbname=database, connect_timeout=_TIMEOUT_S, autocommit=True
        ) as session:
            session.execute("SET search_path = pg_catalog")  # so that names come with schemas
            rows = session.execute(_RELATIONS, (filenodes, False)).fetchall()
    except psycopg.Error:
        return {}  # damage may be in the catalogue itself
    return {
        (oid, int(row[4]) or default_tablespace, int(row[0])): _owner(database, row) for row in rows
    }


def _owner(database: str, row: Sequence[object]) -> Owner:
    of = "" if row[3] in (None, "-") else str(row[3])
    return Owner(database, str(row[1]), str(row[2]), of)
