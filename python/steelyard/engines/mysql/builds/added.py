"""Reads the builds of MySQL and MariaDB that were added by name: fetched ones, and directories.

Of a fetched build its files are beside `engine.json`, which also has the SHA-512 of each package.
`adding.py` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import choose_account
from steelyard.engines.builds.added import DESCRIPTION, homes
from steelyard.engines.builds.pinned_packages import PinnedPackage
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.mysql.builds.accessible_copy import accessible_build
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build
from steelyard.engines.mysql.builds.provenance import Provenance, identify, provenance
from steelyard.model.errors import EngineError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.identity import Identity

KINDS = (MYSQL, MARIADB)


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
