"""TPROC-C over several warehouses and partitions: who works where, and what crosses over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from driven import drive

from steelyard.engines.cache import open_cache
from steelyard.engines.engine import Slot
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.selection import find_postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.engines.registry import open_run
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload

pytestmark = pytest.mark.postgres

KINDS = [
    ("spec", "18", 3, 2),
    ("hammerdb", "18", 2, 3),
    pytest.param(("hammerdb", "16", 2, 0), marks=pytest.mark.long),
]
"""Profile, version, warehouses, partitions."""
LOADED = "'2026-01-01 00:00:00+00'"
"""When the loaded rows were made, by their own words."""


@dataclass(frozen=True)
class Worked:
    """A server whose clients have worked at home, but none in the last one, and then everywhere."""

    profile: str
    warehouses: int
    partitions: int
    address: Endpoint
    at_home: list[int]
    """Orders entered by warehouse while each client had its own."""
    paid_at_home: list[int]
    """Payments taken by warehouse in the same time."""
    everywhere: list[int]
    """Orders entered by warehouse afterwards."""

    def ask(self, query: str) -> int:
        """The one number that a query answers with."""
        [(number,)] = rows(self.address, query)
        return int(str(number))


def rows(address: Endpoint, query: str) -> list[tuple[object, ...]]:
    with connected(replace(address, database=DATABASE)) as connection:
        return connection.execute(query.encode()).fetchall()


def entered(address: Endpoint) -> list[int]:
    """New orders of each warehouse."""
    query = "SELECT sum(d_next_o_id - 3001) FROM district GROUP BY d_w_id ORDER BY d_w_id"
    return [int(str(number)) for (number,) in rows(address, query)]


def paid(address: Endpoint) -> list[int]:
    """New payments at each warehouse."""
    query = f"""
        SELECT count(h_date) FROM warehouse
          LEFT JOIN history ON h_w_id = w_id AND h_date <> {LOADED} GROUP BY w_id ORDER BY w_id"""
    return [int(str(number)) for (number,) in rows(address, query)]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def worked(request: pytest.FixtureRequest) -> Iterator[Worked]:
    profile, version, warehouses, partitions = request.param
    options = {"profile": profile, "partitions": partitions}
    engine, home = find_postgres(version), find_workload("tproc-c", options)
    data = template(engine, home, warehouses)
    with open_run(open_cache(), engine.account) as registered:
        cluster = engine.open(data).clone(registered.directory / "clone")
        slot = Slot(0, registered.directory / "slot0", registered.sockets, 5432)
        cluster.start(slot, {"fsync": "off"})
        try:
            address = cluster.address
            _, scripts = drive(home, address, warehouses, 500, clients=warehouses - 1)
            at_home, paid_at_home = entered(address), paid(address)
            for name in ["tproc-c"] + ["tproc-c-client"] * (profile == "spec"):
                everywhere = find_workload(name, {**options, "all_warehouses": True})
                drive(everywhere, address, warehouses, 60)
            assert check(home, PostgresDatabase(address), warehouses, scripts) == []
            rest = [a - b for a, b in zip(entered(address), at_home, strict=True)]
            yield Worked(profile, warehouses, partitions, address, at_home, paid_at_home, rest)
        finally:
            cluster.stop()


def test_a_client_stays_at_home_unless_all_warehouses_are_asked_for(worked: Worked) -> None:
    for *homes, nobodys in (worked.at_home, worked.paid_at_home):
        assert min(homes) > 10
        assert nobodys == 0
    assert min(worked.everywhere) > 0


@pytest.mark.parametrize("table", ["warehouse", "district"])
def test_a_planner_without_vacuum_still_knows_how_many_rows_there_are(
    table: str, worked: Worked
) -> None:
    """It multiplies the rows a page, as last counted, by pages: these must not become more."""
    changed = worked.ask(f"SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = '{table}'")
    assert changed > 300, "enough for many pages, were they full"
    [(grown, rows_a_page)] = rows(
        worked.address,
        "SELECT pg_relation_size(oid) / 8192 - relpages, reltuples / relpages"
        f" FROM pg_class WHERE relname = '{table}'",
    )
    assert grown == 0
    assert float(str(rows_a_page)) < 10


def test_customers_of_all_warehouses_pay_at_a_home(worked: Worked) -> None:
    new = f"SELECT count(*) FROM history WHERE h_date <> {LOADED}"
    share = worked.ask(f"{new} AND h_c_w_id <> h_w_id") / worked.ask(new)
    assert 0.07 < share < 0.25
    customers = f"SELECT count(DISTINCT h_c_w_id) FROM history WHERE h_date <> {LOADED}"
    assert worked.ask(customers) == worked.warehouses


def test_one_line_in_a_hundred_is_supplied_from_elsewhere_and_marks_its_order(
    worked: Worked,
) -> None:
    lines = worked.ask("SELECT count(*) FROM order_line WHERE ol_o_id > 3000")
    remote = worked.ask(
        "SELECT count(*) FROM order_line WHERE ol_o_id > 3000 AND ol_supply_w_id <> ol_w_id"
    )
    assert 0 < remote < lines / 25
    marks = """
        SELECT count(*) FROM orders
         WHERE o_id > 3000 AND (o_all_local = {local}) AND EXISTS (
               SELECT 1 FROM order_line
                WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                  AND ol_supply_w_id <> o_w_id) = {remote}"""
    assert worked.ask(marks.format(local=1, remote=True)) == 0
    # HammerDB marks an order when a line is drawn as remote, and then draws the own one as well.
    own_but_marked = worked.ask(marks.format(local=0, remote=False))
    assert own_but_marked > 0 if worked.profile == "hammerdb" else own_but_marked == 0
    counted = rows(worked.address, "SELECT sum(s_order_cnt), sum(s_remote_cnt) FROM stock")
    assert counted == [(0, 0) if worked.profile == "hammerdb" else (lines, remote)]


def test_counters_move_and_orders_are_rolled_back_but_not_in_hammerdb(worked: Worked) -> None:
    hammerdb = worked.profile == "hammerdb"
    sold = worked.ask("SELECT sum(ol_quantity) FROM order_line WHERE ol_o_id > 3000")
    assert worked.ask("SELECT sum(s_ytd) FROM stock") == (0 if hammerdb else sold)
    payments = worked.ask(f"SELECT count(*) FROM history WHERE h_date <> {LOADED}")
    counted = worked.ask("SELECT sum(c_payment_cnt - 1) FROM customer")
    assert counted == (0 if hammerdb else payments)
    counted = worked.ask("SELECT sum(c_delivery_cnt) FROM customer")
    assert counted == 0 if hammerdb else counted > 0
    unknown = worked.ask("SELECT count(*) FROM order_line WHERE ol_i_id = 100001")
    assert unknown > 0 if hammerdb else unknown == 0


def test_a_line_costs_what_its_profile_says(worked: Worked) -> None:
    factor = "(1 + w_tax + d_tax) * (1 - c_discount)" if worked.profile == "hammerdb" else "1"
    wrong = f"""
        SELECT count(*) FROM order_line
          JOIN orders ON (o_w_id, o_d_id, o_id) = (ol_w_id, ol_d_id, ol_o_id)
          JOIN customer ON (c_w_id, c_d_id, c_id) = (o_w_id, o_d_id, o_c_id)
          JOIN district ON (d_w_id, d_id) = (o_w_id, o_d_id)
          JOIN warehouse ON w_id = o_w_id
          LEFT JOIN item ON i_id = ol_i_id
         WHERE o_id > 3000
           AND ol_amount IS DISTINCT FROM round(ol_quantity * i_price * {factor}, 2)"""
    assert worked.ask(wrong) == 0


def test_every_customer_owes_what_was_delivered_less_what_was_paid(worked: Worked) -> None:
    """Condition 10 of clause 3.3.2, which nothing checks after an epoch: it reads everything."""
    wrong = f"""
        WITH paid AS (
            SELECT h_c_w_id AS w, h_c_d_id AS d, h_c_id AS c, sum(h_amount) AS paid
              FROM history GROUP BY 1, 2, 3),
        delivered AS (
            SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, sum(ol_amount) AS delivered
              FROM order_line JOIN orders ON (o_w_id, o_d_id, o_id) = (ol_w_id, ol_d_id, ol_o_id)
             WHERE ol_delivery_d <> {LOADED} GROUP BY 1, 2, 3)
        SELECT count(*) FROM customer
          LEFT JOIN paid p ON (p.w, p.d, p.c) = (c_w_id, c_d_id, c_id)
          LEFT JOIN delivered d ON (d.w, d.d, d.c) = (c_w_id, c_d_id, c_id)
         WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)"""
    assert worked.ask(wrong) == 0
    delivered = f"SELECT count(*) FROM order_line WHERE ol_delivery_d <> {LOADED}"
    assert worked.ask(delivered) > 0


def test_lines_lie_in_the_partitions_of_their_warehouses(worked: Worked) -> None:
    placed = "SELECT ol_w_id, min(tableoid::int), max(tableoid::int) FROM order_line GROUP BY 1"
    found = rows(worked.address, placed)
    assert len(found) == worked.warehouses
    assert all(low == high for _, low, high in found)
    assert (len({low for _, low, _ in found}) > 1) == (worked.partitions > 0)


def test_half_of_hammerdbs_customers_have_no_initial_order(worked: Worked) -> None:
    loaded = "FROM orders WHERE o_id <= 3000"
    customers = worked.ask(f"SELECT count(DISTINCT (o_w_id, o_d_id, o_c_id)) {loaded}")
    early = worked.ask(f"SELECT count(*) {loaded} AND o_c_id < o_id")
    everybody = 30_000 * worked.warehouses
    if worked.profile == "hammerdb":
        assert 0.48 * everybody < customers < 0.52 * everybody
        assert early == 0
    else:
        assert customers == everybody
        assert early > 0
