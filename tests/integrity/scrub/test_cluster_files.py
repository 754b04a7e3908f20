"""What is read from the files of catalogues is what the server that wrote them shows."""

from __future__ import annotations

import pytest

from integrity.conftest import Made, execute, running
from steelyard._core import walk_cluster
from steelyard.engines.postgres.life.catalogue_rows import Commits
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.sql.relation_files import DEFAULT_TABLESPACE
from steelyard.integrity.scrub.cluster_files import ClusterFiles
from steelyard.integrity.scrub.cluster_state import inspect_cluster

pytestmark = [pytest.mark.postgres, pytest.mark.by_version]

CHANGES = [
    "CREATE TABLE kept AS SELECT generate_series(1, 10) i",
    "BEGIN; CREATE TABLE undone (id int); ROLLBACK",
    "CREATE TABLE dropped (id int)",
    "DROP TABLE dropped",
    "BEGIN; DROP TABLE kept; ROLLBACK",
    "BEGIN; SAVEPOINT a; CREATE TABLE inner_kept (id int); RELEASE a; COMMIT",
    "CREATE DATABASE second",
    "ALTER DATABASE second RENAME TO third",
    "CREATE DATABASE gone",
    "DROP DATABASE gone",
]


def files_of(cluster: Cluster) -> ClusterFiles:
    state = inspect_cluster(cluster.directory)
    segments, _, _ = walk_cluster(cluster.directory, state.layout.tablespace_version)
    return ClusterFiles(state, segments, (), ())


def test_the_rows_of_a_stopped_cluster_are_those_that_its_server_shows(
    made: Made, cluster: Cluster
) -> None:
    with running(made) as alive:
        execute(alive, *CHANGES)
        databases = execute(
            alive, "SELECT oid::int8, datname, dattablespace::int8, true FROM pg_database"
        )
        relations = execute(
            alive,
            "SELECT oid::int8, relname, relfilenode::int8, reltablespace::int8, "
            "relpersistence::text, relkind::text FROM pg_class "
            "WHERE relfilenode <> 0 AND relkind IN ('r', 'i', 'S', 't', 'm')",
        )
        tablespaces = execute(alive, "SELECT oid::int8, spcname FROM pg_tablespace")
        [(database,)] = execute(
            alive, "SELECT oid::int8 FROM pg_database WHERE datname = current_database()"
        )
    files = files_of(cluster)
    found = files.databases(files.read_map("global"))
    assert sorted((d.oid, d.name, d.tablespace, d.valid) for d in found) == sorted(databases)
    assert files.tablespaces(files.read_map("global")) == dict(tablespaces)
    rows = files.relations(database, DEFAULT_TABLESPACE, files.read_map(f"base/{database}"))
    assert sorted(
        (r.oid, r.name, r.filenode, r.tablespace, r.persistence, r.kind) for r in rows
    ) == sorted(relations)


def test_a_database_whose_drop_was_interrupted_is_not_valid(made: Made, cluster: Cluster) -> None:
    with running(made) as alive:
        execute(
            alive,
            "CREATE DATABASE half",
            "UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half'",
        )
    files = files_of(cluster)
    valid = {d.name: d.valid for d in files.databases(files.read_map("global"))}
    assert valid["half"] is False
    assert all(valid[name] for name in ("postgres", "template0", "template1"))


def test_what_became_of_transactions_is_what_the_server_says(made: Made, cluster: Cluster) -> None:
    with running(made) as alive:
        [(first,)] = execute(alive, "SELECT txid_current()::int8")
        for end in ("COMMIT", "ROLLBACK") * 5:
            execute(alive, f"BEGIN; SELECT txid_current(); {end}")
        rows = execute(
            alive, f"SELECT i, txid_status(i) FROM generate_series({first}, {first + 10}) i"
        )
    commits = Commits(cluster.directory, 8192)
    states = {"committed": 1, "aborted": 2}
    assert {status for _, status in rows} == {"committed", "aborted"}
    assert [(i, commits.state(i)) for i, _ in rows] == [(i, states[s]) for i, s in rows]
    assert commits.state(1 << 30) == 0
