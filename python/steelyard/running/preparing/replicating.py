"""Prepares arms with standbys: what their servers are set and given, and what work they can do."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.capabilities.replication import Replicating, Standbys
from steelyard.engines.engine import Engine, Settings
from steelyard.model.errors import StudyError
from steelyard.study.arm import Arm
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
