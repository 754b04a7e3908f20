"""Load machines of a Ray cluster of four nodes on this machine: joined, lost, replaced."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from driver.conftest import server
from driver.served import Server
from fleet.clusters import add_host, cluster_of
from steelyard.driver.client import Driver
from steelyard.driver.plan import DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.load_generators.drivers import DriverGroups
from steelyard.fleet.on_ray import machines as of_machines
from steelyard.fleet.on_ray.machines import RayMachines
from steelyard.model.errors import DriverError

__all__ = ["server"]

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'steelyard[fleet]'")
pytestmark = [pytest.mark.postgres, pytest.mark.long]

MS = 1_000_000
NOTED = DriveScript(
    "noted", "\\set k random(1, 1000000000)\nINSERT INTO noted VALUES (:client_id, :k);"
)
SELECT_ONE = DriveScript("one", "SELECT 1;", rows=1)
SLOW = DriveScript("slow", "SELECT pg_sleep(3600);")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(3) as made:
        yield made


@pytest.fixture
def machines(cluster: Any) -> Iterator[RayMachines]:
    made = RayMachines(3, cluster.address)
    try:
        yield made
    finally:
        made.close()


def _plan(server: Server, script: DriveScript, clients: int = 6, **changes: Any) -> DrivePlan:
    return DrivePlan(arms=(server.arm(clients=clients),), scripts=(script,), **changes)


def _pids(machines: RayMachines) -> list[int]:
    return [ray.get(one.actor.driver_pid.remote()) for one in machines.members()]


def _gone(pid: int) -> bool:
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            return True
        time.sleep(0.05)
    return False


def _sessions(server: Server) -> int:
    ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'steelyard'"
    for _ in range(100):
        left: int = server.one(ask)
        if not left:
            return 0
        time.sleep(0.05)
    return left


def test_three_nodes_do_the_same_work_to_the_key_as_one_driver(
    machines: RayMachines, server: Server
) -> None:
    plan = _plan(server, NOTED, clients=7, seed=42)
    slices = [SliceRequest(arm=0, each=each) for each in (3, 5)]
    with server.connect() as connection:
        connection.execute("CREATE TABLE noted (client int, k bigint)")
        try:
            with Driver.start(plan) as driver:
                alone = list(driver.run(slices))
            expected = connection.execute("SELECT * FROM noted ORDER BY 1, 2").fetchall()
            connection.execute("TRUNCATE noted")
            group = DriverGroups(machines).start(plan)
            together = list(group.run(slices))
            group.close()
            found = connection.execute("SELECT * FROM noted ORDER BY 1, 2").fetchall()
        finally:
            connection.execute("DROP TABLE noted")
    assert found == expected
    for one, many in zip(alone, together, strict=True):
        assert many.transactions == one.transactions
        assert many.together is not None
        assert len({part.name for part in many.together.machines}) == 3
        # All nodes share this machine's clock: what is found apart must lie within the bound.
        for part in many.together.machines:
            assert abs(part.offset_ns) <= part.offset_bound_ns
    assert _sessions(server) == 0


@pytest.mark.parametrize("what", ["driver", "actor"])
def test_a_killed_process_is_an_epoch_lost_by_name_and_the_next_has_all_machines(
    machines: RayMachines, server: Server, what: str
) -> None:
    drivers = DriverGroups(machines)
    group = drivers.start(_plan(server, SLOW, drain_cap_ns=200 * MS))
    pids = _pids(machines)
    actors = [
        ray.get(one.actor.__ray_call__.remote(lambda _: os.getpid())) for one in machines.members()
    ]
    name = machines.members()[1].name
    victim = pids[1] if what == "driver" else actors[1]
    threading.Timer(0.3, os.kill, [victim, signal.SIGKILL]).start()
    with pytest.raises(DriverError, match=f'load machine "{name}"'):
        list(group.run([SliceRequest(arm=0, length_ns=800 * MS)]))
    group.close()
    assert all(_gone(pid) for pid in pids)
    assert _sessions(server) == 0
    _all_answer(drivers, server)


def _all_answer(drivers: DriverGroups, server: Server) -> None:
    """Every client, of all machines, does its work."""
    group = drivers.start(_plan(server, SELECT_ONE))
    (answer,) = group.run([SliceRequest(arm=0, each=2)])
    group.close()
    assert answer.transactions == 12


def _lose_a_node(made: RayMachines, drivers: DriverGroups, cluster: Any, server: Server) -> None:
    """Kill a node under load; nothing that ran on it is left."""
    group = drivers.start(_plan(server, SLOW, drain_cap_ns=200 * MS))
    pids = _pids(made)
    node = ray.get(
        made.members()[2].actor.__ray_call__.remote(
            lambda _: ray.get_runtime_context().get_node_id()
        )
    )
    [dying] = [one for one in cluster.worker_nodes if one.node_id == node]
    killer = threading.Timer(0.3, cluster.remove_node, [dying], {"allow_graceful": False})
    killer.start()
    with pytest.raises(DriverError, match="load machine"):
        list(group.run([SliceRequest(arm=0, length_ns=800 * MS)]))
    group.close()
    killer.join()
    assert all(_gone(pid) for pid in pids)
    assert _sessions(server) == 0


def test_a_node_that_dies_costs_no_more_than_its_epoch_where_another_is_free(
    cluster: Any, server: Server
) -> None:
    spare = add_host(cluster)
    made = RayMachines(3, cluster.address)
    drivers = DriverGroups(made)
    try:
        _lose_a_node(made, drivers, cluster, server)
        # Before the cluster has noticed: it gives the place to the dead node once more.
        _all_answer(drivers, server)
    finally:
        drivers.close()
    assert spare in cluster.worker_nodes


def test_a_node_that_dies_is_replaced_by_another_or_the_weighing_ends_with_everything_kept(
    cluster: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_machines, "RESERVE_S", 20.0)
    made = RayMachines(3, cluster.address)
    drivers = DriverGroups(made)
    try:
        _lose_a_node(made, drivers, cluster, server)
        with pytest.raises(DriverError, match="no machine in the place of 1 of 3"):
            made.members()
        add_host(cluster)
        _all_answer(drivers, server)
    finally:
        drivers.close()


def test_more_machines_than_there_are_are_refused_at_once_or_not_reserved_at_all(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_machines, "RESERVE_S", 2.0)
    with pytest.raises(DriverError, match="no 9 free machines"):
        RayMachines(9, cluster.address)
    assert not ray.is_initialized()


def test_no_cluster_is_said_with_how_to_start_one() -> None:
    with pytest.raises(DriverError, match="could not join a Ray cluster") as told:
        RayMachines(2, "127.0.0.1:1")
    assert "ray start --head" in (told.value.hint or "")


def test_a_signal_that_ends_a_weighing_stays_ours(cluster: Any) -> None:
    def ours(number: int, frame: object) -> None:
        """Stands for the handler of the command line."""

    before = signal.signal(signal.SIGTERM, ours)
    try:
        made = RayMachines(2, cluster.address)
        assert len(made.members()) == 2
        assert signal.getsignal(signal.SIGTERM) is ours
        made.close()
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)
