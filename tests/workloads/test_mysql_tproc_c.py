"""TPROC-C on MySQL and MariaDB changes the rows that it changes on PostgreSQL, and stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from both_engines import drive_there, loaded, numbers, rows_in
from driven import drive

from driver.mysql_servers import PRODUCTS, started
from driver.mysqld import Mysqld
from steelyard.engines.loading import DATABASE
from steelyard.engines.mysql.sql.database import MysqlDatabase
from steelyard.engines.mysql.sql.session import connect
from steelyard.engines.mysql.uri import read_uri
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check, consistency
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload

pytestmark = pytest.mark.long

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

QUICK = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M")
VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("tproc-c", {"all_warehouses": True}),
    ("tproc-c", {"all_warehouses": True, "profile": "hammerdb", "partitions": 3}),
    ("tproc-c-client", {"all_warehouses": True}),
]


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    with started(request.param, *QUICK) as running:
        yield running


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_equal_seeds_change_equal_rows_on_both_engines_and_clients_leave_them_consistent(
    name: str,
    options: dict[str, object],
    server: Mysqld,
    engine18: Postgres,
    place: Path,
    serve: Serve,
) -> None:
    """Freshly loaded; after 300 transactions of one client; after those of four at once."""
    database, workload = loaded(server, name, 2, options)
    generic = find_workload(name, options)
    with serve(engine18.open(template(engine18, generic, 2)).clone(place / "clone")) as address:
        original = PostgresDatabase(replace(address, database=DATABASE))
        assert rows_in(database, workload, days=True) == rows_in(original, generic, days=True)
        told, _ = drive(generic, address, 2, 300, clients=1)
        line, scripts = drive_there(server, database, workload, 2, 300, 1)
        assert {s.name: s.transactions for s in line.scripts} == {
            s.name: s.transactions for s in told.scripts
        }
        assert min(script.transactions for script in line.scripts) > 0
        assert rows_in(database, workload, days=False) == rows_in(original, generic, days=False)
    assert consistency(workload, database, 2, scripts) == []
    count = workload.counts["new_orders"]
    [before] = numbers(database, count)
    line, scripts = drive_there(server, database, workload, 2, 250, 4)
    [after] = numbers(database, count)
    [entered] = [s.transactions for s in line.scripts if s.name.endswith("new-order")]
    assert 0.9 * entered < after - before <= entered
    assert (after - before == entered) == (options.get("profile") == "hammerdb")
    assert consistency(workload, database, 2, scripts) == []


LINES = """
    SELECT string_agg(lpad(item::text, 6, '0') || lpad(supplier::text, 5, '0')
                      || lpad(number::text, 2, '0') || lpad(quantity::text, 2, '0')
                      || CASE WHEN {} THEN 'R' ELSE 'L' END, '' ORDER BY {})
      FROM drawing.lines({}, {}, {}, {}, {}, {})"""


def test_the_lines_of_an_order_are_those_that_postgresql_draws(
    server: Mysqld, engine18: Postgres, place: Path, serve: Serve
) -> None:
    database, _ = loaded(server, "tproc-c", 1)
    generic = find_workload("tproc-c")
    seeds = [1, 2**32, 9 * 10**18, *(k * 48_271_000_000_019 for k in range(1, 40))]
    orders = [
        (seed, 5 + at % 11, 1 + at % warehouses, warehouses, at % 5 == 0, even)
        for warehouses in (1, 2, 300)
        for even in (False, True)
        for at, seed in enumerate(seeds)
    ]
    remote = {False: "supplier <> {}", True: "remote"}
    sorted_by = {False: "item, supplier, number", True: "number"}
    with (
        serve(engine18.open(template(engine18, generic, 1)).clone(place / "clone")) as address,
        PostgresDatabase(address).checker() as there,
        database.checker() as here,
    ):
        for order in orders:
            *_, home, _, _, even = order
            told = LINES.format(remote[even].format(home), sorted_by[even], *order)
            words = ", ".join(str(word) for word in order)
            drawn = here.rows(f"SELECT drawing_lines({words})", "the test")
            assert drawn == there.rows(told, "the test"), order


DAMAGE = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", "condition 1: warehouse 1 has w_ytd 300001.00"),
    ("UPDATE district SET d_next_o_id = 4000 WHERE d_id = 3", "condition 2: district 3 of"),
    ("DELETE FROM orders WHERE o_id = 3000 AND o_d_id = 2", "condition 2: district 2 of"),
    ("DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 2500", "condition 3: district 4 of"),
    ("DELETE FROM order_line WHERE ol_d_id = 5 AND ol_o_id = 7", "condition 4: district 5 of"),
    ("DELETE FROM orders WHERE o_d_id = 6", "condition 4: district 6 of"),
    ("DELETE FROM item WHERE i_id = 5", "item has 99999 rows, not 100000"),
]
DEEPER = [
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_id = 9 AND o_d_id = 1", "condition 5: order 9"),
    ("UPDATE orders SET o_ol_cnt = 1 WHERE o_id = 10 AND o_d_id = 1", "condition 6: order 10"),
    ("UPDATE order_line SET ol_delivery_d = NULL WHERE ol_o_id = 11", "condition 7: order 11"),
    ("DELETE FROM history WHERE h_c_id = 3", "condition 8: warehouse 1"),
    ("UPDATE history SET h_d_id = 2 WHERE h_c_id = 3 AND h_d_id = 1", "condition 9: district 1"),
    (
        "UPDATE customer SET c_balance = 5 WHERE c_id = 4 AND c_d_id = 2",
        "12: customer 4, district 2",
    ),
    ("UPDATE history SET h_c_id = 9 WHERE h_c_id = 8 AND h_d_id = 3", "condition 10: customer 8"),
]


def test_checks_find_what_is_wrong(server: Mysqld) -> None:
    """They see what is not committed, and what is taken back when they have seen it."""
    database, workload = loaded(server, "tproc-c", 1)
    assert consistency(workload, database, 1) == []
    level = "SET GLOBAL TRANSACTION ISOLATION LEVEL "
    with connect(replace(read_uri(server.uri()), database=DATABASE)) as connection:
        cursor = connection.cursor()
        cursor.execute(f"{level} READ UNCOMMITTED")
        for found, damage in ((check, DAMAGE), (consistency, DEEPER)):
            for statement, words in damage:
                cursor.execute("BEGIN")
                assert cursor.execute(statement) > 0
                violations = found(workload, database, 1)
                cursor.execute("ROLLBACK")
                assert any(words in text for text in violations), (words, violations)
        cursor.execute(f"{level} REPEATABLE READ")
    assert consistency(workload, database, 1) == []


CALLS = {
    "spec_payment(1, 1, 1, 1, -1, 4000, 500)": "no such customer",
    "spec_payment(1, 1, 1, 11, 5, 1, 500)": "no such name",
    "hammerdb_payment(1, 1, 1, 1, -1, 4000, 5)": "no such customer",
    "spec_order_status(1, 1, -1, 4000)": "no such customer",
    "spec_new_order(1, 1, 1, 5, 17, 1, FALSE)": "Lock wait timeout",
    "hammerdb_new_order(1, 1, 1, 5, 17, 1, FALSE)": "Lock wait timeout",
    "spec_delivery(1, 1)": "Lock wait timeout",
    "hammerdb_delivery(1, 1)": "Lock wait timeout",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_procedure_that_fails_leaves_no_transaction_and_no_change(
    call: str, server: Mysqld, untouched: MysqlDatabase
) -> None:
    import pymysql

    state = "SELECT SUM(w_ytd), SUM(d_next_o_id), (SELECT COUNT(*) FROM new_order) "
    state += "FROM warehouse, district"
    before = numbers(untouched, state)
    address = replace(read_uri(server.uri()), database=DATABASE)
    with connect(address) as other, connect(address) as mine:
        holding, cursor = other.cursor(), mine.cursor()
        holding.execute("BEGIN")
        if "Lock" in CALLS[call]:  # each has changed rows before it waits for these
            holding.execute("SELECT COUNT(*) FROM stock FOR UPDATE")
            holding.execute("SELECT COUNT(*) FROM customer FOR UPDATE")
        cursor.execute("SET innodb_lock_wait_timeout = 1")
        with pytest.raises(pymysql.MySQLError, match=CALLS[call]):
            cursor.execute(f"CALL {call}")
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.innodb_trx "
            "WHERE trx_mysql_thread_id = CONNECTION_ID()"
        )
        assert cursor.fetchall() == ((0,),)
    assert numbers(untouched, state) == before


@pytest.fixture(scope="module")
def untouched(server: Mysqld) -> MysqlDatabase:
    return loaded(server, "tproc-c", 1)[0]
