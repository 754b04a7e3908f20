"""Finds the PostgreSQL builds of this machine: the bundle, and installations of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.engine import Identity
from steelyard.engines.postgres.build import Build, identify
from steelyard.engines.postgres.bundle import bundled_builds
from steelyard.engines.programs import CLEAN_ENVIRONMENT
from steelyard.errors import EngineError

SYSTEM_PLACES = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "usr/local/pgsql/bin")


def discovered_builds() -> list[Build]:
    """Every build that is found without being named, the bundle first, each once."""
    places = [place for pattern in SYSTEM_PLACES for place in sorted(Path("/").glob(pattern))]
    on_path = _bindir_on_path()
    if on_path is not None:
        places.append(on_path)
    builds = {os.path.realpath(b.bindir): b for b in bundled_builds()}
    for place in places:
        if (place / "postgres").is_file() and (place / "initdb").is_file():
            builds.setdefault(os.path.realpath(place), Build(place, "system"))
    return list(builds.values())


def discovered() -> list[tuple[Build, Identity]]:
    """Every discovered build that runs, newest first; of one version the bundle first."""
    found = []
    for build in discovered_builds():
        try:
            found.append((build, identify(build, _ourselves())))
        except EngineError:
            # A build that cannot run here (another architecture, a missing library) is no engine.
            continue
    return sorted(found, key=lambda pair: -pair[1].version_number)


def _ourselves() -> Account:
    """Looking at what root or a package manager installed needs no other account."""
    return Account("", os.geteuid(), os.getegid())


def _bindir_on_path() -> Path | None:
    program = shutil.which("pg_config")
    if program is None:
        return None
    try:
        answer = subprocess.run(
            [program, "--bindir"],
            env=dict(CLEAN_ENVIRONMENT),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(answer.stdout.strip())
