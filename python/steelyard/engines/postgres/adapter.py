"""Adapts PostgreSQL to engines/adapters.py: finds the builds of arms, and cleans up.

Makes the connection string of an arm's sessions: where they go, and with which settings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.engine import Instance, Settings
from steelyard.engines.postgres.cleanup import remove_servers
from steelyard.engines.postgres.external_server import CountingServer, ExternalPostgres
from steelyard.engines.postgres.intake.place import inspect_source
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.libpq.connection_string import GivenAddress, read_target
from steelyard.engines.postgres.libpq.connection_words import connection_words
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import select_engines
from steelyard.model.errors import EngineError, UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def session_address(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> GivenAddress:
    """Where the sessions of an arm go: the study's words, then the arm's own, then `database`
    where it is not None; `settings` hold from the first statement on.

    UsageError: not a connection string, or a name that no setting has.
    """
    from psycopg.conninfo import make_conninfo

    parameters = {**connection_words(common or ""), **connection_words(own or "")}
    if database is not None:
        parameters["dbname"] = database
    options = [parameters["options"]] if parameters.get("options") else []
    options += [_option(name, value) for name, value in settings.items()]
    if options:
        parameters["options"] = " ".join(options)
    target = read_target(make_conninfo("", **parameters))
    # A server lets what comes by the environment (PGGEQO) count before `options`.
    own_names = {name.lower() for name in settings} - {"client_encoding"}
    sent = tuple(setting for setting in target.settings if setting[0] not in own_names)
    return replace(target, settings=sent)


def _option(name: str, value: str) -> str:
    """As libpq's `options` have it: a space or a backslash is led by a backslash."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f'no setting has the name "{name}"')
    escaped = re.sub(r"([\s\\])", r"\\\1", value)
    return f"-c {name}={escaped}"


__all__ = [
    "count_alone",
    "find_arms",
    "inspect_source",
    "reach",
    "read_server_settings",
    "remove_servers",
]

OLDEST = 140000
"""The first version with pg_stat_wal."""


def find_arms(
    requests: Sequence[BuildRequest], account: str | None, *, contrib: bool
) -> list[Postgres]:
    """The build of each arm, of one builder where possible; EngineError: what there is."""
    engines = select_engines(requests, account, contrib=contrib)
    for identity in (engine.identity for engine in engines):
        if identity.version_number < OLDEST:
            raise EngineError(
                f"cannot weigh PostgreSQL {identity.version}: 14 is the oldest that can be",
                detail="Older servers do not tell how much write-ahead log they wrote.",
            )
    return engines


def reach(
    common: str | None, own: str | None, settings: Settings, database: str | None
) -> ExternalPostgres:
    """A server that is running, as sessions with settings see it."""
    return ExternalPostgres(session_address(common, own, settings, database))


def count_alone(instance: Instance) -> Instance:
    """The same, where no other arm is reached at its server."""
    return CountingServer(instance.address) if isinstance(instance, ExternalPostgres) else instance
