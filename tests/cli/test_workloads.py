"""`steelyard workloads` lists, explains and loads; it never writes into what is not its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from own_cache import own_cache
from steelyard.cli.command_line import app
from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql import database
from steelyard.engines.postgres.sql.database import connected
from steelyard.engines.registry import open_run
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, UsageError
from steelyard.workloads.loading import disk_space
from steelyard.workloads.reading.folder import find_workload, known_workloads

CALL = CliRunner()


def call(*arguments: str) -> dict[str, object]:
    done = CALL.invoke(app, ["workloads", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def refusal(*arguments: str) -> str:
    done = CALL.invoke(app, ["workloads", *arguments])
    assert isinstance(done.exception, UsageError | EngineError), done
    return str(done.exception)


def test_every_workload_is_listed_with_its_title() -> None:
    said = CALL.invoke(app, ["workloads"]).stdout
    assert "tproc-c-client" in said
    assert "select-insert   Insert loop" in said
    listed = call("list", "--json")["workloads"]
    assert isinstance(listed, list)
    assert {"pgbench", "reserva", "tproc-c"} <= {one["name"] for one in listed}


def test_every_workload_is_listed_once_under_what_it_is_for() -> None:
    said = CALL.invoke(app, ["workloads"]).stdout
    named = [line.split()[0] for line in said.splitlines() if line.startswith("  ")]
    assert sorted(named) == known_workloads()
    assert said.index("transactions:") < said.index("  ycsb ") < said.index("slow queries:")


def test_the_options_of_one_are_explained() -> None:
    said = CALL.invoke(app, ["workloads", "list", "tproc-c"]).stdout
    assert "profile = spec (spec, hammerdb)" in said
    assert "warehouses = 10" in said
    assert "new-order 45" in said
    assert "8 orders of them" in CALL.invoke(app, ["workloads", "list", "htap"]).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reservat",), 'Did you mean "reserva"?'),
        (("tproc-c", "--set", "warehouses=none"), 'invalid warehouses: "none"'),
        (("tproc-c", "--set", "warehouses"), 'invalid override: "warehouses"'),
        (("tproc-c", "--set", "warehouse=3"), 'has no option "warehouse"'),
        (("pgbench", "--set", "scale=20000"), "1 to 19999 are possible"),
        (("pgbench", "host=db.example.org"), "Say --yes"),
        (("pgbench", "mysql://u@db.example.org/"), "Say --yes"),
        (("pgbench", "mysql://u@/?sock=/tmp/s"), 'invalid word in the URI of a server: "sock"'),
        (("pgbench", "hots=/tmp"), "invalid connection string"),
        (("pgbench", "--machines", "3"), "name a TARGET"),
        (("pgbench", "--replace"), "option --replace is of a server: name a TARGET"),
        (("pgbench", "--yes"), "option --yes is of a server"),
        (("pgbench", "host=/tmp", "--version", "16"), "option --version is of the cache"),
        (("pgbench", "host=/tmp", "--bindir", "/opt/pg/bin"), "option --bindir is of the cache"),
        (("pgbench", "host=/tmp", "--as", "nobody"), "option --as is of the cache"),
        (("pgbench", "host=/tmp", "--ray", "db1:6379"), "add --machines N"),
    ],
)
def test_what_is_asked_wrongly_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal("load", *arguments)


def test_a_scale_that_does_not_fit_is_refused_with_one_that_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 1_500_000_000)
    with own_cache():
        said = refusal("load", "tproc-c", "--set", "warehouses=4321")
    assert "are needed, 1431 MB are free" in said
    assert "Scale 1" in said


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    """A server of somebody else, so to speak."""
    with own_cache():
        engine = find_postgres("18")
        with open_run(open_cache(), engine.account) as run:
            cluster = engine.create(run.directory / "data", protection="checksums")
            cluster.start(Slot(0, run.directory / "slot0", run.sockets, 5432), {"fsync": "off"})
            try:
                yield cluster.address
            finally:
                cluster.stop()


@pytest.mark.long
@pytest.mark.postgres
def test_a_server_is_loaded_replaced_when_asked_and_otherwise_left_alone(server: Endpoint) -> None:
    target = conninfo_of(server)
    load = ("load", "select-insert", target, "--set", "thousands=2", "--json")
    first = call(*load)
    assert first["rows"] == 2_000
    assert first["tables"] == {"source_rows": 2_000, "results": 0}
    assert "--replace" in refusal(*load)
    assert call(*load, "--replace")["digests"] == first["digests"]
    ours = target.replace(f"dbname={server.database}", "dbname=steelyard")
    with connected(server) as connection:
        interrupted = [
            "DROP DATABASE steelyard",
            "CREATE DATABASE steelyard",
        ]
        for statement in interrupted:
            connection.execute(statement.encode())
    assert "was not made by Steelyard" in refusal(*load, "--replace")
    import psycopg

    with psycopg.connect(ours, autocommit=True) as connection:
        connection.execute("CREATE TABLE steelyard_marker (workload text)")
    assert call(*load)["rows"] == 2_000, "an interrupted load is replaced"


@pytest.mark.postgres
def test_a_scale_that_does_not_fit_a_server_is_refused_before_anything_is_made(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases = "SELECT array_agg(oid::text || datname ORDER BY oid) FROM pg_database"
    with connected(server) as connection:
        before = connection.execute(databases.encode()).fetchone()
    target, scale = conninfo_of(server), "warehouses=20"
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 1_500_000_000)
    said = refusal("load", "tproc-c", target, "--set", scale, "--replace")
    assert "are needed, 14" in said  # 1431 MB, and what would be replaced
    assert "for the database and its log" in said
    assert "Scale 6 would fit" in said
    with connected(server) as connection:
        assert connection.execute(databases.encode()).fetchone() == before


@pytest.mark.postgres
def test_where_the_disk_of_a_server_is_not_seen_its_need_is_told(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_is_local", lambda *_: False)
    monkeypatch.setattr(disk_space, "free_bytes", lambda _: 0)
    told: list[str] = []
    taken = database.PostgresDatabase(server)
    disk_space.require_space_at(taken, find_workload("pgbench"), 100, told.append)
    [line] = told
    assert line.startswith("about 2531 MB are needed")  # 1,580,000,000 and 1 GiB of log
