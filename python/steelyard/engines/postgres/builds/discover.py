"""Finds the PostgreSQL builds of this machine: the bundle, installations, and what was added."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.cache import Cache, cache_root
from steelyard.engines.postgres.builds.added import added_engines
from steelyard.engines.postgres.builds.build import Build, bundled_builds, identify
from steelyard.engines.programs import CLEAN_ENVIRONMENT
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

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


@dataclass(frozen=True)
class Found:
    """A build that runs here, and the name by which a study can ask for it."""

    name: str  # "bundle-18.4", "npm-17.0", or what an added directory was named
    build: Build
    identity: Identity

    def answers(self, wanted: str) -> bool:
        """Whether it is what is wanted: a major version, an exact version, or its name."""
        version = self.identity.version
        return wanted in (version, self.name) or version.startswith(f"{wanted}.")


def discovered() -> list[Found]:
    """Every build that runs, newest first; of one version the bundle first, then the system's,
    then what was added."""
    found = []
    for build in discovered_builds():
        try:
            identity = identify(build, _ourselves())
        except EngineError:
            # A build that cannot run here (another architecture, a missing library) is no engine.
            continue
        found.append(Found(f"{build.origin}-{identity.version}", build, identity))
    # An added build is known by what it said when it was added: root does not execute it here.
    found += [Found(a.name, a.build, a.identity) for a in added_engines(Cache(cache_root()))]
    return sorted(found, key=lambda each: -each.identity.version_number)


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
