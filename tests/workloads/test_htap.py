"""Order entry and queries go on side by side, both are counted, and the queries add up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from driven import drive

from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import StudyError, UsageError
from steelyard.study.read import read_study
from steelyard.workloads.checks import check, count_work
from steelyard.workloads.loading.template import template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve_workload
from steelyard.workloads.reading.workload import Workload

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

QUERIES = [f"q{number:02}" for number in range(1, 23)]
EMPTY = {"q11", "q21", "q22"}
"""Without a row before orders and deliveries have been made, as CH-benCHmark's own."""


@pytest.fixture(scope="module")
def htap() -> Workload:
    return find_workload("htap")


@pytest.mark.parametrize(("clients", "asking"), [(7, 0), (8, 1), (15, 1), (16, 2)])
def test_one_client_of_eight_asks_all_queries_and_the_others_enter_orders(
    htap: Workload, clients: int, asking: int
) -> None:
    streams = htap.streams_of(clients)
    asked = [stream for stream in streams if "q01" in stream]
    entered = [stream for stream in streams if "q01" not in stream]
    assert (len(asked), len(entered)) == (asking, clients - asking)
    assert all(sorted(stream) == QUERIES for stream in asked)
    for stream in entered:
        shares = {name: stream.count(name) for name in stream}
        assert shares == {
            "new-order": 45,
            "payment": 43,
            "order-status": 4,
            "delivery": 4,
            "stock-level": 4,
        }


HALF = 'workload.streams=[["new-order", "payment"], ["q01", "q02"]]'


@pytest.mark.parametrize(
    ("clients", "changes", "missed", "needed"),
    [(1, [], "q14", 8), (7, [], "q14", 8), (1, [HALF], "q01", 2)],
)
def test_so_few_clients_that_none_asks_are_refused(
    clients: int, changes: list[str], missed: str, needed: int
) -> None:
    words = rf'"htap" by {clients} clients?: none comes to script "{missed}"'
    study = read_study("settings", ["workload=htap", f"workload.clients={clients}", *changes])
    with pytest.raises(UsageError, match=words) as refused:
        resolve_workload(study)
    assert f"--set workload.clients={needed} (drive: -c {needed})" in str(refused.value.hint)


def test_another_share_is_said_by_the_streams_of_a_study() -> None:
    workload = resolve_workload(read_study("settings", ["workload=htap", HALF])).workload
    assert workload.streams == (("new-order", "payment"), ("q01", "q02"))
    with pytest.raises(StudyError, match=r'workload\.streams: script "q023" is not driven'):
        resolve_workload(read_study("settings", ["workload=htap", HALF.replace("q02", "q023")]))


@pytest.mark.parametrize("kind", ["mysql", "mariadb", "sqlserver"])
def test_it_is_refused_for_engines_that_it_is_not_for(kind: str) -> None:
    with pytest.raises(UsageError, match='workload "htap" is not for'):
        find_workload("htap", kind=kind)


@pytest.mark.parametrize("name", ["new-order", "payment", "delivery", "order-status"])
def test_order_entry_is_that_of_tproc_c(htap: Workload, name: str) -> None:
    assert htap.script(name).text() == find_workload("tproc-c").script(name).text()


@pytest.mark.postgres
@pytest.mark.long
def test_both_kinds_of_work_are_done_counted_and_checked(
    htap: Workload, engine18: Postgres, place: Path, serve: Serve
) -> None:
    with serve(engine18.open(template(engine18, htap, 1)).clone(place / "clone")) as address:
        database = PostgresDatabase(address)
        before = count_work(htap, database)
        line, scripts = drive(htap, address, 1, 22, clients=8)
        assert check(htap, database, 1, scripts) == []
        done = {script.name: script.transactions for script in line.scripts}
        after = count_work(htap, database)
    assert all(done[query] == 1 for query in QUERIES)
    assert after["queries"] - before["queries"] == 22
    assert 0.8 * done["new-order"] <= after["new_orders"] <= done["new-order"]


def answers(connection: object, workload: Workload) -> dict[str, list[tuple[object, ...]]]:
    found = {}
    for name in QUERIES:
        query = workload.script(name).text().partition(";")[0]
        cursor = connection.execute(query.encode())  # type: ignore[attr-defined]
        found[name] = [tuple(row) for row in cursor.fetchall()]
    return found


@pytest.mark.postgres
@pytest.mark.long
def test_queries_answer_and_add_up(
    htap: Workload, engine18: Postgres, place: Path, serve: Serve
) -> None:
    direct = """
        SELECT (SELECT count(*) FROM order_line WHERE ol_delivery_d IS NOT NULL),
               (SELECT sum(ol_amount) FROM order_line WHERE ol_delivery_d IS NOT NULL),
               (SELECT count(*) FROM orders WHERE o_carrier_id IS NOT NULL),
               (SELECT count(DISTINCT (c_id, c_last, c_city, c_phone)) FROM customer
                 WHERE EXISTS (SELECT FROM orders WHERE o_c_id = c_id AND o_w_id = c_w_id
                                  AND o_d_id = c_d_id AND o_carrier_id IS NOT NULL))"""
    with (
        serve(engine18.open(template(engine18, htap, 1)).clone(place / "clone")) as address,
        connected(replace(address, database=DATABASE)) as connection,
    ):
        told = answers(connection, htap)
        [(lines, amount, orders, customers)] = connection.execute(direct.encode()).fetchall()
    assert {name for name, rows in told.items() if not rows} == EMPTY
    assert sum(row[5] for row in told["q01"]) == lines  # type: ignore[misc]
    assert told["q06"] == [(amount,)]
    assert sum(row[1] for row in told["q04"]) == orders  # type: ignore[misc]
    assert sum(row[1] + row[2] for row in told["q12"]) == lines  # type: ignore[operator]
    assert sum(row[1] for row in told["q13"]) == 3000  # type: ignore[misc]
    assert len(told["q10"]) == customers
    assert sum(row[2] for row in told["q10"]) == amount  # type: ignore[misc]
