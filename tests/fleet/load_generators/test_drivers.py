"""A group is made of machines that are alike and reach every arm; it is given up at the end."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from driver.served import Server
from fleet.load_generators.false_clock import FarAgent, FarMachines
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.load_generators.drivers import DriverGroups
from steelyard.fleet.load_generators.load_agent import machine_facts
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, UsageError

SCRIPTS = (DriveScript("one", "SELECT 1;", rows=1),)


def _elsewhere(**changes: str) -> FarAgent:
    hand = FarAgent("far")
    hand.hand.facts = replace(machine_facts(), boot="another", **changes)
    return hand


def _plan(host: str) -> DrivePlan:
    return DrivePlan(arms=(DriveArm("x", Endpoint(host, 1, "u", "d"), 2),), scripts=SCRIPTS)


@pytest.mark.parametrize(
    "changes", [{"version": "9.9.9"}, {"build_profile": "never heard of"}], ids=str
)
def test_machines_with_another_steelyard_are_refused(changes: dict[str, str]) -> None:
    drivers = DriverGroups(FarMachines([FarAgent("a"), _elsewhere(**changes)]))
    with pytest.raises(DriverError, match="other versions of Steelyard"):
        drivers.start(_plan("db.example"))


@pytest.mark.parametrize("host", ["/tmp", "localhost", "127.0.0.1"])
def test_an_arm_on_this_machine_is_refused_to_other_machines(host: str) -> None:
    drivers = DriverGroups(FarMachines([FarAgent("a"), _elsewhere()]))
    with pytest.raises(UsageError, match=f'cannot reach arm "x": it is looked for at "{host}"'):
        drivers.start(_plan(host))


@pytest.mark.long
@pytest.mark.postgres
def test_a_crowd_is_started_for_each_epoch_and_given_up_at_the_end(server: Server) -> None:
    machines = FarMachines([FarAgent("a"), FarAgent("b")])
    drivers = DriverGroups(machines, threads=1)
    assert drivers.build_profile() == machine_facts().build_profile
    for epoch in range(2):
        plan = DrivePlan(arms=(server.arm(clients=4),), scripts=SCRIPTS, seed=epoch)
        group = drivers.start(plan)
        (answer,) = group.run([SliceRequest(arm=0, each=1)])
        assert answer.transactions == 4
        group.close()
    assert [plan.threads for plan in machines.hands[0].plans] == [1, 1]
    drivers.start(plan)
    drivers.close()
    assert machines.closed
    assert [hand.hand.driver_pid for hand in machines.hands] == [None, None]


@pytest.mark.postgres
def test_the_clock_of_a_host_that_was_rebooted_is_known_anew_in_the_next_epoch(
    server: Server,
) -> None:
    """Its CLOCK_MONOTONIC begins at 0 again, hours before what was known of it."""
    hands = [FarAgent("a"), FarAgent("b", offset_ns=5 * 3_600 * 10**9)]
    drivers = DriverGroups(FarMachines(hands))
    plan = DrivePlan(arms=(server.arm(clients=2),), scripts=SCRIPTS)
    for offset_ns in (hands[1].offset_ns, -time.monotonic_ns()):
        hands[1].offset_ns = offset_ns
        group = drivers.start(plan)
        (answer,) = group.run([SliceRequest(arm=0, each=1)])
        found = group.clocks["b"].offset(time.monotonic_ns())
        group.close()
        assert answer.transactions == 2
        assert abs(found.value_ns - offset_ns) <= found.bound_ns + 1000
    drivers.close()
