"""Builds from the real npm run here, and lend the bundled ones their contrib."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from engines.real_npm import fetch
from own_cache import own_cache
from steelyard.engines.cache import entries, open_cache
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.registry import open_run
from steelyard.model.readings import between

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def added() -> Iterator[Path]:
    """A cache with the npm build of the bundled 18."""
    with own_cache() as root:
        fetch("18.4")
        yield root


@contextmanager
def session(engine: Postgres, settings: dict[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a new server of an engine."""
    with open_run(open_cache(), engine.account) as run:
        cluster = engine.create(run.directory / "data", protection="checksums")
        cluster.start(run.slot(0), settings)
        try:
            with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as connection:
                yield connection
        finally:
            cluster.stop()


@pytest.mark.long
def test_an_npm_build_tells_who_built_it_and_how(added: Path) -> None:
    identity = find_postgres("npm-18.4").identity
    assert identity.version == "18.4"
    assert "gcc" in identity.builder
    assert "-Os" in identity.cflags.split()
    assert "'--with-openssl'" in identity.configure.split()
    assert not identity.assertions
    assert identity.package.startswith("@embedded-postgres/linux-")
    assert identity.package.partition("@18.4")[1], "a record names the package and its version"
    assert identity.bindir.startswith(str(added))
    assert find_postgres("18.4").identity.origin == "bundle", "of one version the bundle is first"


def test_an_npm_build_serves_with_tls_it_brought_itself(added: Path) -> None:
    with session(find_postgres("npm-18.4"), {}) as connection:
        library = connection.execute("SHOW ssl_library").fetchone()
    assert library == ("OpenSSL",)


@pytest.mark.parametrize("version", ["18.4", pytest.param("16.14", marks=pytest.mark.long)])
def test_the_bundled_versions_create_contribs_extensions(added: Path, version: str) -> None:
    fetch(version)
    engine = find_postgres(version, contrib=True)
    assert engine.identity.origin == "bundle"
    assert engine.identity.version == version
    assert not engine.identity.package
    assert f"@{version}" in engine.identity.contrib, "a record names who lent it"
    preload = {"shared_preload_libraries": "pg_stat_statements"}
    with session(engine, preload) as connection:
        for name in ("amcheck", "pg_buffercache", "pg_prewarm", "pg_stat_statements", "pgcrypto"):
            connection.execute(f"CREATE EXTENSION {name}".encode())
        connection.execute("SELECT bt_index_check('pg_class_oid_index')")
        (pages,) = connection.execute("SELECT pg_prewarm('pg_class')").fetchone() or (0,)
        (cached,) = connection.execute("SELECT count(*) FROM pg_buffercache").fetchone() or (0,)
        (seen,) = connection.execute("SELECT count(*) FROM pg_stat_statements").fetchone() or (0,)
        digest = connection.execute("SELECT encode(digest('a', 'md5'), 'hex')").fetchone()
    assert pages > 0
    assert cached > 0
    assert seen > 0
    assert digest == ("0cc175b9c0f1b6a831c399e269772661",), "a library of its own was found"


@pytest.mark.long
def test_the_older_version_is_copied_once_to_take_contrib_in(added: Path) -> None:
    fetch("16.14")
    first = find_postgres("16", contrib=True).identity.bindir
    assert find_postgres("16", contrib=True).identity.bindir == first
    copies = [entry.name for entry in entries(open_cache().binaries)]
    assert len([name for name in copies if name.endswith("-contrib")]) == 1
    assert find_postgres("16").identity.bindir != first, "the bundle itself stays as it is"


def test_log_and_blocks_of_statements_are_what_psql_shows_and_ours_are_not_counted(
    added: Path,
) -> None:
    engine = find_postgres("18", contrib=True)
    with open_run(open_cache(), engine.account) as run:
        cluster = engine.create(run.directory / "data", protection="checksums")
        cluster.start(run.slot(0), engine.statement_counting({}))
        try:
            cluster.workload_database().create()
            cluster.prepare_statement_counts()
            ours = conninfo_of(replace(cluster.address, database=DATABASE))
            with psycopg.connect(ours, autocommit=True) as load:
                load.execute("CREATE TABLE t AS SELECT g AS x FROM generate_series(1, 100) g")
                before = cluster.statement_counts(DATABASE)
                for value in range(7):
                    load.execute("UPDATE  t\n SET x = x + %s", (value,))
                with closing(cluster.wait_probe(DATABASE)) as probe:
                    probe.sample()
            found = between(before, cluster.statement_counts(DATABASE))
            psql = subprocess.run(
                [
                    *(engine.identity.bindir + "/psql", "-X", "-A", "-t", "-h"),
                    *(cluster.address.host, "-p", str(cluster.address.port), "-U", "postgres"),
                    "-c",
                    "SELECT calls, wal_bytes, wal_fpi, shared_blks_read "
                    "FROM pg_stat_statements WHERE query LIKE 'UPDATE%'",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
        finally:
            cluster.stop()
    [update] = found.by_text.values()
    assert update.text == "UPDATE t SET x = x + $1"
    assert update.executions == 7
    told = (update.executions, update.wal_bytes, update.full_page_images, update.blocks_read)
    assert "|".join(map(str, told)) == psql
