"""Finds PostgreSQL's client programs: of a build, of the bundled ones, or of the machine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.builds.accessible_copy import accessible_build
from steelyard.engines.postgres.builds.build import Build, version_number
from steelyard.engines.postgres.builds.find import discovered_builds
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError

_VERSION = re.compile(r"\(PostgreSQL\) ([0-9][0-9a-z.]*)")


def newest_client(name: str, build: Build | None, account: Account) -> tuple[str, dict[str, str]]:
    """The path of the newest program of this name, which the account can execute, and what it needs
    in its environment: a newer client reads what older ones wrote, not the other way round.

    EngineError: there is none.
    """
    builds = [] if build is None else [build]
    for each in discovered_builds():
        bundled = each.origin == "bundle" and (each.bindir / name).is_file()
        builds.append(accessible_build(each, account, open_cache()) if bundled else each)
    on_path = shutil.which(name)
    if on_path is not None:
        builds.append(Build(Path(on_path).parent, "system"))
    versions = [(_version(each, name, account), each) for each in builds]
    if not any(version for version, _ in versions):
        raise _missing(name)
    _, newest = max(versions, key=lambda pair: pair[0])  # of equal ones the build's own
    return newest.program(name), newest.environment


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
