"""Load machines of a Ray cluster: all reserved or none, one actor each, lost ones replaced."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.engines.loading import RowShare
from steelyard.fleet.load_generators.load_agent import (
    DrivenSlice,
    LoadAgent,
    LoadMachineFacts,
    OpenedDriver,
)
from steelyard.fleet.network import Nic
from steelyard.fleet.on_ray.cluster import (
    CALL_S,
    HOST,
    LONG_CALL_S,
    OFFER,
    ONCE,
    Remote,
    connect,
    leave,
    with_ray_errors,
)
from steelyard.fleet.row_copying import SESSIONS, CopySessions
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError

RESERVE_S = 60.0
"""Longest wait for the machines, and for one in the place of a lost one."""
_AGAIN_S = 0.2
ON_THE_WAY_S = 2.0
"""Added to the limit for which a machine waits for its driver."""


class HostActor:
    """The Ray actor on a load machine: a load agent and sessions that copy rows. It returns errors
    as values (`with_ray_errors`)."""

    def __init__(self) -> None:
        self._agent = LoadAgent("this machine")
        self._sessions = CopySessions()

    def facts(self) -> LoadMachineFacts:
        """Of its machine."""
        return self._agent.facts

    def read_clock(self) -> tuple[int, int]:
        """Two stamps of its clock."""
        return self._agent.read_clock()

    def network(self) -> Mapping[str, Nic]:
        """See LoadGenerator."""
        return self._agent.network()

    def open(self, plan: DrivePlan) -> Any:
        """See LoadGenerator."""
        return with_ray_errors(lambda: self._agent.open(plan))

    def drive(self, request: SliceRequest, patience_s: float | None) -> Any:
        """See LoadGenerator."""
        return with_ray_errors(lambda: self._agent.drive(request, patience_s))

    def close(self) -> None:
        """See LoadGenerator."""
        self._agent.close()

    def driver_pid(self) -> int | None:
        """The process of its driver."""
        return self._agent.driver_pid

    def alive(self) -> bool:
        """Answers while another call is under way."""
        return True

    def connect_to(self, target: Endpoint, sessions: int) -> Any:
        """See Copier."""
        return with_ray_errors(lambda: self._sessions.connect_to(target, sessions))

    def copy(self, share: RowShare, session: int) -> Any:
        """See Copier."""
        return with_ray_errors(lambda: self._sessions.copy(share, session))

    def disconnect(self) -> None:
        """See Copier."""
        self._sessions.disconnect()


class RayMember(Remote):
    """One machine of the cluster; implements LoadGenerator and Copier."""

    def __init__(self, actor: Any, name: str, facts: LoadMachineFacts) -> None:
        super().__init__(actor, name)
        self.facts = facts

    def read_clock(self) -> tuple[int, int]:
        """Stamped by the actor: its process and the driver's share a clock."""
        stamps: tuple[int, int] = self.call("read_clock", patience_s=CALL_S)
        return stamps

    def network(self) -> Mapping[str, Nic]:
        """Read on the machine."""
        nics: Mapping[str, Nic] = self.call("network", patience_s=CALL_S)
        return nics

    def open(self, plan: DrivePlan) -> OpenedDriver:
        """Send the share of the plan, and wait until its clients are connected."""
        opened: OpenedDriver = self.call("open", plan, patience_s=LONG_CALL_S)
        return opened

    def drive(self, request: SliceRequest, patience_s: float | None) -> DrivenSlice:
        """Order a slice; a machine that does not answer in time is lost."""
        driven: DrivenSlice
        if patience_s is None:
            driven = self.call_watched("drive", request, None)
        else:
            longest_s = patience_s + ON_THE_WAY_S
            driven = self.call("drive", request, patience_s, patience_s=longest_s)
        return driven

    def close(self) -> None:
        """End the driver; an actor that does not answer is killed, and its driver ends with it."""
        self._end("close")

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        """Wait until the machine is connected."""
        numbers: tuple[int, ...]
        numbers = self.call("connect_to", target, sessions, patience_s=LONG_CALL_S)
        return numbers

    def copy(self, share: RowShare, session: int) -> int:
        """Wait as long as the share takes, while the machine lives."""
        rows: int = self.call_watched("copy", share, session)
        return rows

    def disconnect(self) -> None:
        """Close the connections; an actor that does not answer is killed, and they end with it."""
        self._end("disconnect")

    def _end(self, method: str) -> None:
        if self.lost:
            self.kill()
            return
        try:
            self.call(method, patience_s=LONG_CALL_S)
        except DriverError:
            self.kill()


class RayMachines:
    """Machines of a cluster that offer `steelyard_host`, one actor each; implements Machines."""

    def __init__(self, count: int, address: str | None = None) -> None:
        """Reserve them, all or none. `address` of the cluster; None: the one that runs here.

        UsageError: Ray is not installed. DriverError: no cluster, another version, or too few.
        """
        self.count = count
        self._group: Any = None
        self._members: dict[int, RayMember] = {}
        connect(address)
        try:
            self._group = _reserve(count)
            self.members()
        except BaseException:
            self.close()
            raise

    def members(self) -> Sequence[RayMember]:
        """All of them; where one was lost, Ray gives its place to another machine, if there is."""
        lost = [number for number, member in self._members.items() if member.lost]
        for number in lost:
            self._members.pop(number).kill()
        missing = [number for number in range(self.count) if number not in self._members]
        if missing:
            joined = self._join(missing)
            hosts = Counter(member.facts.host for member in self._members.values())
            for number, (actor, facts) in joined.items():
                hosts[facts.host] += 1
                again = hosts[facts.host]
                name = facts.host if again == 1 else f"{facts.host}-{again}"
                self._members[number] = RayMember(actor, self._unused(name), facts)
        return [self._members[number] for number in range(self.count)]

    def close(self) -> None:
        """End every actor, give the machines back, leave the cluster; safe to call twice."""
        import ray

        for member in self._members.values():
            member.kill()
        self._members.clear()
        if self._group is not None:
            with suppress(ray.exceptions.RayError):
                ray.util.remove_placement_group(self._group)
            self._group = None
        leave()

    def _unused(self, name: str) -> str:
        names, free, number = {member.name for member in self._members.values()}, name, 1
        while free in names:
            number += 1
            free = f"{name}-{number}"
        return free

    def _join(self, places: Sequence[int]) -> dict[int, tuple[Any, LoadMachineFacts]]:
        """An actor for each place of the group. DriverError: one does not come up."""
        import ray

        limit = time.monotonic() + RESERVE_S
        try:
            while True:
                try:
                    return self._try_to_join(places, limit)
                except ray.exceptions.RayActorError as error:
                    # A cluster learns seconds late of a node's death, and gave it the actor.
                    if error.actor_init_failed or time.monotonic() + _AGAIN_S > limit:
                        raise
                    time.sleep(_AGAIN_S)
        except ray.exceptions.RayError as error:
            raise DriverError(
                f"the Ray cluster has no machine in the place of {len(places)} of {self.count}",
                detail=str(error).strip() or f"None joined within {RESERVE_S:.0f} s.",
                hint="Nothing is weighed with fewer: go on with --resume when there are enough.",
            ) from error

    def _try_to_join(
        self, places: Sequence[int], limit: float
    ) -> dict[int, tuple[Any, LoadMachineFacts]]:
        import ray

        actors = {place: _actor(self._group, place) for place in places}
        try:
            requests = [actor.facts.remote() for actor in actors.values()]
            facts = ray.get(requests, timeout=max(0.0, limit - time.monotonic()))
        except ray.exceptions.RayError:
            for actor in actors.values():
                ray.kill(actor, no_restart=True)
            raise
        return dict(zip(actors, zip(actors.values(), facts, strict=True), strict=True))


def _reserve(count: int) -> Any:
    """A place on each of so many machines, made at once or not at all."""
    import ray

    group = ray.util.placement_group([{HOST: 1}] * count, strategy="STRICT_SPREAD")
    if group.wait(timeout_seconds=RESERVE_S):
        return group
    ray.util.remove_placement_group(group)
    offered = sum(HOST in node["Resources"] for node in ray.nodes() if node["Alive"])
    raise DriverError(
        f"the Ray cluster has no {count} free machines",
        detail=f"{offered} offer {HOST}; another load may hold some of them.",
        hint=f"Start Ray on load machines with {OFFER}.",
    )


def _actor(group: Any, place: int) -> Any:
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    there = PlacementGroupSchedulingStrategy(
        placement_group=group, placement_group_bundle_index=place
    )
    # A driver may be ended while it drives, and a share is copied over each session.
    options = {**ONCE, "max_concurrency": 2 + SESSIONS, "scheduling_strategy": there}
    return ray.remote(HostActor).options(**options).remote()
