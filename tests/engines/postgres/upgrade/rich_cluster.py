"""A cluster with what upgrades stumble over, of a user: partitions, generated columns, large
objects, statistics objects, a tablespace, a slot, and where asked for a prepared transaction."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from engines.postgres.intake.conftest import original_at
from engines.postgres.intake.original import OWNER, PORT, Original

STATEMENTS = (
    "CREATE TABLE sales (day date NOT NULL, amount int, twice int GENERATED ALWAYS AS (amount * 2)"
    " STORED) PARTITION BY RANGE (day)",
    "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
    "CREATE TABLE sales_2 PARTITION OF sales FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')"
    " TABLESPACE elsewhere",
    "INSERT INTO sales SELECT date '2026-01-01' + n % 59, n FROM generate_series(1, 5000) AS n",
    "CREATE INDEX ON sales (amount)",
    "CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, words text)"
    " TABLESPACE elsewhere",
    "INSERT INTO items (words) SELECT repeat('x', n) FROM generate_series(1, 500) AS n",
    "CREATE STATISTICS both_columns (dependencies) ON day, amount FROM sales_1",
    "SELECT lo_from_bytea(0, repeat('y', 5000)::bytea) FROM generate_series(1, 3)",
    "ANALYZE",
)


@contextmanager
def rich_cluster(
    home: Path, version: str, *, extension: str | None = None, prepared: bool = False
) -> Iterator[Original]:
    """It, stopped; its files are gone afterwards, with `home`."""
    original = original_at(home, version)
    original.make()
    space = original.sockets / "space"
    original.account.make_directory(space)
    with original.running():
        original.ask(f"CREATE TABLESPACE elsewhere LOCATION '{space}'")
        original.ask("CREATE DATABASE shop")
        for statement in STATEMENTS:
            original.ask(statement, "shop")
        if extension is not None:
            original.ask(f"CREATE EXTENSION {extension}", "shop")
        original.ask("SELECT pg_create_physical_replication_slot('standby1', true)")
        if prepared:
            place = f"host={original.sockets} port={PORT} user={OWNER} dbname=shop"
            with psycopg.connect(place, autocommit=True) as session:
                session.execute("BEGIN")
                session.execute("UPDATE items SET words = 'late' WHERE id = 7")
                session.execute("PREPARE TRANSACTION 'order 7'")
    yield original


def fingerprint(top: Path) -> dict[str, tuple[str, int, int, int]]:
    """Name → what is in it (a hash, a link's target), mode, owner, time of change, of all below."""
    files = {}
    for directory, below, names in os.walk(top):
        for name in (*below, *names):
            path = Path(directory, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                content = os.readlink(path) if path.is_symlink() else ""
            mark = (content, status.st_mode, status.st_uid, status.st_mtime_ns)
            files[os.path.relpath(path, top)] = mark
    return files
