"""Asks a build of the database what it accepts, on a server that is made for that and removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.engines.adapters import adapter
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.engines.cache import open_cache
from steelyard.engines.capabilities.settings import AllowedSettings
from steelyard.engines.registry import open_run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity
from steelyard.model.setting_value import Allowed


@dataclass(frozen=True)
class Accepting:
    """A build and what it accepts for its settings."""

    identity: Identity
    allowed: Mapping[str, Allowed]


def read_allowed_settings(kind: str, request: BuildRequest, account: str | None) -> Accepting:
    """Make a server of the build, query it, and remove it: 2 to 4 s. EngineError: there is no such
    build, or it cannot report them."""
    (engine,) = adapter(kind).find_arms([request], account, contrib=False)
    if not isinstance(engine, AllowedSettings):
        raise EngineError(f'cannot tune engine "{kind}": it does not tell what it accepts')
    with open_run(open_cache(), engine.account) as run:
        return Accepting(engine.identity, engine.allowed_settings(run.slot(0)))
