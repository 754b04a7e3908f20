"""Prepares arms whose clients come through a pooler: the pooler, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from steelyard.engines.capabilities.external import PoolerPlan
from steelyard.engines.engine import Engine
from steelyard.model.errors import StudyError
from steelyard.running.measuring.ways_in import pooler_plan
from steelyard.study.arm import Arm
from steelyard.study.reaching.pooler import pooler_of
from steelyard.study.study import Study


@runtime_checkable
class Pooling(Protocol):
    """An engine that poolers stand in front of."""

    def require_pooler(self, plan: PoolerPlan, mode: str) -> None:
        """EngineError: it is not there, or cannot pass statements on in that mode."""


def require_poolers(study: Study, engines: Mapping[str, Engine]) -> None:
    """EngineError for the first pooler that is not there, or that cannot do what the study drives;
    StudyError: the engine has none."""
    mode = study.workload.mode or "prepared"
    for arm in study.every_arm:
        plan, engine = pooler_plan(arm, study.workload.clients), engines[arm.name]
        if plan is None:
            continue
        if not isinstance(engine, Pooling):
            raise StudyError(
                f'no pooler is started in front of engine "{engine.identity.kind}"',
                hint='Leave out "pooler".',
            )
        engine.require_pooler(plan, mode)


def connections_of(study: Study, arm: Arm) -> int:
    """How many the load opens to the server of an arm."""
    pooler = pooler_of(arm)
    shared = pooler is not None and pooler.name == "pgbouncer"
    clients = study.workload.clients
    return min(clients, pooler.connections) if shared and pooler is not None else clients
