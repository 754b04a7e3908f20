"""Every workload loads, does its work and passes its checks, which find work that was not done."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from driven import drive

from steelyard._core import histogram_quantiles
from steelyard.driver.answer import SliceAnswer
from steelyard.engines.loading import DATABASE
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.counters import wait_until_flushed
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.model.endpoint import Endpoint
from steelyard.workloads.checks import check
from steelyard.workloads.loading.template import description, template
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.scripts import resolve_scripts
from steelyard.workloads.reading.workload import Workload
from thinned import thinned

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

pytestmark = pytest.mark.postgres


def ask(address: Endpoint, query: str) -> int:
    with connected(replace(address, database=DATABASE)) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def change(address: Endpoint, statement: str) -> None:
    with connected(replace(address, database=DATABASE)) as connection:
        connection.execute(statement.encode())


WORK = [
    ("tproc-c", "new_orders", 100),
    ("tproc-c-client", "new_orders", 50),
    ("reserva", "payments", 600),
    ("select-insert", "turns", 50),
]
VARIANTS: list[tuple[str, dict[str, object], str, int]] = [
    ("reserva", {"roundtrips": "pipelined"}, "payments", 600),
    ("reserva", {"variant": "original"}, "payments", 60),
    ("reserva", {"variant": "original", "roundtrips": "pipelined"}, "payments", 60),
    ("reserva", {"deletes": 0}, "payments", 60),
    ("select-insert", {"side": "server", "turns": 20}, "turns", 10),
]


@thinned(("name", "count", "each"), WORK, 1)
def test_work_is_done_on_both_versions_and_passes_its_checks(
    name: str, count: str, each: int, engine: Postgres, place: Path, serve: Serve
) -> None:
    do(name, {}, count, each, engine, place, serve)


@thinned(("name", "options", "count", "each"), VARIANTS, 2)
def test_what_can_be_chosen_is_done_on_both_versions_and_passes_its_checks(
    name: str,
    options: dict[str, object],
    count: str,
    each: int,
    engine: Postgres,
    place: Path,
    serve: Serve,
) -> None:
    do(name, options, count, each, engine, place, serve)


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
        assert check(workload, PostgresDatabase(address), 1, scripts) == []
        by_name = {script.name: script.transactions for script in line.scripts}
        turns = int(str(options.get("turns", 1)))
        assert 0 < done <= line.transactions * turns
        if name.startswith("tproc-c"):
            entered = by_name["new-order"]
            rolled_back = entered - done
            assert 0 <= rolled_back < entered / 10
        elif name == "reserva":
            look_at_payments(address, options, line, done)
        elif name == "select-insert":
            assert done == line.transactions * turns


def look_at_payments(
    address: Endpoint, options: dict[str, object], line: SliceAnswer, made: int
) -> None:
    """Who asks, which rows come back, and what is deleted."""
    original = options.get("variant") == "original"
    strangers = """
        SELECT count(*) FROM transfers JOIN accounts a ON a.id = to_account_id
         WHERE a.bank_id <> requesting_user_id"""
    assert ask(address, strangers) == 0, "the user that asks is of the payee's bank"
    # Two permissions, the card, one permission or both of them again, the transfer.
    assert line.rows == made * (6 if original else 5)
    due = made * int(str(options.get("deletes", 5))) // 100
    gone = made - ask(address, "SELECT count(*) FROM transfers")
    assert gone == 0 if original else 0.9 * due <= gone <= due


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


@thinned(("name", "statement", "words"), DAMAGE, 2)
def test_checks_find_what_is_wrong(
    name: str, statement: str, words: str, engine18: Postgres, place: Path, serve: Serve
) -> None:
    workload = find_workload(name)
    loaded = template(engine18, workload, 1)
    with serve(engine18.open(loaded).clone(place / "clone")) as address:
        assert check(workload, PostgresDatabase(address), 1) == []
        change(address, statement)
        violations = check(workload, PostgresDatabase(address), 1)
    assert any(words in text for text in violations), violations


@pytest.mark.long
def test_payments_that_delete_nothing_are_found_out(
    engine18: Postgres, place: Path, serve: Serve
) -> None:
    corrected = find_workload("reserva")
    original = find_workload("reserva", {"variant": "original"})
    with serve(engine18.open(template(engine18, corrected, 1)).clone(place / "clone")) as address:
        drive(original, address, 1, 700)
        deleting = resolve_scripts(corrected, corrected.mix(), 1)
        violations = check(corrected, PostgresDatabase(address), 1, deleting)
    assert any("none was deleted" in text for text in violations), violations


@pytest.fixture(scope="session")
def tproc_c() -> Workload:
    return find_workload("tproc-c")


def test_both_versions_hold_the_same_rows(tproc_c: Workload, engine: Postgres) -> None:
    described = description(template(engine, tproc_c, 1))
    assert described is not None
    assert described.tables["order_line"] == 299_725
    assert described.digests["order_line"] == "0c66232070c49dd6"


@pytest.mark.long
def test_hammerdbs_delivery_in_sets_does_what_the_specs_loop_does(
    tproc_c: Workload, engine18: Postgres, place: Path, serve: Serve
) -> None:
    changed = """
        SELECT (SELECT sum(hashtextextended(n::text, 0)) FROM new_order n),
               (SELECT sum(hashtextextended(o::text, 0)) FROM orders o),
               (SELECT sum(hashtextextended((ol_w_id, ol_d_id, ol_o_id, ol_number)::text, 0))
                  FROM order_line WHERE ol_delivery_d = now()),
               (SELECT sum(hashtextextended((c_w_id, c_d_id, c_id, c_balance)::text, 0))
                  FROM customer)"""
    seen = []
    with (
        serve(engine18.open(template(engine18, tproc_c, 1)).clone(place / "clone")) as address,
        connected(replace(address, database=DATABASE)) as connection,
    ):
        # A district has nothing left, and another one an order less.
        connection.execute(b"DELETE FROM new_order WHERE no_d_id = 4")
        connection.execute(b"DELETE FROM new_order WHERE no_d_id = 7 AND no_o_id = 2101")
        for profile in ("spec", "hammerdb"):
            with connection.transaction(force_rollback=True):
                call = f"SELECT {profile}.delivery(1, carrier) FROM generate_series(1, 3) carrier"
                answers = connection.execute(call.encode()).fetchall()
                seen.append((answers, connection.execute(changed.encode()).fetchall()))
    assert seen[0][0] == [(9,)] * 3
    assert seen[0] == seen[1]


def test_rows_are_frozen_as_they_arrive(
    tproc_c: Workload, engine: Postgres, place: Path, serve: Serve
) -> None:
    """Vacuum without FREEZE follows, which marks such pages as visible but not as frozen."""
    loaded = template(engine, tproc_c, 1)
    with (
        serve(engine.open(loaded).clone(place / "clone")) as address,
        connected(replace(address, database=DATABASE)) as connection,
    ):
        query = "SELECT pg_relation_filepath(%s::regclass)"
        files = {
            table.name: str(connection.execute(query.encode(), (table.name,)).fetchall()[0][0])
            for table in tproc_c.tables
        }
    assert len(files) == 9
    for name, file in files.items():
        blocks = (loaded / file).stat().st_size // 8192
        pages = (loaded / f"{file}_vm").read_bytes()
        # Two bits a block behind each header of 24 bytes: all are visible, all are frozen.
        bits = b"".join(pages[at + 24 : at + 8192] for at in range(0, len(pages), 8192))
        marks = [bits[block // 4] >> 2 * (block % 4) & 3 for block in range(blocks)]
        assert marks == [3] * blocks, name
        assert blocks, name


@pytest.mark.long
def test_clients_key_before_and_think_after_a_transaction_where_they_are_asked_to(
    tproc_c: Workload, engine18: Postgres, tmp_path: Path, place: Path, serve: Serve
) -> None:
    """With milliseconds for seconds. New orders take 18 to key and 12, by their mean, to think."""
    folder = shutil.copytree(tproc_c.folder, tmp_path / "hasty")
    for script in (folder / "scripts").iterdir():
        text = script.read_text().replace(":pause ms", ":pause us")
        script.write_text(re.sub(r"(\\sleep \d+) s", r"\1 ms", text))
    with serve(engine18.open(template(engine18, tproc_c, 1)).clone(place / "clone")) as address:
        for thinking in (True, False):
            workload = find_workload(str(folder), {"thinking": thinking})
            line, _ = drive(workload, address, 1, 30)
            [orders] = [script for script in line.scripts if script.name == "new-order"]
            told = histogram_quantiles([orders.latency], [0.0])
            assert told["count"] > 30
            assert (told["values"][0] >= 18_000_000) == thinking
            assert not thinking or told["mean_ns"] > (18 + 0.6 * 12) * 1e6


@thinned("side", ["client", "server"], 1)
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
            wait_until_flushed(conninfo_of(address), 180000)
            writes.append(ask(address, written))
        assert ask(address, "SELECT count(DISTINCT xmin::text) FROM results") == 400
    waited, left = writes[1] - writes[0], writes[2] - writes[1]
    # The log writer may now and then come before a turn does; by itself it comes every 200 ms.
    assert waited > 180
    assert left < 100
