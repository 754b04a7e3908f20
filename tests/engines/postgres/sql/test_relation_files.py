"""A running server names the relations that files of its data directory belong to."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.postgres.sql.conftest import Server
from steelyard.engines.postgres.sql.relation_files import (
    GLOBAL_TABLESPACE,
    Relation,
    RelationFile,
    local_conninfo,
    read_relations,
)
from steelyard.model.errors import ServerError

pytestmark = pytest.mark.by_version

NUMBERS = """
SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::int8,
       (SELECT dattablespace FROM pg_database WHERE datname = current_database())::int8,
       pg_relation_filenode('named'), pg_relation_filenode('named_pkey'),
       pg_relation_filenode((SELECT reltoastrelid FROM pg_class WHERE relname = 'named')),
       pg_relation_filenode('pg_database')
"""


@pytest.mark.postgres
def test_tables_indexes_toast_and_shared_relations_are_named(server: Server) -> None:
    with server.connect() as session:
        session.execute("CREATE TABLE named (id int PRIMARY KEY, long text)")
        row = session.execute(NUMBERS).fetchone()
        assert row is not None
        database, tablespace, table, index, toast, shared = row
        files = [RelationFile(database, tablespace, number) for number in (table, index, toast)]
        catalogue = RelationFile(0, GLOBAL_TABLESPACE, shared)
        unknown = RelationFile(database, tablespace, 4_000_000_000)
        known = read_relations([*files, catalogue, unknown], server.conninfo)
        session.execute("DROP TABLE named")
    assert known[files[0]] == Relation("postgres", "public.named", "r")
    assert known[files[1]] == Relation("postgres", "public.named_pkey", "i", "public.named")
    assert (known[files[2]].kind, known[files[2]].table) == ("t", "public.named")
    assert known[catalogue] == Relation("", "pg_database", "r")
    assert unknown not in known


@pytest.mark.postgres
def test_the_server_in_a_directory_is_reached_by_its_lock_file(server: Server) -> None:
    conninfo = local_conninfo(server.directory)
    assert f"host={server.address.host} port={server.address.port} " in conninfo


@pytest.mark.parametrize(
    ("socket", "listens", "host"),
    [("/run/pg", "localhost", "/run/pg"), ("", "*", "localhost"), ("", "10.0.0.1", "10.0.0.1")],
)
def test_the_socket_comes_before_the_address(
    tmp_path: Path, socket: str, listens: str, host: str
) -> None:
    lines = ["77", "/data", "1790000000", "5433", socket, listens, "1 2", "ready"]
    (tmp_path / "postmaster.pid").write_text("\n".join(lines))
    assert local_conninfo(tmp_path) == f"host={host} port=5433 user=postgres dbname=postgres"


def test_a_server_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="does not give the server's address"):
        local_conninfo(tmp_path)
    with pytest.raises(ServerError, match="could not read relation names"):
        read_relations([RelationFile(5, 1663, 16384)], f"host={tmp_path} port=1")
