"""Starts a crowd for every epoch on the machines that there are; implements LoadDrivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from steelyard.driver.plan import DrivePlan
from steelyard.engines.access.load_machine import is_local
from steelyard.fleet.load_generators.crowd_driver import Crowd
from steelyard.fleet.load_generators.load_agent import (
    LoadGenerator,
    LoadMachineFacts,
    machine_facts,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, UsageError


class Machines(Protocol):
    """Where the members of a crowd come from."""

    @property
    def count(self) -> int:
        """How many members there are."""

    def members(self) -> Sequence[LoadGenerator]:
        """As many as were requested, each time, none of them lost: a lost one was replaced.
        DriverError: there are fewer, and a load by fewer would not be comparable."""

    def close(self) -> None:
        """Give all of them up; safe to call twice."""


class CrowdDrivers:
    """Load drivers that are crowds. `threads` of each machine's driver; None: one a processor."""

    def __init__(self, machines: Machines, threads: int | None = None) -> None:
        self._machines = machines
        self._threads = threads
        self._own = machine_facts()
        self._running: Crowd | None = None

    @property
    def machines(self) -> int:
        """How many there are."""
        return self._machines.count

    def start(self, plan: DrivePlan) -> Crowd:
        """A crowd connected to every arm, its clients dealt anew by the plan's seed. UsageError:
        they cannot reach an arm as it is named, or are not alike."""
        members = self._machines.members()
        require_fit(
            [member.facts for member in members],
            {f'arm "{arm.name}"': arm.endpoint for arm in plan.arms},
            self._own,
        )
        self._running = Crowd(plan, members, self._threads)
        return self._running

    def build_profile(self) -> str:
        """ "release" or "debug"; that of the machines is the same."""
        return self._own.build_profile

    def close(self) -> None:
        """End what runs, and give the machines up."""
        try:
            if self._running is not None:
                self._running.close()
        finally:
            self._machines.close()


def require_fit(
    machines: Sequence[LoadMachineFacts],
    places: Mapping[str, Endpoint],
    this_machine: LoadMachineFacts,
) -> None:
    """DriverError where machines have another Steelyard than this one. UsageError where a place, by
    the name that it has in messages, listens where they do not reach it."""
    _require_alike(machines, this_machine)
    if any(machine.boot != this_machine.boot for machine in machines):
        for name, endpoint in places.items():
            _require_reachable(name, endpoint)


def _require_alike(machines: Sequence[LoadMachineFacts], this_machine: LoadMachineFacts) -> None:
    unlike = [
        f"{machine.host}: {machine.version}, {machine.build_profile}"
        for machine in machines
        if (machine.version, machine.build_profile)
        != (this_machine.version, this_machine.build_profile)
    ]
    if unlike:
        raise DriverError(
            "machines have other versions of Steelyard than this one",
            detail=f"Here: {this_machine.version}, {this_machine.build_profile}. "
            f"{'; '.join(unlike)}.",
            hint="Use one container image, or one wheel, on all of them.",
        )


def _require_reachable(name: str, endpoint: Endpoint) -> None:
    if is_local(endpoint):
        raise UsageError(
            f'load machines cannot reach {name}: it is looked for at "{endpoint.host}", which is '
            "on this machine",
            hint="Name the server by an address that all machines reach.",
        )
