"""Finds PostgreSQL's client programs: of a build, of the bundled ones, or of the machine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from steelyard.engines.postgres.builds.build import Build, bundled_builds
from steelyard.engines.programs import CLEAN_ENVIRONMENT
from steelyard.model.errors import EngineError


def client_program(name: str, build: Build | None = None) -> tuple[str, dict[str, str]]:
    """The path of a program and the environment it is run in: the build's own, else of the newest
    bundled build, else the machine's. EngineError: there is none."""
    newest_first = sorted(bundled_builds(), key=lambda one: one.bindir, reverse=True)
    for one in [*([build] if build else []), *newest_first]:
        if (one.bindir / name).is_file():
            return one.program(name), {**CLEAN_ENVIRONMENT, **one.environment}
    found = shutil.which(name)
    if found is None:
        raise EngineError(
            f"there is no {name} on this machine",
            hint="Install PostgreSQL's client programs (Debian: postgresql-client).",
        )
    return found, dict(CLEAN_ENVIRONMENT)


def run_client(
    command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a client program to its end, without input; its status and its output."""
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
