"""Where the clients of an arm connect: to its socket, by TCP, through a pooler, or to a standby."""

from __future__ import annotations

from dataclasses import replace

from steelyard.engines.capabilities.external import SOCKET, PoolerPlan, WaysIn
from steelyard.engines.capabilities.replication import Replicable
from steelyard.engines.engine import Instance
from steelyard.engines.loading import work_database
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.study.arm import Arm
from steelyard.study.reaching.pooler import pooler_of


def endpoint_of(instance: Instance, arm: Arm, clients: int) -> Endpoint:
    """Where an arm's clients connect; a pooler is started there on first use. EngineError: its
    engine is not reached so."""
    way, pooler = arm.connect, pooler_plan(arm, clients)
    if way == SOCKET and pooler is None:
        if isinstance(instance, Replicable):
            return replace(instance.load_address(), database=work_database(instance))
        return replace(instance.address, database=work_database(instance))
    if not isinstance(instance, WaysIn):
        by = way if pooler is None else pooler.name
        raise EngineError(f'clients cannot reach engine "{instance.identity.kind}" by {by}')
    return instance.way_in(way, work_database(instance), pooler)


def pooler_plan(arm: Arm, clients: int) -> PoolerPlan | None:
    """The pooler that an arm's clients come through; None: none."""
    pooler = pooler_of(arm)
    if pooler is None:
        return None
    return PoolerPlan(pooler.name, pooler.program, pooler.connections, clients)
