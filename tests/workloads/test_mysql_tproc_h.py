"""TPROC-H on MySQL and MariaDB: rows are dbgen's, answers are those of another database."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from both_engines import drive_there, loaded, numbers, rows_in
from driven import drive
from test_tproc_h import ANSWERS, FREE, VALUES, digest

from driver.mysql_servers import PRODUCTS, started
from driver.mysqld import Mysqld
from steelyard._core import script_statements
from steelyard.engines.loading import DATABASE
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload

pytestmark = pytest.mark.long

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

QUICK = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=2G")
DRAWN = {"q16": "'49,14,23,45,19,3,36,9'", "q22": "'13,31,23,29,30,18,17'"}
"""Q16 and Q22 draw sets; those of the qualification stand in for them."""


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    with started(request.param, *QUICK) as running:
        yield running


def answers(
    workload: Workload, database: MysqlDatabase, scale: int
) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each query with the values of the qualification."""
    found = {}
    with database.checker() as checker:
        for name, values in VALUES.items():
            text = workload.script(name).text()
            text = "".join(line for line in text.splitlines(True) if not line.startswith("\\set"))
            text = re.sub(r"drawing_different\([^)]*\)", DRAWN.get(name, ""), text)
            given = {key: str(value) for key, value in {"scale": scale, **values}.items()}
            [query] = script_statements(name, text, given, dialect="mysql")
            found[name] = checker.rows(query, name)
    return found


def orders_of_customers(database: MysqlDatabase) -> Counter[int]:
    """Q13 by hand: how many customers have so many orders without "special requests"."""
    with database.checker() as checker:
        customers = checker.rows("SELECT c_custkey FROM customer", "q13")
        orders = checker.rows("SELECT o_custkey, o_comment FROM orders", "q13")
    counted = Counter({int(key): 0 for (key,) in customers})
    counted.update(int(key) for key, said in orders if not re.search("special.*requests", said))
    return Counter(counted.values())


@pytest.mark.parametrize("schema", ["native", "hammerdb"])
def test_rows_are_those_of_postgresql_and_all_22_answers_those_of_another_database(
    schema: str, server: Mysqld, engine18: Postgres, place: Path, serve: Serve
) -> None:
    database, workload = loaded(server, "tproc-h", 1, {"schema": schema})
    generic = find_workload("tproc-h", {"schema": schema})
    with serve(engine18.open(template(engine18, generic, 1)).clone(place / "clone")) as address:
        original = PostgresDatabase(replace(address, database=DATABASE))
        assert rows_in(database, workload, days=True) == rows_in(original, generic, days=True)
    found = answers(workload, database, 1)
    counted = {int(str(count)): many for count, many in found.pop("q13")}
    assert counted == orders_of_customers(database)
    digests = {name: digest(rows, "0.0001", FREE.get(name, ())) for name, rows in found.items()}
    assert digests == ANSWERS["0.01"]


@pytest.mark.parametrize("schema", ["native", "hammerdb"])
def test_refreshed_orders_are_those_of_postgresql_and_keep_their_lines(
    schema: str, server: Mysqld, engine18: Postgres, place: Path, serve: Serve
) -> None:
    """Two rounds of 22 queries with drawn values, and the refresh functions around them."""
    options = {"schema": schema, "refresh": True}
    database, workload = loaded(server, "tproc-h", 1, options)
    generic = find_workload("tproc-h", options)
    line, scripts = drive_there(server, database, workload, 1, 48, 1)
    assert {s.name: s.transactions for s in line.scripts} == dict.fromkeys(workload.scripts, 2)
    with serve(engine18.open(template(engine18, generic, 1)).clone(place / "clone")) as address:
        told, _ = drive(generic, address, 1, 48, clients=1)
        original = PostgresDatabase(replace(address, database=DATABASE))
        assert rows_in(database, workload, days=True) == rows_in(original, generic, days=True)
    assert line.rows == told.rows, "the queries drew the same values"
    assert check(workload, database, 1, scripts) == []
    assert numbers(database, "SELECT * FROM refreshed") == (2, 2, 30, 30)
    assert numbers(database, "SELECT COUNT(*) FROM orders WHERE o_orderkey % 32 >= 8") == (30,)
    [last] = numbers(database, "SELECT MAX(l_orderkey) FROM lineitem")
    with database.checker() as checker:
        checker.execute([f"DELETE FROM lineitem WHERE l_orderkey = {last}"], "the test")
    assert check(workload, database, 1) == [f"order {last} has no line"]


def test_answers_at_scale_factor_one_are_those_of_another_database(server: Mysqld) -> None:
    database, workload = loaded(server, "tproc-h", 100)
    found = answers(workload, database, 100)
    assert {name: digest(rows, "0.01") for name, rows in found.items()} == ANSWERS["1"]
