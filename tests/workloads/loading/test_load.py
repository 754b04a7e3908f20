"""Loaded data are those of `pgbench -i`, and nothing that was there before is touched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, ServerError, UsageError
from steelyard.workloads.checks import check
from steelyard.workloads.loading.load import load
from steelyard.workloads.reading.scripts import resolve_scripts
from steelyard.workloads.reading.workload import Workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
Call = Callable[..., str]

TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")

# Everything about the tables that a user or a planner can see; sizes in pages, too.
LOOKS = {
    "columns": """
        SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod),
               attnotnull FROM pg_attribute
         WHERE attnum > 0 AND attrelid::regclass::text LIKE 'pgbench%' ORDER BY 1, 2""",
    "relations": """
        SELECT relname, relkind, reltuples, relpages, relallvisible, reloptions::text
          FROM pg_class WHERE relname LIKE 'pgbench%' ORDER BY 1""",
    "keys": "SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'pgbench%' ORDER BY 1",
}

pytestmark = pytest.mark.postgres


def look(address: Endpoint) -> dict[str, object]:
    seen: dict[str, object] = {}
    with connected(address) as connection:
        for name, query in LOOKS.items():
            seen[name] = connection.execute(query.encode()).fetchall()
        for table in TABLES:
            rows = f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY ctid)) FROM {table} t"
            seen[table] = connection.execute(rows.encode()).fetchone()
    return seen


@pytest.mark.long
def test_rows_schema_and_size_are_those_of_pgbench(
    engine: Postgres, loaded: Path, place: Path, serve: Serve, call: Call
) -> None:
    with serve(engine.open(loaded).clone(place / "clone")) as address:
        host, port = f"--host={address.host}", f"--port={address.port}"
        call(engine, "pgbench", "-i", "-q", "-s", "1", host, port, "-U", "postgres", "postgres")
        assert look(replace(address, database=DATABASE)) == look(address)


@pytest.mark.long
def test_loading_twice_is_refused(
    engine: Postgres, loaded: Path, place: Path, serve: Serve, pgbench: Workload
) -> None:
    with (
        serve(engine.open(loaded).clone(place / "clone")) as address,
        pytest.raises(EngineError, match='has a database "steelyard" already'),
    ):
        load(pgbench, PostgresDatabase(address), 1)


@pytest.mark.long
def test_fewer_rows_than_the_workload_says_are_an_error(
    engine18: Postgres, place: Path, serve: Serve, pgbench: Workload
) -> None:
    wrong = pgbench.model_copy(
        update={
            "tables": tuple(
                table.model_copy(update={"rows_per_scale": 11})
                if "tellers" in table.name
                else table
                for table in pgbench.tables
            )
        }
    )
    cluster = engine18.create(place / "data", protection="checksums")
    with (
        serve(cluster) as address,
        pytest.raises(ServerError, match="10 rows arrived, not 11"),
    ):
        load(wrong, PostgresDatabase(address), 1)


def test_a_scale_that_does_not_exist_is_refused(pgbench: Workload) -> None:
    nowhere = Endpoint("/nowhere", 1, "postgres", "postgres")
    for scale in (0, 20_000):
        with pytest.raises(UsageError, match="1 to 19999 are possible"):
            load(pgbench, PostgresDatabase(nowhere), scale)


@thinned("script", ["tpcb-like", "simple-update"], 1)
def test_checks_pass_after_honest_work_and_find_what_was_not_done(
    script: str, engine18: Postgres, place: Path, serve: Serve, pgbench: Workload, call: Call
) -> None:
    from steelyard.workloads.loading.template import template

    scripts = resolve_scripts(pgbench, {script: 1}, 1)
    with serve(engine18.open(template(engine18, pgbench, 1)).clone(place / "clone")) as address:
        where = [f"--host={address.host}", f"--port={address.port}", "--username=postgres"]
        call(
            engine18, "pgbench", "-n", "-b", script, "-c", "4", "-t", "50", *where, DATABASE
        )  # fmt: skip
        assert check(pgbench, PostgresDatabase(address), 1, scripts) == []
        with connected(replace(address, database=DATABASE)) as connection:
            connection.execute("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 7")
            connection.execute("DELETE FROM pgbench_tellers WHERE tid = 3")
            connection.execute("DELETE FROM pgbench_accounts WHERE aid = 8")
        violations = check(pgbench, PostgresDatabase(address), 1, scripts)
        assert any(text.startswith("sum(abalance) is ") for text in violations)
        assert "pgbench_tellers has 9 rows, not 10" in violations
        assert "pgbench_accounts has 99999 rows, not 100000" in violations
