"""A workload that several machines fill is, row for row, the one that a single machine fills."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.loading import DATABASE, RowShare
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.sql.database import PostgresDatabase, connected
from steelyard.fleet import row_copying
from steelyard.fleet.load_generators.load_agent import LostError
from steelyard.fleet.row_copying import LoadMachines
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError
from steelyard.workloads.loading import tables
from steelyard.workloads.loading.load import LoadReport, load
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.workload import Workload
from workloads.loading.near_copier import NearCopier

Serve = Callable[[Cluster], AbstractContextManager[Endpoint]]

pytestmark = pytest.mark.postgres

# What VACUUM leaves: every page with rows all-visible and frozen, so that no later one has work.
# Pages that COPY has added and not used have neither; those whose rows were taken back have both.
MAPS = """
    SELECT relallfrozen = relallvisible, relallvisible - pages, relpages - pages
      FROM pg_class, (SELECT count(DISTINCT (ctid::text::point)[0]) AS pages FROM {0}) AS used
     WHERE oid = '{0}'::regclass"""
MOST_EXTENDED = 64
"""Pages that a COPY adds at a time."""
LEFT = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"


@pytest.fixture
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FEWEST_CHUNKS", 1)
    monkeypatch.setattr(row_copying, "PARTS", 1)


@contextmanager
def serving(engine: Postgres, place: Path, serve: Serve) -> Iterator[Endpoint]:
    with serve(engine.create(place / "data", protection="checksums")) as address:
        yield address


def loaded(
    workload: Workload, address: Endpoint, scale: int, *copiers: Any
) -> tuple[LoadReport, dict[str, Any]]:
    """The report, and every row of every table."""
    machines = LoadMachines(copiers, address, lambda _: None) if copiers else None
    shares = 20 if copiers else 0
    database = PostgresDatabase(address)
    report = load(workload, database, scale, replacing=True, copiers=machines)
    seen: dict[str, Any] = {}
    with connected(replace(address, database=DATABASE)) as connection:
        for table in workload.tables:
            rows = f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {table.name} t"
            seen[table.name] = connection.execute(rows.encode()).fetchone()
            maps = connection.execute(MAPS.format(table.name).encode()).fetchone()
            assert maps is not None
            same, taken_back, unused = maps
            assert same, table.name
            assert taken_back == 0 or (machines and machines.lost), table.name
            assert taken_back >= 0, table.name
            assert 0 <= unused <= MOST_EXTENDED * shares + taken_back, table.name
        seen["tables"] = connection.execute(
            b"SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            b"ORDER BY 1"
        ).fetchall()
    return report, seen


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        pytest.param("pgbench", 3, marks=pytest.mark.long),
        ("reserva", 1),
        pytest.param("tproc-h", 2, marks=pytest.mark.long),
    ],
)
def test_three_machines_make_the_rows_digests_and_maps_of_one(
    engine18: Postgres, place: Path, serve: Serve, small_shares: None, name: str, scale: int
) -> None:
    workload = find_workload(name)
    with serving(engine18, place, serve) as address:
        alone, one = loaded(workload, address, scale)
        copiers = [NearCopier(number) for number in range(3)]
        together, many = loaded(workload, address, scale, *copiers)
    assert together.digests == alone.digests
    assert together.tables == alone.tables
    assert many == one
    assert not any("shares" in table for table, _ in many["tables"])


@pytest.mark.long
def test_a_table_of_one_share_has_no_page_more(
    engine18: Postgres, place: Path, serve: Serve, pgbench: Workload
) -> None:
    sizes = []
    with serving(engine18, place, serve) as address:
        for copiers in ((), (NearCopier(0), NearCopier(1))):
            loaded(pgbench, address, 2, *copiers)
            with connected(replace(address, database=DATABASE)) as connection:
                query = b"SELECT relname, relpages FROM pg_class WHERE relname LIKE 'pgbench%'"
                sizes.append(sorted(connection.execute(query).fetchall()))
    assert sizes[0] == sizes[1]


@pytest.mark.long
def test_rows_lie_on_the_disk_in_their_order(
    engine18: Postgres,
    place: Path,
    serve: Serve,
    pgbench: Workload,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planner prefers an index whose order is the table's: 1.0 by one machine."""
    monkeypatch.setattr(tables, "FEWEST_CHUNKS", 1)
    query = "SELECT correlation FROM pg_stats WHERE attname = 'aid' AND tablename LIKE '%accounts'"
    with serving(engine18, place, serve) as address:
        loaded(pgbench, address, 3, *(NearCopier(number) for number in range(3)))
        with connected(replace(address, database=DATABASE)) as connection:
            row = connection.execute(query.encode()).fetchone()
    assert row == (1.0,)


@pytest.mark.long
def test_a_share_in_hand_of_a_machine_that_dies_is_made_again_once(
    engine18: Postgres, place: Path, serve: Serve, pgbench: Workload, small_shares: None
) -> None:
    """Its transaction stands open in the server when it dies, with the share's key taken."""

    class DyingCopier(NearCopier):
        def copy(self, share: RowShare, session: int) -> int:
            loader = self.sessions._loaders[session]
            key = f"('{share.table}', {share.first})"
            loader.execute(["BEGIN", f"INSERT INTO steelyard_shares VALUES {key}"], "begin")
            raise LostError("its Ray actor is gone")

    with serving(engine18, place, serve) as address:
        alone, one = loaded(pgbench, address, 3)
        together, many = loaded(pgbench, address, 3, DyingCopier(0), NearCopier(1))
    assert together.digests == alone.digests
    assert many == one


@pytest.mark.long
def test_a_share_that_was_committed_is_not_made_again(
    engine18: Postgres, place: Path, serve: Serve, pgbench: Workload, small_shares: None
) -> None:
    """The machine dies between its commit and its answer."""

    class DyingCopier(NearCopier):
        def copy(self, share: RowShare, session: int) -> int:
            super().copy(share, session)
            raise LostError("its Ray actor is gone")

    with serving(engine18, place, serve) as address:
        alone, one = loaded(pgbench, address, 3)
        together, many = loaded(pgbench, address, 3, DyingCopier(0), NearCopier(1))
    assert together.digests == alone.digests
    assert many == one


@pytest.mark.long
def test_an_error_of_the_server_ends_the_load_and_leaves_a_database_that_is_replaced(
    engine18: Postgres, place: Path, serve: Serve, pgbench: Workload, small_shares: None
) -> None:
    def end_own_session(share: RowShare) -> None:
        if share.first == 0 and share.table == "pgbench_accounts":
            with connected(address) as connection:
                connection.execute(
                    b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    b"WHERE application_name = 'steelyard' AND state = 'idle'"
                )

    with serving(engine18, place, serve) as address:
        with pytest.raises(DriverError, match='load machine "machine'):
            loaded(pgbench, address, 2, *(NearCopier(n, end_own_session) for n in (0, 1)))
        again, _ = loaded(pgbench, address, 2, NearCopier(0), NearCopier(1))
    assert again.rows == 200_022


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C reaches this process: a shell that runs tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_what_machines_copy(
    engine18: Postgres,
    place: Path,
    serve: Serve,
    pgbench: Workload,
    small_shares: None,
    heard: None,
) -> None:
    def interrupt(share: RowShare) -> None:
        if share.first == 1 and share.table == "pgbench_accounts":
            os.kill(os.getpid(), signal.SIGINT)

    with serving(engine18, place, serve) as address:
        with pytest.raises(KeyboardInterrupt):
            loaded(pgbench, address, 2, *(NearCopier(n, interrupt) for n in (0, 1)))
        with connected(address) as connection:
            for _ in range(100):
                if connection.execute(LEFT.encode()).fetchone() == (0,):
                    return
                time.sleep(0.05)
    raise AssertionError("sessions are left")
