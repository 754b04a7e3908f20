"""Lists the database adapters: one is selected by the engine's name, and all clean up; and does by
protocol what load machines need of servers: passwords, and an end of lost sessions.

The only place outside an adapter that names it. A server notices late that a machine is lost: until
then its sessions keep their locks, which would block the next epoch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from steelyard.engines.account import Account
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Instance, LoadableEngine, Settings
from steelyard.engines.intake import DataPlace, ServerSettings, SettingsPlace
from steelyard.engines.loading import WorkloadDatabase
from steelyard.model.endpoint import MYSQL, POSTGRES, Endpoint
from steelyard.model.errors import ServerError, UsageError
from steelyard.model.secrets.secret import Secret

NAMES = ("postgres", "mysql", "mariadb", "sqlserver")
"""MySQL and MariaDB share an adapter, and may be weighed against each other."""
GROUP = "steelyard.engines"
"""Of entry points: an installed package brings the adapter of an engine of its own by its name."""
GONE_S = 30.0
"""Longest until a server has ended a session after the request to end it."""
_AGAIN_S = 0.1
_LOOPBACK = ("", "localhost", "127.0.0.1", "::1")


class Adapter(Protocol):
    """What a database adapter does before there is an engine, and after its owner has died."""

    def find_arms(
        self, requests: Sequence[BuildRequest], account: str | None, *, contrib: bool
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
        """A running server at the study's address, completed by the arm's own, as sessions with
        settings see it; Reached. UsageError: no address."""

    def count_alone(self, instance: Instance) -> Instance:
        """The same, where no other arm is reached at its server: what it counts is the arm's."""

    def inspect_source(self, path: Path) -> DataPlace:
        """The external data at a path; UsageError: nothing that can be taken in, EngineError: it is
        in use, or not whole."""

    def read_server_settings(self, place: SettingsPlace) -> ServerSettings:
        """The settings of the server that external data belonged to; EngineError: they cannot be
        read."""

    def remove_servers(self, directory: Path, account: Account) -> list[int]:
        """Kill every server whose data directory lies below `directory`, and remove its shared
        memory; the process ids killed."""


def adapter(name: str) -> Adapter:
    """The adapter of an engine's name; UsageError: there is none."""
    # Commands that list need no server: an adapter is imported on first use.
    if name == "postgres":
        from steelyard.engines.postgres import adapter as postgres

        return postgres
    if name in ("mysql", "mariadb"):
        from steelyard.engines.mysql import adapter as mysql

        return mysql
    if name == "sqlserver":
        from steelyard.engines.sqlserver import adapter as sqlserver

        return sqlserver
    external = _external()
    if name in external:
        return _complete(external[name])
    listed = ", ".join((*NAMES, *external))
    raise UsageError(f'unknown kind of engine: "{name}"', hint=f"Known: {listed}.")


def _complete(point: EntryPoint) -> Adapter:
    """The adapter of another package; UsageError: it lacks something, which would be noticed in the
    middle of a weighing."""
    loaded = _loaded(point)
    functions = [function for function in vars(Adapter) if not function.startswith("_")]
    lacking = [function for function in functions if not callable(getattr(loaded, function, None))]
    if lacking:
        raise UsageError(
            f'engine "{point.name}" is not whole: its adapter lacks {", ".join(lacking)}',
            detail=f"The adapter is {point.value}.",
            hint="docs/tutorial/own-engine.md has a whole one.",
        )
    return loaded


def _loaded(point: EntryPoint) -> Adapter:
    try:
        loaded: Adapter = point.load()
    except (ImportError, AttributeError) as reason:
        raise UsageError(
            f'could not load engine "{point.name}": {reason}', detail=f"It is {point.value}."
        ) from reason
    return loaded


def _external() -> dict[str, EntryPoint]:
    """The adapters of other packages, by the engine's name."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in NAMES}


def workload_database(address: Endpoint) -> WorkloadDatabase:
    """Database "steelyard" of a running server, by its protocol."""
    if address.protocol == MYSQL:
        from steelyard.engines.mysql.sql.database import MysqlDatabase

        return MysqlDatabase(address)
    from steelyard.engines.postgres.sql.database import PostgresDatabase

    return PostgresDatabase(address)


def session_tasks(address: Endpoint, sessions: Sequence[int]) -> dict[int, int]:
    """Session as the driver knows it → the process, or the thread, that serves it now; a session
    that has gone is left out. ServerError: the server cannot be queried."""
    if address.protocol == MYSQL:
        from steelyard.engines.mysql.sql.variables import read_threads

        threads = read_threads(address)
        return {session: threads[session] for session in sessions if session in threads}
    return {session: session for session in sessions}


def io_uring_builds() -> dict[str, bool]:
    """Build that has I/O methods (PostgreSQL from 18 on), by name → whether io_uring is one."""
    from steelyard.engines.account import choose_account
    from steelyard.engines.postgres.abilities import io_uring_builds as asked

    return asked(choose_account())


def remove_servers(directory: Path, account: Account) -> None:
    """Kill the servers of every kind below a directory, and remove what they leave."""
    for name in ("postgres", "mysql"):
        adapter(name).remove_servers(directory, account)
    for point in _external().values():
        _loaded(point).remove_servers(directory, account)


def is_local(endpoint: Endpoint) -> bool:
    """Whether it leads to the machine that it is used on: a socket, or loopback."""
    return endpoint.host in _LOOPBACK or endpoint.host.startswith("/")


def own_password(endpoint: Endpoint) -> Secret | None:
    """What this machine itself has for it; None: nothing."""
    if endpoint.protocol != POSTGRES:
        return Secret.of(os.environ.get("MYSQL_PWD"))
    from steelyard.engines.postgres import external_server as postgres

    return postgres.own_password(endpoint)


def crossing(endpoint: Endpoint) -> Endpoint:
    """The same as it may go to another machine: without its password, and its control connections
    under a name by which `end_sessions` knows them."""
    if endpoint.protocol != POSTGRES:
        return replace(endpoint, password=None)
    from steelyard.engines.postgres import external_server as postgres

    return postgres.crossing(endpoint)


def end_sessions(endpoint: Endpoint, sessions: Sequence[int]) -> None:
    """End those of the sessions that are still there, by the server's numbers, and wait until the
    server has none of them.

    ServerError: it could not be asked, or has not ended them in time: what they had begun may still
    be committed, and their locks stand.
    """
    limit = time.monotonic() + GONE_S
    while sessions and _request_end(endpoint, sessions):
        if time.monotonic() > limit:
            raise ServerError(
                f'could not end sessions of a lost machine at "{endpoint.host}"',
                detail=f"The server still has some of them after {GONE_S:.0f} s: what they had "
                "begun may be committed, and their locks stand.",
                hint="Go on when they are gone.",
            )
        time.sleep(_AGAIN_S)


def _request_end(endpoint: Endpoint, sessions: Sequence[int]) -> int:
    """How many were there."""
    if endpoint.protocol != POSTGRES:
        from steelyard.engines.mysql.sql import variables as mysql

        return mysql.end_sessions(endpoint, sessions)
    from steelyard.engines.postgres import external_server as postgres

    return postgres.end_sessions(endpoint, sessions)
