"""MySQL and MariaDB are filled by several machines as by one; sessions of a lost one are ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from driver.mysql_servers import PRODUCTS, database_at, started
from driver.mysqld import Mysqld
from steelyard.engines.adapters import end_sessions
from steelyard.engines.loading import RowShare
from steelyard.engines.mysql.sql.session import connect, connected, rows_of
from steelyard.engines.mysql.uri import read_uri
from steelyard.fleet.load_generators.load_agent import LostError
from steelyard.fleet.row_copying import LoadMachines
from steelyard.model.errors import ServerError
from steelyard.workloads.loading import tables
from steelyard.workloads.loading.load import load
from steelyard.workloads.reading.folder import find_workload
from workloads.loading.near_copier import NearCopier

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Iterator[Mysqld]:
    with started(request.param) as running:
        yield running


class DyingCopier(NearCopier):
    """Dies with its first share half done."""

    def copy(self, share: RowShare, session: int) -> int:
        loader = self.sessions._loaders[session]
        key = f"('{share.table}', {share.first})"
        loader.execute(
            ["BEGIN", f"INSERT INTO steelyard_shares (of_table, first_chunk) VALUES {key}"], "begin"
        )
        raise LostError("its Ray actor is gone")


def test_three_machines_of_which_one_dies_make_the_rows_and_digests_of_one(
    server: Mysqld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "FEWEST_CHUNKS", 1)
    database = database_at(server)
    workload = find_workload("pgbench", kind=database.kind)
    alone = load(workload, database, 2, replacing=True)
    copiers = [NearCopier(0), DyingCopier(1), NearCopier(2)]
    machines = LoadMachines(copiers, read_uri(server.uri()), lambda _: None)
    together = load(workload, database, 2, replacing=True, copiers=machines)
    assert machines.lost == ["machine 1"]
    assert together.digests == alone.digests
    assert together.tables == alone.tables
    with connected(read_uri(server.uri(database="steelyard"))) as connection:
        names = {name for (name,) in rows_of(connection, "SHOW TABLES")}
    assert "steelyard_shares" not in names


def test_sessions_are_ended_by_their_numbers_and_no_others(server: Mysqld) -> None:
    endpoint = read_uri(server.uri())
    first, second, third = (connect(endpoint) for _ in range(3))
    try:
        numbers = [int(one.thread_id()) for one in (first, second)]  # type: ignore[no-untyped-call]
        end_sessions(endpoint, numbers)
        end_sessions(endpoint, [])
        third.ping(reconnect=False)
        with pytest.raises(Exception, match=r"2006|2013|Lost connection|gone away"):
            first.ping(reconnect=False)
        with connected(endpoint) as connection:
            there = {int(number) for number, *_ in rows_of(connection, "SHOW PROCESSLIST")}
        assert there.isdisjoint(numbers)
        assert third.thread_id() in there  # type: ignore[no-untyped-call]
        with pytest.raises(ServerError):
            end_sessions(replace(endpoint, host="127.0.0.1", port=1), numbers)
    finally:
        for one in (first, second, third):
            if one.open:
                one.close()
