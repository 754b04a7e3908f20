"""Prepares arms with standbys, or whose clients come through a pooler: what their servers are set
and given, the pooler, what work they can do, and where their clients connect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from steelyard.engines.capabilities.external import SOCKET, PoolerPlan, WaysIn
from steelyard.engines.capabilities.life import Replicable, Replicating, Standbys
from steelyard.engines.engine import Engine, Instance, Settings
from steelyard.engines.loading import work_database
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError, StudyError
from steelyard.model.units import whole_number
from steelyard.running.preparing.server_settings import OWN_CONNECTIONS
from steelyard.study.arm import Arm
from steelyard.study.naming import settings_table
from steelyard.study.reaching.pooler import pooler_of
from steelyard.study.reaching.replication import require_replicable
from steelyard.study.study import Study
from steelyard.workloads.reading.scripts import Script


def standbys_of(arm: Arm) -> Standbys | None:
    """What an arm's server has beside it; None: nothing."""
    replication = arm.replication
    if replication is None:
        return None
    return Standbys(
        replication.standbys, replication.round_trip, reads=replication.reads == "standby"
    )


def replication_of(arm: Arm, engine: Engine) -> Settings:
    """What makes an arm's commits wait for its standbys, beneath its own settings. StudyError: its
    engine has none."""
    replication = arm.replication
    if replication is None:
        return {}
    if not isinstance(engine, Replicating):
        raise StudyError(
            f'engine "{engine.identity.kind}" cannot have standbys',
            hint='Leave out "replication".',
        )
    return engine.replication(replication.standbys, replication.quorum)


def require_replication(study: Study) -> None:
    """StudyError where standbys cannot be had by the settings of the data's server, which count
    beneath the study's own."""
    try:
        require_replicable(study)
    except ValueError as reason:
        raise StudyError(
            str(reason),
            detail="So it is with the settings of the data's server, beneath those of the study.",
            hint="Say another value for all arms: --set settings.NAME=VALUE.",
        ) from reason


def require_replicated_work(study: Study, scripts: Sequence[Script]) -> None:
    """StudyError where a script writes and an arm's sessions go to its standby, or its standby
    would replay the log in the slices of other arms."""
    writing = next((script.name for script in scripts if script.writes), None)
    if writing is None:
        return
    for arm in study.every_arm:
        if arm.replication is None:
            continue
        if arm.replication.reads == "standby":
            raise StudyError(
                f'arm "{arm.name}" reads on its standby, and script "{writing}" writes',
                detail="A session goes to one server: a standby executes nothing that writes.",
                hint="Drive scripts that read: --set 'workload.scripts={ \"select-only\" = 1 }'.",
            )
        if study.cost == "foreground":
            raise StudyError(
                f'cost = "foreground" has the standby of arm "{arm.name}" replay its log in the '
                "slices of the others",
                hint='Leave out "cost", or weigh with --set layout=cycles.',
            )


def data_directories(study: Study) -> int:
    """How many there are at once: of every arm, and of its standbys."""
    standbys = (arm.replication.standbys for arm in study.every_arm if arm.replication is not None)
    return len(study.every_arm) + sum(standbys)


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


def require_connections(study: Study, engines: Mapping[str, Engine]) -> None:
    """StudyError where an arm's server would not take all clients, and us beside them."""
    for arm in study.every_arm:
        rules, settings = engines[arm.name].setting_rules, study.settings_of(arm)
        *_, key = (_LIMIT, *(key for key in settings if rules.name_of(key) == _LIMIT))  # the last
        clients = connections_of(study, arm)
        text = settings.get(key, str(rules.usual_connections))
        allowed = whole_number(text) or 0  # what is no number the server refuses itself
        if allowed and clients + OWN_CONNECTIONS > allowed:
            raise StudyError(
                f'{clients} clients are more than arm "{arm.name}" takes: {_LIMIT} is {allowed}',
                detail=f"{OWN_CONNECTIONS} connections are needed beside them.",
                hint=f"--set {settings_table(study, arm, key)}.{key}={clients + OWN_CONNECTIONS}",
            )


_LIMIT = "max_connections"


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
