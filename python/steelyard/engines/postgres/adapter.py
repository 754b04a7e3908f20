"""Adapts PostgreSQL to engines/adapters.py: finds the builds of arms, and cleans up."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.adapters import Wanted
from steelyard.engines.engine import Instance, Settings
from steelyard.engines.postgres.builds.find import find_alike
from steelyard.engines.postgres.intake.place import look
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.processes.cleanup import remove_servers
from steelyard.engines.postgres.reaching.address import session_address
from steelyard.engines.postgres.reaching.reached import CountingServer, ReachedServer
from steelyard.model.errors import EngineError

__all__ = ["count_alone", "find_arms", "look", "reach", "read_server_settings", "remove_servers"]

OLDEST = 140000
"""The first version with pg_stat_wal."""


def find_arms(wanted: Sequence[Wanted], account: str | None, *, contrib: bool) -> list[Postgres]:
    """The build of each arm, of one builder where possible; EngineError: what there is."""
    found = find_alike(wanted, account, contrib=contrib)
    for identity in (engine.identity for engine in found):
        if identity.version_number < OLDEST:
            raise EngineError(
                f"cannot weigh PostgreSQL {identity.version}: 14 is the oldest that can be",
                detail="Older servers do not tell how much write-ahead log they wrote.",
            )
    return found


def reach(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> ReachedServer:
    """A server that is running, as sessions with settings see it."""
    return ReachedServer(session_address(common, own, settings, database))


def count_alone(instance: Instance) -> Instance:
    """The same, where no other arm is reached at its server."""
    return CountingServer(instance.address) if isinstance(instance, ReachedServer) else instance
