"""Finds PostgreSQL's client programs: of a build, of the bundled ones, or of the machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.build import Build, accessible_build, version_number
from steelyard.engines.postgres.builds.find import discovered
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError

_VERSION = re.compile(r"\(PostgreSQL\) ([0-9][0-9a-z.]*)")


def newest_client(name: str, account: Account) -> tuple[str, dict[str, str]]:
    """The first of `clients`."""
    return next(clients(name, None, account))


def clients(
    name: str, build: Build | None, account: Account
) -> Iterator[tuple[str, dict[str, str]]]:
    """The paths of the programs of this name that the account can execute, of builds that were
    added too, and what each needs in its environment. The newest is the first, of equal ones the
    build's own: it reads what older ones wrote, not the other way round; but an older one may have
    been built with more.

    EngineError: there is none.
    """
    known: dict[Build, int] = {}

    def version(build: Build) -> int:
        if build not in known:
            known[build] = _version(build, name, account)
        return known[build]

    on_path = shutil.which(name)
    ours = [] if build is None else [build]
    others = [] if on_path is None else [Build(Path(on_path).parent, "system")]
    candidates = [
        *((version(each), each) for each in ours),
        *((each.identity.version_number, each.build) for each in discovered()),
        *((version(each), each) for each in others),
    ]
    missing = True
    for _, each in sorted(candidates, key=lambda candidate: -candidate[0]):
        usable = _usable(each, name, account)
        if usable is not None and version(usable):
            missing = False
            yield usable.program(name), usable.environment
    if missing:
        raise _missing(name)


def _usable(build: Build, name: str, account: Account) -> Build | None:
    """The build, or its copy that the account can read; None: it is without the program, or out of
    the account's reach."""
    if not (build.bindir / name).is_file():
        return None
    if build.origin == "system":
        return build
    try:
        return accessible_build(build, account, open_cache())
    except EngineError:
        return None


def _version(build: Build, name: str, account: Account) -> int:
    """Its version number; 0: it is not there, or the account cannot execute it."""
    if not (build.bindir / name).is_file():
        return 0
    try:
        status, output = run(
            account, [build.program(name), "--version"], environment=build.environment
        )
    except EngineError:
        return 0
    version = _VERSION.search(output)
    return version_number(version[1]) if status == 0 and version else 0


def _missing(name: str) -> EngineError:
    return EngineError(
        f"there is no {name} on this machine",
        hint="Install PostgreSQL's client programs (Debian: postgresql-client).",
    )
