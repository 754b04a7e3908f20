"""Backends stand beside the threads that serve them, and only where they are known to be ours."""

from __future__ import annotations

import os

import pytest

from driver.served import Server
from steelyard.driver.client import Driver
from steelyard.driver.placement import backend_processors, place_backends
from steelyard.driver.plan import DrivePlan, DriveScript
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError
from steelyard.telemetry.capacity import allowed_processors


def test_a_backend_gets_the_processor_of_its_clients_thread() -> None:
    # Client k is on thread k mod 2; thread 0 on processor 4, thread 1 on processor 6.
    assert backend_processors([10, 11, 12], 2, (4, 6)) == {10: [4], 11: [6], 12: [4]}
    # Three threads on two processors: thread 2 shares the first.
    assert backend_processors([10, 11, 12, 13], 3, (4, 6)) == {10: [4], 11: [6], 12: [4], 13: [4]}


@pytest.mark.postgres
def test_every_backend_of_a_local_server_is_pinned(server: Server) -> None:
    address = server.address
    target = Endpoint(address.host, address.port, address.user, address.database)
    processors = tuple(allowed_processors())
    script = DriveScript("one", "SELECT 1;")
    plan = DrivePlan((server.arm(clients=4),), (script,), threads=2, processors=processors)
    with Driver.start(plan) as driver:
        backends = driver.connected["arm"]
        place_backends(target, backends, 2, processors)
        pinned = [os.sched_getaffinity(pid) for pid in backends]
    assert pinned == [{processors[k % 2 % len(processors)]} for k in range(4)]


@pytest.mark.postgres
def test_a_process_that_is_no_child_of_the_server_is_left_alone(server: Server) -> None:
    address = server.address
    target = Endpoint(address.host, address.port, address.user, address.database)
    before = os.sched_getaffinity(0)
    with pytest.raises(DriverError, match="cannot place the backends"):
        place_backends(target, [os.getpid()], 1, allowed_processors()[:1])
    assert os.sched_getaffinity(0) == before


def test_a_server_behind_tcp_is_not_placed() -> None:
    target = Endpoint("127.0.0.1", 1, "u", "d")
    with pytest.raises(DriverError, match="cannot place the backends") as caught:
        place_backends(target, [os.getpid()], 1, (0,))
    assert "Unix socket" in (caught.value.hint or "")
