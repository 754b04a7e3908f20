"""Protocols of servers that clients reach by a network, and of those that are not ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from steelyard.engines.differences import SettingRules
from steelyard.engines.engine import Instance, Settings
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError


@runtime_checkable
class ExternalServer(Protocol):
    """An external server: it is connected to, and neither started nor stopped. Queries are methods:
    `isinstance` reads properties, and would send them."""

    def ping(self) -> None:
        """Do nothing in a session of the arm. ServerError: it takes none, in the server's words."""

    def server(self) -> Sequence[str]:
        """Identifies its server: equal for two addresses of one server."""

    def round_trip_ns(self) -> int:
        """Of the shortest statement, the fastest of a few."""

    @property
    def setting_rules(self) -> SettingRules:
        """Which of its settings may differ between two servers without being declared."""


def answers(reached: ExternalServer) -> bool:
    """Whether a session of the arm can be had now."""
    try:
        reached.ping()
    except EngineError:
        return False
    return True


@runtime_checkable
class Noticed(Protocol):
    """A server with notices that must go with every figure of it."""

    @property
    def notices(self) -> Sequence[str]:
        """Sentences without full stop, or quotations."""


class OwnDatabase(Protocol):
    """A database for the weighing. `check` and `drop` verify it first; EngineError: it is no longer
    the database that was made, and was left as it is."""

    @property
    def name(self) -> str: ...

    def make(self) -> None:
        """Make it, empty and with a marker; EngineError: the server makes none, or was lost, and
        then `drop` finds out whether it is there."""

    def check(self) -> None:
        """Read all of it. ServerError: the check never began; EngineError: it is damaged, or may
        be."""

    def drop(self) -> None:
        """Drop it; nothing where it was never made."""


class DatabaseHost(Instance, Protocol):
    """An arm that works in the database of ours that it is given."""

    def draw_database(self) -> OwnDatabase:
        """A database with a name of its own, which is not made yet; nothing is sent."""

    def work_in(self, database: OwnDatabase) -> None:
        """Its sessions go there from now on."""

    def settle(self) -> None:
        """Set the database as the arm says, and rewrite its pages so that they carry it.
        EngineError: the database is no longer ours; ServerError: the server refused."""


@dataclass(frozen=True)
class PoolerPlan:
    """A pooler that is started in front of a server."""

    name: str = "pgbouncer"  # or "pgpool"
    program: str | None = None  # its path; None: where it is installed
    connections: int = 16  # to the server, that all clients of a database share
    clients: int = 900  # what 1,024 open files have room for


SOCKET, TCP, TLS, POOLED = "socket", "tcp", "tls", "pgbouncer"
"""Every way, as `connect` of an arm names it."""


@runtime_checkable
class Listening(Protocol):
    """An engine whose servers can listen on this machine's loopback."""

    def listening(self, *, encrypted: bool) -> Settings:
        """What is to be set beside an arm's own settings."""


@runtime_checkable
class WaysIn(Protocol):
    """A running server that clients can reach otherwise than by its Unix socket."""

    def way_in(self, way: str, database: str, pooler: PoolerPlan | None = None) -> Endpoint:
        """Where clients connect, through a pooler where one is given; opened on first use, and
        closed when the server stops.
        EngineError: it could not be opened."""
