"""Makes engines of the builds of PostgreSQL that a study names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.postgres.builds.find import select_builds
from steelyard.engines.postgres.postgres import Postgres


def find_postgres(
    version: str,
    bindir: str | Path | None = None,
    account: str | None = None,
    *,
    contrib: bool = False,
) -> Postgres:
    """The build of a version, ready to be used by the account; with `contrib`, its modules can be
    created as extensions.

    "18" is the newest 18.x found (the bundle first), "18.4" exactly that. With `bindir` the
    build there is taken whatever its version. EngineError says what is found and what to do, or
    that contrib is neither its own nor in an added npm build of the same version.
    """
    (engine,) = select_engines([BuildRequest(version, bindir)], account, contrib=contrib)
    return engine


def select_engines(
    requests: Sequence[BuildRequest], account: str | None = None, *, contrib: bool = False
) -> list[Postgres]:
    """The engines of several arms, as `select_builds` finds them."""
    return [
        Postgres(usable.build, usable.identity, usable.account)
        for usable in select_builds(requests, account, contrib=contrib)
    ]
