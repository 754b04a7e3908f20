"""Adapts PostgreSQL to engines/adapters.py: finds the builds of arms, and cleans up."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.adapters import Wanted
from steelyard.engines.postgres.builds.find import find_alike
from steelyard.engines.postgres.intake.place import look
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.processes.cleanup import remove_servers
from steelyard.model.errors import EngineError

__all__ = ["find_arms", "look", "remove_servers"]

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
