"""Deals the clients of a plan over machines, numbered over all of them, anew for every seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from steelyard.driver.plan import DriveArm, DrivePlan, SliceRequest
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Share:
    """Clients `first` to `first + clients - 1` of every arm, of so many in all."""

    first: int
    clients: int
    of: int

    def part(self, whole: int) -> int:
        """Of a number that all clients share; the parts of all shares add up to it."""
        return whole * (self.first + self.clients) // self.of - whole * self.first // self.of


def deal(clients: int, machines: int, seed: int) -> tuple[Share, ...]:
    """The share of each machine: as even as it can be, and which machine gets which, drawn.

    So over epochs no client, and no client more, belongs to one machine. UsageError: fewer clients
    than machines.
    """
    if clients < machines:
        raise UsageError(
            f"cannot deal {clients} clients over {machines} machines",
            hint="Name more clients, --set workload.clients=N, or fewer machines.",
        )
    borders = [clients * number // machines for number in range(machines + 1)]
    shares = [Share(first, after - first, clients) for first, after in pairwise(borders)]
    random.Random(seed).shuffle(shares)
    return tuple(shares)


def shares_of(plan: DrivePlan, machines: int) -> tuple[Share, ...]:
    """The shares of a plan; UsageError: it cannot be dealt."""
    clients = {arm.clients for arm in plan.arms}
    if len(clients) != 1:
        raise UsageError("cannot deal clients over machines: the arms have unlike numbers of them")
    if plan.log is not None:
        raise UsageError("cannot log on several machines: a log is that of one driver")
    return deal(clients.pop(), machines, plan.seed)


def plan_of(plan: DrivePlan, share: Share, threads: int) -> DrivePlan:
    """What one machine gets of a plan: no password, no file and no processor of another machine."""
    arms = tuple(_arm_of(arm, share) for arm in plan.arms)
    return replace(
        plan,
        arms=arms,
        first_client=share.first,
        threads=max(1, min(threads, share.clients)),
        processors=None,
        files=(),
    )


def _arm_of(arm: DriveArm, share: Share) -> DriveArm:
    endpoint = arm.endpoint
    bare = Endpoint(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        database=endpoint.database,
        options=endpoint.options,
        application_name=endpoint.application_name,
        tls=endpoint.tls,
        channel_binding=endpoint.channel_binding,
        require_auth=endpoint.require_auth,
        connect_timeout_ns=endpoint.connect_timeout_ns,
        protocol=endpoint.protocol,
    )
    return replace(arm, endpoint=bare, clients=share.clients)


def request_of(request: SliceRequest, share: Share, begin_ns: int) -> SliceRequest:
    """What one machine gets of a slice that all begin at one moment, in the time of its clock."""
    count, rate = request.count, request.rate
    return replace(
        request,
        count=None if count is None else share.part(count),
        rate=None if rate is None else rate * share.clients / share.of,
        progress_ns=None,
        begin_ns=begin_ns,
    )


def in_order(shares: Sequence[Share]) -> list[int]:
    """The numbers of the machines, in the order of their clients."""
    return sorted(range(len(shares)), key=lambda number: shares[number].first)
