"""Machines of a Ray cluster, each with one actor: the only module that knows Ray.

Ray carries orders and answers, never transactions. Nothing is done twice behind our back
(`max_restarts=0`, `max_task_retries=0`), and every wait has an end of its own: Ray notices after 15
to 55 seconds that a machine is gone (health_check_* in ray_config_def.h).
"""

from __future__ import annotations

import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.fleet.checking.network import Nic
from steelyard.fleet.crowd.hand import Hand
from steelyard.fleet.crowd.member import Driven, MachineFacts, Opened
from steelyard.model.errors import DriverError, SteelyardError, UsageError

HOST = "steelyard_host"
"""The resource of which a machine that may be used offers 1; so no two loads share one."""
_OFFER = f"--resources='{{\"{HOST}\": 1}}'"
RESERVE_S = 60.0
"""Longest wait for the machines, and for one in the place of a lost one."""
CALL_S = 10.0
OPEN_S = 180.0
"""Longest until every client is connected, or until all have let go."""
ON_THE_WAY_S = 2.0
"""Added to the patience that a machine has with its driver."""


@dataclass(frozen=True)
class _Failure:
    """An error as it crosses: its three parts."""

    primary: str
    detail: str | None
    hint: str | None


class HostActor:
    """What runs on a machine: a Hand whose errors are answers."""

    def __init__(self) -> None:
        self._hand = Hand("this machine")

    def facts(self) -> MachineFacts:
        """Of its machine."""
        return self._hand.facts

    def read_clock(self) -> tuple[int, int]:
        """Two stamps of its clock."""
        return self._hand.read_clock()

    def network(self) -> Mapping[str, Nic]:
        """See Member."""
        return self._hand.network()

    def open(self, plan: DrivePlan) -> Opened | _Failure:
        """See Member."""
        return _told(lambda: self._hand.open(plan))

    def drive(self, request: SliceRequest, patience_s: float | None) -> Driven | _Failure:
        """See Member."""
        return _told(lambda: self._hand.drive(request, patience_s))

    def close(self) -> None:
        """See Member."""
        self._hand.close()

    def driver_pid(self) -> int | None:
        """The process of its driver."""
        return self._hand.driver_pid


def _told(do: Callable[[], Any]) -> Any:
    try:
        return do()
    except SteelyardError as error:
        return _Failure(error.primary, error.detail, error.hint)


class RayMember:
    """One machine of the cluster; implements Member."""

    def __init__(self, actor: Any, name: str, facts: MachineFacts) -> None:
        self.actor = actor
        self.name = name
        self.facts = facts
        self.lost = False

    def read_clock(self) -> tuple[int, int]:
        """Stamped by the actor: its process and the driver's share a clock."""
        stamps: tuple[int, int] = self._call("read_clock", patience_s=CALL_S)
        return stamps

    def network(self) -> Mapping[str, Nic]:
        """Read on the machine."""
        found: Mapping[str, Nic] = self._call("network", patience_s=CALL_S)
        return found

    def open(self, plan: DrivePlan) -> Opened:
        """Send the share of the plan, and wait until its clients are connected."""
        opened: Opened = self._call("open", plan, patience_s=OPEN_S)
        return opened

    def drive(self, request: SliceRequest, patience_s: float | None) -> Driven:
        """Order a slice; a machine that does not answer in time is lost."""
        longest_s = None if patience_s is None else patience_s + ON_THE_WAY_S
        driven: Driven = self._call("drive", request, patience_s, patience_s=longest_s)
        return driven

    def close(self) -> None:
        """End the driver; an actor that does not answer is killed, and its driver ends with it."""
        if self.lost:
            self.kill()
            return
        try:
            self._call("close", patience_s=OPEN_S)
        except DriverError:
            self.kill()

    def kill(self) -> None:
        """End the actor; its driver ends when its input does."""
        import ray

        self.lost = True
        with suppress(ray.exceptions.RayError, ValueError):  # it is gone already
            ray.kill(self.actor, no_restart=True)

    def _call(self, method: str, *arguments: Any, patience_s: float | None) -> Any:
        answer = self._answer(method, arguments, patience_s)
        if isinstance(answer, _Failure):
            raise DriverError(answer.primary, detail=answer.detail, hint=answer.hint)
        return answer

    def _answer(self, method: str, arguments: Sequence[Any], patience_s: float | None) -> Any:
        import ray

        try:
            return ray.get(getattr(self.actor, method).remote(*arguments), timeout=patience_s)
        except ray.exceptions.GetTimeoutError as error:
            self.lost = True
            raise DriverError(
                f"no answer within {patience_s:.0f} s",
                detail="It stands still, or the network between it and this machine is gone.",
            ) from error
        except ray.exceptions.RayError as error:
            self.lost = True
            raise DriverError("its Ray actor is gone", detail=str(error).strip()) from error


class RayMachines:
    """Machines of a cluster that offer `steelyard_host`, one actor each; implements Machines."""

    def __init__(self, count: int, address: str | None = None) -> None:
        """Reserve them, all or none. `address` of the cluster; None: the one that runs here.

        UsageError: Ray is not installed. DriverError: no cluster, another version, or too few.
        """
        self.count = count
        self._group: Any = None
        self._members: dict[int, RayMember] = {}
        _connect(address)
        try:
            self._group = _reserve(count)
            self.members()
        except BaseException:
            self.close()
            raise

    def members(self) -> Sequence[RayMember]:
        """All of them; where one was lost, Ray gives its place to another machine, if there is."""
        lost = [number for number, one in self._members.items() if one.lost]
        for number in lost:
            self._members.pop(number).kill()
        missing = [number for number in range(self.count) if number not in self._members]
        if missing:
            joined = self._join(missing)
            hosts = Counter(one.facts.host for one in self._members.values())
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
        ray.shutdown()

    def _unused(self, name: str) -> str:
        taken, free, number = {one.name for one in self._members.values()}, name, 1
        while free in taken:
            number += 1
            free = f"{name}-{number}"
        return free

    def _join(self, places: Sequence[int]) -> dict[int, tuple[Any, MachineFacts]]:
        """An actor for each place of the group. DriverError: one does not come up."""
        import ray

        actors = {place: _actor(self._group, place) for place in places}
        asked = [actor.facts.remote() for actor in actors.values()]
        try:
            found = ray.get(asked, timeout=RESERVE_S)
        except ray.exceptions.RayError as error:
            for actor in actors.values():
                ray.kill(actor, no_restart=True)
            raise DriverError(
                f"the Ray cluster has no machine in the place of {len(places)} of {self.count}",
                detail=str(error).strip() or f"None joined within {RESERVE_S:.0f} s.",
                hint="Nothing is weighed with fewer: go on with --resume when there are enough.",
            ) from error
        return dict(zip(actors, zip(actors.values(), found, strict=True), strict=True))


def _connect(address: str | None) -> None:
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "Ray is not installed", hint="Install it: pip install 'steelyard[fleet]'"
        ) from error
    try:
        with _own_signals():
            ray.init(
                address=address or "auto",
                namespace="steelyard",
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f'at "{address}"' if address else "on this machine"
        raise DriverError(
            f"could not join a Ray cluster {where}",
            detail=str(error).strip(),
            hint="Start one, with the same Ray and Python everywhere: `ray start --head` here, and "
            f"on each load machine `ray start --address=HERE:6379 {_OFFER}`.",
        ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; a weighing that is ended tidies up, so it is given back."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
        hint=f"Start Ray on load machines with {_OFFER}.",
    )


def _actor(group: Any, place: int) -> Any:
    import ray
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    options = {
        "num_cpus": 0,
        "resources": {HOST: 1},
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": 2,  # a driver may be ended while it drives
        "scheduling_strategy": PlacementGroupSchedulingStrategy(
            placement_group=group, placement_group_bundle_index=place
        ),
    }
    return ray.remote(HostActor).options(**options).remote()
