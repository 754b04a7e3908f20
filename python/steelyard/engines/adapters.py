"""Lists the database adapters: one is selected by the engine's name, and all clean up.

The only place outside an adapter that names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard.engines.account import Account
from steelyard.engines.engine import Instance, LoadableEngine, Settings
from steelyard.engines.intake import DataPlace
from steelyard.engines.loading import WorkloadDatabase
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.errors import UsageError

NAMES = ("postgres",)


@dataclass(frozen=True)
class Wanted:
    """The build that one arm asks for."""

    version: str  # "18", "17.0", or the name of an engine: "npm-18.4"
    bindir: str | Path | None = None  # the build there, whatever its version


class Adapter(Protocol):
    """What a database adapter does before there is an engine, and after its owner has died."""

    def find_arms(
        self, wanted: Sequence[Wanted], account: str | None, *, contrib: bool
    ) -> Sequence[LoadableEngine]:
        """The engines of several arms, of one builder where possible; EngineError says what is
        found, and which versions cannot be weighed."""

    def reach(
        self,
        common: str | None,
        own: str | None,
        settings: Settings,
        database: str | None,
    ) -> Instance:
        """A server that is running, by the words of the study's address and of the arm's own, as
        sessions with settings see it; Reached. UsageError: no address."""

    def count_alone(self, instance: Instance) -> Instance:
        """The same, where no other arm is reached at its server: what it counts is the arm's."""

    def look(self, place: Path) -> DataPlace:
        """What of somebody's data stands there; UsageError: nothing that can be taken in,
        EngineError: it is in use, or not whole."""

    def remove_servers(self, directory: Path, account: Account) -> list[int]:
        """Kill every server whose data directory lies below `directory`, and remove its shared
        memory; the process ids killed."""


def adapter(name: str) -> Adapter:
    """The adapter of an engine's name; UsageError: there is none."""
    if name != "postgres":
        raise UsageError(f'unknown kind of engine: "{name}"', hint=f"Known: {', '.join(NAMES)}.")
    from steelyard.engines.postgres import adapter as postgres  # commands that list need no server

    return postgres


def workload_database(address: Endpoint) -> WorkloadDatabase:
    """Database "steelyard" of a server that is running, by what it speaks."""
    if address.protocol == MYSQL:
        from steelyard.engines.mysql.sql.database import MysqlDatabase

        return MysqlDatabase(address)
    from steelyard.engines.postgres.sql.database import PostgresDatabase

    return PostgresDatabase(address)


def remove_servers(directory: Path, account: Account) -> None:
    """Kill the servers of every kind below a directory, and remove what they leave."""
    for name in NAMES:
        adapter(name).remove_servers(directory, account)
