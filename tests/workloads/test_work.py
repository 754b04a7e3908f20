"""Every workload loads, does its work and passes its checks, which find work that was not done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from driven import drive

from steelyard.engines.engine import Address
from steelyard.engines.postgres.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.telemetry.server import wait_until_flushed
from steelyard.workloads.checks import check
from steelyard.workloads.database import connected
from steelyard.workloads.scripts import resolve_scripts
from steelyard.workloads.template import description, template
from steelyard.workloads.workload import DATABASE, Workload, find_workload

Serve = Callable[[Cluster], AbstractContextManager[Address]]

pytestmark = pytest.mark.postgres


def ask(address: Address, query: str) -> int:
    with connected(replace(address, database=DATABASE)) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def change(address: Address, statement: str) -> None:
    with connected(replace(address, database=DATABASE)) as connection:
        connection.execute(statement.encode())


WORK = [
    ("tproc-c", "new_orders", 100),
    ("tproc-c-client", "new_orders", 50),
    ("reserva", "payments", 600),
    ("select-insert", "turns", 50),
]
VARIANTS: list[tuple[str, dict[str, object], str, int]] = [
    ("tproc-c", {"profile": "hammerdb", "all_warehouses": True}, "new_orders", 100),
    ("reserva", {"roundtrips": "pipelined"}, "payments", 600),
    ("reserva", {"variant": "original"}, "payments", 60),
    ("reserva", {"variant": "original", "roundtrips": "pipelined"}, "payments", 60),
    ("reserva", {"deletes": 0}, "payments", 60),
    ("select-insert", {"side": "server", "turns": 20}, "turns", 10),
]


@pytest.mark.parametrize(("name", "count", "each"), WORK)
def test_work_is_done_on_both_versions_and_passes_its_checks(
    name: str, count: str, each: int, engine: Postgres, place: Path, serve: Serve
) -> None:
    do(name, {}, count, each, engine, place, serve)


@pytest.mark.parametrize(("name", "options", "count", "each"), VARIANTS)
def test_what_can_be_chosen_is_done_and_passes_its_checks(
    name: str,
    options: dict[str, object],
    count: str,
    each: int,
    engine18: Postgres,
    place: Path,
    serve: Serve,
) -> None:
    do(name, options, count, each, engine18, place, serve)


def do(
    name: str,
    options: dict[str, object],
    count: str,
    each: int,
    engine: Postgres,
    place: Path,
    serve: Serve,
) -> None:
    """Load, drive, count and check."""
    workload = find_workload(name, options)
    loaded = template(engine, workload, 1)
    with serve(engine.open(loaded).clone(place / "clone")) as address:
        before = ask(address, workload.counts[count])
        line, scripts = drive(workload, address, 1, each)
        done = ask(address, workload.counts[count]) - before
        assert check(workload, address, 1, scripts) == []
        by_name = {script["name"]: script["transactions"] for script in line["scripts"]}
        turns = int(str(options.get("turns", 1)))
        assert 0 < done <= line["transactions"] * turns
        if name.startswith("tproc-c"):
            entered = by_name.get("new-order", by_name.get("hammerdb-new-order"))
            assert entered is not None
            rolled_back = entered - done
            assert rolled_back == 0 if "profile" in options else 0 <= rolled_back < entered / 10
        elif name == "select-insert":
            assert done == line["transactions"] * turns


DAMAGE = [
    ("tproc-c", "UPDATE warehouse SET w_ytd = w_ytd + 1", "condition 1"),
    ("tproc-c", "UPDATE district SET d_next_o_id = 4000 WHERE d_id = 3", "condition 2"),
    ("tproc-c", "DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 2500", "condition 3"),
    ("tproc-c", "DELETE FROM order_line WHERE ol_d_id = 5 AND ol_o_id = 7", "condition 4"),
    ("reserva", "UPDATE accounts SET balance = balance + 1 WHERE id = 5", "sum(balance)"),
    (
        "select-insert",
        "INSERT INTO results (source_id, value, payload) VALUES (1, 1, '')",
        "follow",
    ),
]


@pytest.mark.parametrize(("name", "statement", "words"), DAMAGE)
def test_checks_find_what_is_wrong(
    name: str, statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload(name)
    loaded = template(engine18, workload, 1)
    with serve(engine18.open(loaded).clone(place / "clone")) as address:
        assert check(workload, address, 1) == []
        change(address, statement)
        violations = check(workload, address, 1)
    assert any(words in text for text in violations), violations


def test_payments_that_delete_nothing_are_found_out(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    corrected = find_workload("reserva")
    original = find_workload("reserva", {"variant": "original"})
    with serve(engine18.open(template(engine18, corrected, 1)).clone(place / "clone")) as address:
        drive(original, address, 1, 700)
        deleting = resolve_scripts(corrected, corrected.mix(), 1)
        violations = check(corrected, address, 1, deleting)
    assert any("none was deleted" in text for text in violations), violations


@pytest.fixture(scope="session")
def tproc_c() -> Workload:
    return find_workload("tproc-c")


def test_both_versions_hold_the_same_rows(tproc_c: Workload, engine: Postgres) -> None:
    described = description(template(engine, tproc_c, 1))
    assert described["tables"]["order_line"] == 299_725
    assert described["digests"]["order_line"] == "0c66232070c49dd6"


def test_the_specs_counters_move_and_hammerdbs_do_not(
    tproc_c: Workload, engine18: Postgres, place: Path, serve: Serve
) -> None:
    counters = (
        "SELECT sum(s_ytd + s_order_cnt) FROM stock",
        "SELECT sum(c_payment_cnt - 1 + c_delivery_cnt) FROM customer",
    )
    for number, (workload, moves) in enumerate(
        [(tproc_c, True), (find_workload("tproc-c", {"profile": "hammerdb"}), False)]
    ):
        clone = engine18.open(template(engine18, workload, 1)).clone(place / f"clone{number}")
        with serve(clone) as address:
            drive(workload, address, 1, 100)
            assert [ask(address, query) > 0 for query in counters] == [moves, moves]
            unknown = ask(address, "SELECT count(*) FROM order_line WHERE ol_i_id = 100001")
            assert moves or unknown > 0, "HammerDB enters the orders that should be rolled back"
            assert not moves or unknown == 0


def test_lines_go_to_the_partitions_of_their_warehouses(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("tproc-c", {"partitions": 2})
    clone = engine18.open(template(engine18, workload, 1)).clone(place / "clone")
    with serve(clone) as address:
        parts = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'order_line'::regclass"
        assert ask(address, parts) == 2
        _, scripts = drive(workload, address, 1, 20)
        assert check(workload, address, 1, scripts) == []


@pytest.mark.parametrize("side", ["client", "server"])
def test_each_turn_of_the_loop_is_committed_by_itself_and_waits_for_its_log(
    side: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload("select-insert", {"side": side, "turns": 20})
    written = "SELECT sum(writes) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"
    clone = engine18.open(template(engine18, workload, 1)).clone(place / "clone")
    writes = [0]
    with serve(clone) as address:
        for durable in ("on", "off"):
            change(address, f"ALTER DATABASE {DATABASE} SET synchronous_commit = {durable}")
            drive(workload, address, 1, 200 if side == "client" else 10, clients=1)
            wait_until_flushed(address.conninfo(), 180000)
            writes.append(ask(address, written))
        assert ask(address, "SELECT count(DISTINCT xmin::text) FROM results") == 400
    waited, left = writes[1] - writes[0], writes[2] - writes[1]
    # The log writer may now and then come before a turn does; by itself it comes every 200 ms.
    assert waited > 180
    assert left < 100
