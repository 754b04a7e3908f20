"""Describes where a build comes from: publisher, age, licence, and when its series ends.

Identifies a build of MySQL or MariaDB: product, version, compiler, debugging.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.binary import search
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

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


# "mysqld  Ver 5.7.29-debug for Linux on x86_64 (MySQL Community Server (GPL))",
# "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
# "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)".
_VERSION = re.compile(r"\bVer (\d+\.\d+\.\d+)(\S*) for \S+ on ")
_RELEASE = re.compile(r"-\d+(?:\.\d+)*(?=-debug$|$)")
_OF_PERCONA = re.compile(r"percona|\(source distribution\)", re.IGNORECASE)
"""What stands behind Percona's version: of a package its name, of a build of one's own not even
that; behind one of Debian's, which may go on so too, the system's."""

# What compilers leave in the section .comment; Debian and Oracle strip it from their packages.
_COMPILERS = (
    re.compile(rb"GCC: \([^)\0\n]{1,100}\) [0-9][^\0\n]{0,100}"),
    re.compile(rb"clang version [0-9][^\0\n]{0,150}"),
)


def version_number(version: str) -> int:
    """ "5.7.29" → 50729, "10.11.19" → 101119: as both products number their versions; Percona's
    release, 8.0.36-28, is no part of it.

    Source: MYSQL_VERSION_ID of cmake/mysql_version.cmake in both.
    """
    major, minor, patch = (int(n) for n in version.partition("-")[0].split("."))
    return major * 10000 + minor * 100 + patch


def identify(build: Build, account: Account) -> Identity:
    """Which build it is. EngineError where its server is missing or cannot be run."""
    build.require_programs()
    status = build.server.stat()
    return _identify(build, account, (status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=64)
def _identify(build: Build, account: Account, mark: tuple[int, int]) -> Identity:
    """`mark` distinguishes a build from one that was later made in its place."""
    command = [str(build.server), "--no-defaults", "--version"]
    status, output = run(account, command, environment=build.environment)
    answer = _VERSION.search(output)
    if status != 0 or answer is None:
        raise EngineError(
            f'could not identify server "{build.server}" as account "{account.name}"',
            detail=output.strip()[-1000:] or f"It wrote nothing and ended with status {status}.",
        )
    version, suffix = answer.groups()
    release = _RELEASE.match(suffix) if _OF_PERCONA.search(output, answer.end()) else None
    return Identity(
        kind=MARIADB if "mariadb" in suffix.lower() else MYSQL,
        version=version if release is None else f"{version}{release[0]}",
        version_number=version_number(version),
        builder=_builder(build),
        configure="",
        cflags="",
        origin=build.origin,
        bindir=str(build.server.parent),
        assertions="-debug" in suffix,
        package=build.package,
    )


def _builder(build: Build) -> str:
    """The compiler's own words; "" where they were stripped."""
    matches = (search(build.server, each) for each in _COMPILERS)
    return next((match[0].decode(errors="replace") for match in matches if match), "")
