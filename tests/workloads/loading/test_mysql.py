"""Tests on MySQL and MariaDB: rows equal PostgreSQL's, and driving keeps data consistent."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from driver.mysql_servers import PRODUCTS, database_at, started
from driver.mysqld import Mysqld
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.adapters import workload_database
from steelyard.engines.loading import DATABASE, WorkloadDatabase
from steelyard.engines.mysql.uri import read_uri
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.study.study import WorkloadChoice
from steelyard.workloads.checks import check, count_work
from steelyard.workloads.loading.load import load
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.workload import Workload

pytestmark = pytest.mark.long

LOADED = ("pgbench", "select-insert", "reserva")
Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]
Rows = dict[str, tuple[tuple[int, int], str]]
"""Table → rows and sum of its integers as the loader counts them, and a digest of all fields."""


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    with started(request.param) as running:
        yield running


@pytest.fixture(scope="module", params=PRODUCTS)
def strict_server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    """One that takes no LOAD DATA LOCAL, and whose sessions read SQL in their own way."""
    modes = "ANSI,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO"
    with started(request.param, "--local-infile=OFF", f"--sql-mode={modes}") as running:
        yield running


def shown(field: Any) -> str:
    """A field as both engines mean it: a bool is a number, char(n) has no spaces at its end."""
    match field:
        case bool():
            return str(int(field))
        case UUID() | None:
            return str(field)
        case str():
            return field.rstrip(" ")
    return str(field)


AT_ONCE = 50_000
"""Rows that are read at once."""


def rows_of(database: WorkloadDatabase, workload: Workload) -> Rows:
    found = {}
    with database.loader() as loader:
        for table in (table.name for table in workload.tables):
            count, added = loader.count_and_sum(table)
            lines = sorted(
                "\t".join(map(shown, row))
                for at in range(0, max(1, count), AT_ONCE)  # an answer is bounded
                for row in loader.rows(f"SELECT * FROM {table} LIMIT {AT_ONCE} OFFSET {at}", table)
            )
            digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
            found[table] = ((count, added), digest)
    return found


@pytest.mark.parametrize("name", [*LOADED, "sysbench", "ycsb"])
def test_rows_are_those_of_postgresql(
    server: Mysqld, name: str, engine18: Postgres, place: Any, serve: Serve
) -> None:
    database = database_at(server)
    workload = find_workload(name, kind=database.kind)
    report = load(workload, database, 1, replacing=True)
    generic = find_workload(name)
    cluster = engine18.open(template(engine18, generic, 1)).clone(place / "data")
    with serve(cluster) as address:
        original = rows_of(workload_database(replace(address, database=DATABASE)), generic)
    assert rows_of(database, workload) == original
    assert report.rows == sum(rows for (rows, _), _ in original.values())
    assert report.rows >= 1000


def drive(server: Mysqld, choice: WorkloadChoice, each: int) -> tuple[Workload, list[str]]:
    """What is wrong with the data after so many transactions of each client; none may fail."""
    database = database_at(server)
    resolved = resolve(choice, database.kind)
    load(resolved.workload, database, resolved.scale, replacing=True)
    plan = DrivePlan(
        arms=(
            DriveArm(
                "arm",
                replace(read_uri(server.uri()), database=DATABASE),
                choice.clients,
                session=database.session,
            ),
        ),
        scripts=tuple(DriveScript(s.name, s.text, s.weight, s.rows) for s in resolved.scripts),
        threads=2,
        mode=choice.mode or "prepared",
        seed=7,
        variables=dict(resolved.variables),
        max_tries=20,
    )
    before = count_work(resolved.workload, database)
    with Driver.start(plan) as driver:
        [line] = driver.run([SliceRequest(arm=0, each=each, length_ns=60_000_000_000)])
    assert (line.errors, line.failed, line.wrong_rows) == ({}, 0, 0), line
    assert line.transactions == each * choice.clients
    after = count_work(resolved.workload, database)
    assert all(after[name] > before[name] for name in after)
    return resolved.workload, check(resolved.workload, database, resolved.scale, resolved.scripts)


@pytest.mark.parametrize("mode", ["prepared", "simple"])
@pytest.mark.parametrize("script", ["tpcb-like", "simple-update", "select-only"])
def test_pgbench_holds_after_each_script(server: Mysqld, script: str, mode: Any) -> None:
    choice = WorkloadChoice(name="pgbench", scale=1, scripts={script: 1}, clients=4, mode=mode)
    workload, wrong = drive(server, choice, 100)
    assert wrong == []
    with database_at(server).checker() as checker:
        checker.execute(
            [
                "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 7",
                "DELETE FROM pgbench_accounts WHERE aid = 8",
                "DELETE FROM pgbench_tellers WHERE tid = 3",
            ],
            "here",
        )
    found = check(workload, database_at(server), 1)
    assert any(text.startswith("sum(abalance) is ") for text in found)
    assert "pgbench_accounts has 99999 rows, not 100000" in found
    assert "pgbench_tellers has 9 rows, not 10" in found


@pytest.mark.parametrize("side", ["client", "server"])
def test_every_inserted_row_follows_from_the_one_that_was_read(server: Mysqld, side: str) -> None:
    options = {"side": side} | ({"turns": 20} if side == "server" else {})
    choice = WorkloadChoice(name="select-insert", scale=1, options=options, clients=4)
    workload, wrong = drive(server, choice, 50)
    assert wrong == []
    turns = {"client": 200, "server": 4000}[side]
    assert count_work(workload, database_at(server)) == {"turns": turns}
    with database_at(server).checker() as checker:
        checker.execute(["UPDATE results SET value = value + 1 WHERE id = 3"], "here")
    assert check(workload, database_at(server), 1) == [wrong_row(server)]


SYSBENCH = find_workload("sysbench").options["test"].values
MIXES = find_workload("ycsb").options["mix"].values


@pytest.mark.parametrize("test", SYSBENCH)
def test_sysbenchs_scripts_do_their_work(server: Mysqld, test: str) -> None:
    options = {"test": test, "rand": "uniform"}
    choice = WorkloadChoice(name="sysbench", scale=1, options=options, clients=1)
    workload, wrong = drive(server, choice, 50)
    assert wrong == []
    with database_at(server).checker() as checker:
        checker.execute(["UPDATE sbtest1 SET pad = 'x' WHERE id = 2"], "here")
    assert any(
        'row 2 of sbtest1 has c "' in text for text in check(workload, database_at(server), 1)
    )


@pytest.mark.parametrize("mix", MIXES)
def test_mixes_of_a_key_value_store_do_their_work(server: Mysqld, mix: str) -> None:
    choice = WorkloadChoice(name="ycsb", scale=1, options={"mix": mix}, clients=4)
    workload, wrong = drive(server, choice, 100)
    assert wrong == []
    with database_at(server).checker() as checker:
        checker.execute(["UPDATE usertable SET field3 = REVERSE(field3)"], "here")
    assert "has a field of another row" in check(workload, database_at(server), 1)[0]


def test_no_job_of_a_queue_is_taken_twice_or_lost(server: Mysqld) -> None:
    database = database_at(server)
    if database.kind == "mysql":  # 5.7 has no SKIP LOCKED
        with pytest.raises(ServerError, match=r"routines\.sql"):
            load(find_workload("queue", kind="mysql"), database, 1, replacing=True)
        return
    choice = WorkloadChoice(name="queue", scale=1, clients=8)
    workload, wrong = drive(server, choice, 100)
    assert wrong == []
    with database_at(server).checker() as checker:
        again = (
            "INSERT INTO finished (id, producer, number, consumer)"
            " SELECT id, producer, number, 9 FROM finished ORDER BY id LIMIT 1"
        )
        checker.execute([again, "DELETE FROM jobs ORDER BY id LIMIT 1"], "here")
    found = " ".join(check(workload, database_at(server), 1))
    assert "was taken 2 times" in found
    assert "but " in found or "999 of the 1000 jobs of the load" in found


def wrong_row(server: Mysqld) -> str:
    with database_at(server).checker() as checker:
        [(source,)] = checker.rows("SELECT source_id FROM results WHERE id = 3", "here")
    return f"result 3 does not follow from source row {source}"


@pytest.mark.parametrize("deletes", [0, 50])
@pytest.mark.parametrize("variant", ["corrected", "original"])
def test_no_money_is_made_or_lost(server: Mysqld, variant: str, deletes: int) -> None:
    options = {"variant": variant, "deletes": deletes}
    choice = WorkloadChoice(name="reserva", scale=1, options=options, clients=8)
    workload, wrong = drive(server, choice, 100)
    assert wrong == []
    with database_at(server).checker() as checker:
        checker.execute(["UPDATE accounts SET balance = balance + 1 WHERE id = 7"], "here")
    assert check(workload, database_at(server), 1)[0].startswith("sum(balance) is 50000000001")


def test_money_that_is_not_there_is_not_transferred(server: Mysqld) -> None:
    database = database_at(server)
    load(find_workload("reserva", kind=database.kind), database, 1, replacing=True)
    with database.checker() as checker:
        with pytest.raises(ServerError, match=r"1690|4025|1264"):
            checker.execute(["CALL transfer_funds(1, 1, 2, 1, 50000001, NOW(6))"], "here")
        assert checker.rows("SELECT COUNT(*) FROM transfers", "here") == [(0,)]
        assert checker.rows("SELECT DISTINCT balance FROM accounts", "here") == [(50_000_000,)]


def test_a_token_is_looked_up_by_its_key(server: Mysqld) -> None:
    """The script makes it of a number, in the connection's character set and not the column's."""
    database = database_at(server)
    workload = find_workload("reserva", kind=database.kind)
    load(workload, database, 1, replacing=True)
    script = workload.script("payment").text()
    query = script[script.index("SELECT u.id") :].partition(";")[0].replace(":asking", "7")
    with database.checker() as checker:
        assert len(checker.rows(query, "here")) == 2
        plan = checker.rows(f"EXPLAIN {query}", "here")
    assert ["PRIMARY" in step for step in plan if "t" in step] == [True], plan


@pytest.mark.parametrize("name", LOADED)
def test_a_server_with_ways_of_its_own_is_loaded_and_driven_by_the_command(
    strict_server: Mysqld, name: str
) -> None:
    """No LOAD DATA LOCAL: by INSERT. Its sql_mode changes what quotes and backslashes mean."""
    target = strict_server.uri()

    def called(*words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "steelyard", *words, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    loaded = called("workloads", "load", name, target, "--set", "scale=1", "--replace")
    assert loaded["rows"] >= 1000
    assert loaded["bytes"] > 100_000
    driven = called("drive", target, "-w", name, "-c", "4", "-t", "50", "--check")
    assert driven["errors"] == {}
    assert driven["transactions"] == 200
    assert driven["violations"] == []
