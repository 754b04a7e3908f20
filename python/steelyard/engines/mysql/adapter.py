"""Adapts MySQL and MariaDB to engines/adapters.py: finds the builds of arms, and cleans up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Instance, Settings
from steelyard.engines.intake import SettingsPlace
from steelyard.engines.local.processes import adopting_orphans, kill_inside, wait_for_orphans
from steelyard.engines.mysql.builds.find import select_builds
from steelyard.engines.mysql.life.data_directory import product
from steelyard.engines.mysql.life.server import PROGRAMS
from steelyard.engines.mysql.mysql import Mysql
from steelyard.model.errors import EngineError, UsageError

OLDEST = {"mysql": 50700, "mariadb": 100300}
"""The first versions that can be weighed: older ones lack SHOW CREATE USER's accounts, or do not
report the thread of a connection."""


def find_arms(
    requests: Sequence[BuildRequest], account: str | None, *, contrib: bool
) -> list[Mysql]:
    """The build of each arm, of one builder where possible; EngineError: what there is."""
    if contrib:
        raise UsageError("contrib is PostgreSQL's: MySQL and MariaDB have none")
    arms = select_builds(requests, account)
    for identity in (arm.identity for arm in arms):
        oldest = OLDEST[identity.kind]
        if identity.version_number < oldest:
            raise EngineError(
                f"cannot weigh {product(identity)}: {oldest // 10000}.{oldest // 100 % 100} is the "
                "oldest that can be"
            )
    return [Mysql(arm.build, arm.identity, arm.account) for arm in arms]


def reach(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> Instance:
    """Servers of others are driven, and not weighed yet."""
    raise UsageError(
        "cannot weigh a MySQL or MariaDB server at an address",
        detail="Only servers that are made for the weighing can be.",
        hint='Leave out the address, or drive it: steelyard drive "mysql://user@host/database".',
    )


def count_alone(instance: Instance) -> Instance:
    """The same: no server is reached."""
    return instance


def inspect_source(path: Path) -> NoReturn:
    """Data of others are not taken in."""
    raise UsageError(
        f'cannot take in "{path}": of MySQL and MariaDB only workloads that Steelyard loads can '
        "be weighed"
    )


def read_server_settings(place: SettingsPlace) -> NoReturn:
    """Nor are their settings."""
    inspect_source(place.data)


def remove_servers(directory: Path, account: Account) -> list[int]:
    """Kill every server below `directory`; the process ids killed."""
    with adopting_orphans():
        killed = kill_inside(directory, account, PROGRAMS)
        wait_for_orphans(killed)
    return killed
