"""`steelyard drive -w` drives what `workloads load` put into a server, counts and checks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.engines.postgres.sql.session import connect
from steelyard.model.endpoint import Endpoint
from steelyard.study.study import WorkloadChoice
from steelyard.workloads.checks import consistency
from steelyard.workloads.loading.load import load
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve
from thinned import thinned

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with own_server("18", {"fsync": "off", "max_wal_size": "4GB"}) as instance:
        yield instance.address


@pytest.fixture
def target(server: Endpoint) -> str:
    return conninfo_of(server)


def _ours(address: Endpoint) -> str:
    return conninfo_of(address).replace("dbname=postgres", "dbname=steelyard")


@pytest.mark.long
def test_orders_are_entered_counted_and_consistent_afterwards(
    steelyard: Steelyard, target: str, server: Endpoint
) -> None:
    loaded = steelyard("workloads", "load", "tproc-c", target, "--set", "warehouses=1", "--replace")
    assert loaded.returncode == 0, loaded.stderr
    asked = ("drive", target, "-w", "tproc-c", "-c", "2", "-T", "2", "--check")
    said = steelyard(*asked, "--json")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert told["mode"] == "prepared"
    assert told["violations"] == []
    assert {one["name"] for one in told["scripts"]} == {
        "new-order",
        "payment",
        "order-status",
        "delivery",
        "stock-level",
    }
    entered = next(one for one in told["scripts"] if one["name"] == "new-order")
    by_count = told["work_per_minute"]["new_orders"] * told["seconds"] / 60
    # One of a hundred new orders is rolled back; those under way at the end are counted by nobody.
    assert 0.9 * entered["transactions"] - 2 <= by_count <= entered["transactions"] + 2
    driven = steelyard(*asked)
    assert driven.returncode == 0, driven.stdout
    assert "consistency    0 violations" in driven.stdout
    assert "new orders a minute" in driven.stdout


BREAKS = {
    1: "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1",
    2: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2",
    3: "DELETE FROM new_order WHERE no_d_id = 3 AND no_o_id = 2500",
    4: "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 7",
    5: "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 7",
    6: "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 6 AND o_id = 7",
    7: "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 7 AND ol_o_id = 7",
    8: "UPDATE warehouse SET w_ytd = w_ytd + 5",
    9: "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 9",
    10: "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_d_id = 10 AND h_c_id = 3",
    12: "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 1 AND c_id = 12",
}


@pytest.mark.long
@pytest.mark.parametrize("profile", ["spec", "hammerdb"])
def test_each_condition_of_tpc_c_is_seen_where_it_is_broken(server: Endpoint, profile: str) -> None:
    workload = find_workload("tproc-c", {"profile": profile})
    database = PostgresDatabase(server)
    load(workload, database, 1, replacing=True)
    scripts = resolve(WorkloadChoice(name="tproc-c", options={"profile": profile})).scripts
    assert consistency(workload, database, 1, scripts) == []
    with connect(_ours(server)) as connection:
        for number, statement in BREAKS.items():
            if profile == "hammerdb" and number in (10, 12):
                continue  # its own load breaks them
            connection.execute(statement.encode())
            found = consistency(workload, database, 1, scripts)
            assert any(f"condition {number}:" in one for one in found), (number, found)


@pytest.mark.long
def test_what_the_server_does_not_hold_is_not_driven(steelyard: Steelyard, target: str) -> None:
    other = steelyard("workloads", "load", "pgbench", target, "--set", "scale=1", "--replace")
    assert other.returncode == 0, other.stderr
    said = steelyard("drive", target, "-w", "tproc-c")
    assert said.returncode == 2
    assert 'holds "pgbench", not "tproc-c"' in said.stderr
    wrong = steelyard("drive", target, "-w", "pgbench", "--set", "scale=7")
    assert "was loaded at scale 1, not 7" in wrong.stderr
    driven = steelyard("drive", target, "-w", "pgbench", "-T", "1", "-M", "simple", "--json")
    assert json.loads(driven.stdout)["mode"] == "simple", driven.stderr


def test_a_server_without_a_workload_says_how_to_load_one(steelyard: Steelyard) -> None:
    with own_server("16") as instance:
        with connect(conninfo_of(instance.address)) as connection:
            connection.execute("CREATE DATABASE steelyard")
        said = steelyard("drive", conninfo_of(instance.address), "-w", "tproc-c")
    assert said.returncode == 2
    assert "was not loaded by Steelyard" in said.stderr
    assert "steelyard workloads load tproc-c" in said.stderr


@thinned(
    ("words", "message"),
    [
        (("-w", "pgbench", "-b", "select-only"), "cannot drive a workload (-w) and scripts"),
        (("--check",), "belong to a workload (-w)"),
        (("-w", "nothing-of-that-name"), "nothing-of-that-name"),
    ],
    1,
)
def test_what_does_not_go_together_is_refused(
    steelyard: Steelyard, target: str, words: tuple[str, ...], message: str
) -> None:
    said = steelyard("drive", target, *words)
    assert said.returncode == 2
    assert message in said.stderr


MAKES = """
CREATE TABLE orders (n int);
CREATE FUNCTION place_order(n int) RETURNS int VOLATILE LANGUAGE sql
    AS 'INSERT INTO orders VALUES (n) RETURNING n';
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n';
"""
CAPTURED = """
name = "ours"
title = "captured"
loaded = false
tried_first = true
[[mixes]]
scripts = { place = 1, double = 3 }
[scripts.place]
writes = false
[scripts.double]
writes = false
"""


@pytest.mark.long
def test_functions_that_write_are_left_out_unless_that_was_agreed_to(
    steelyard: Steelyard, server: Endpoint, target: str, tmp_path: Path
) -> None:
    folder = tmp_path / "ours"
    (folder / "scripts").mkdir(parents=True)
    (folder / "workload.toml").write_text(CAPTURED)
    (folder / "scripts" / "place.sql").write_text("SELECT * FROM place_order(1);\n")
    (folder / "scripts" / "double.sql").write_text("SELECT twice(21);\n")
    with connect(target) as connection:
        connection.execute(MAKES.encode())

    def placed() -> int:
        with connect(target) as connection:
            return int(connection.execute(b"SELECT count(*) FROM orders").fetchall()[0][0])

    asked = ("drive", target, "-w", str(folder), "-t", "50", "--json")
    driven = steelyard(*asked)
    assert driven.returncode == 0, driven.stderr
    assert json.loads(driven.stdout)["errors"] == {}
    assert 'left out script "place", 25 % of the transactions: cannot execute INSERT' in (
        driven.stderr
    )
    assert "SQLSTATE 25006" in driven.stderr
    assert "--yes" in driven.stderr
    refused = steelyard(*asked, "--failing", "refuse")
    assert refused.returncode == 2
    assert 'script "place" cannot work' in refused.stderr
    assert "--yes" in refused.stderr
    assert placed() == 0
    agreed = steelyard(*asked, "--yes")
    assert agreed.returncode == 0, agreed.stderr
    assert "left out" not in agreed.stderr
    assert placed() > 0


@pytest.mark.parametrize("works_at", [0, 1])
def test_a_read_that_fails_for_one_value_is_driven_whatever_is_drawn_first(
    steelyard: Steelyard, target: str, tmp_path: Path, works_at: int
) -> None:
    """One of two values divides by zero: each try before the load draws anew."""
    scripts = tmp_path / "ours" / "scripts"
    scripts.mkdir(parents=True)
    (tmp_path / "ours" / "workload.toml").write_text(CAPTURED)
    statement = f"SELECT 1 / (CASE WHEN :n = {works_at} THEN 1 ELSE 0 END);\n"
    (scripts / "place.sql").write_text(f"\\set n random(0, 1)\n{statement}")
    (scripts / "double.sql").write_text("SELECT 2 * 21;\n")
    driven = steelyard("drive", target, "-w", str(tmp_path / "ours"), "-t", "60", "--json")
    assert driven.returncode == 0, driven.stderr
    assert "left out" not in driven.stderr
    assert json.loads(driven.stdout)["errors"]["22012"] > 0
