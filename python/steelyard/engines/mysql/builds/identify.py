"""Identifies a build of MySQL or MariaDB: product, version, compiler, debugging."""

from __future__ import annotations

import re
from functools import lru_cache

from steelyard.engines.account import Account
from steelyard.engines.builds.binary import search
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, Build
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

# "mysqld  Ver 5.7.29-debug for Linux on x86_64 (MySQL Community Server (GPL))",
# "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)".
_VERSION = re.compile(r"\bVer (\d+\.\d+\.\d+)(\S*) for \S+ on ")

# What compilers leave in the section .comment; Debian and Oracle strip it from their packages.
_COMPILERS = (
    re.compile(rb"GCC: \([^)\0\n]{1,100}\) [0-9][^\0\n]{0,100}"),
    re.compile(rb"clang version [0-9][^\0\n]{0,150}"),
)


def version_number(version: str) -> int:
    """ "5.7.29" → 50729, "10.11.19" → 101119: as both products number their versions.

    Source: MYSQL_VERSION_ID of cmake/mysql_version.cmake in both.
    """
    major, minor, patch = (int(n) for n in version.split("."))
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
    status, words = run(account, command, environment=build.environment)
    answer = _VERSION.search(words)
    if status != 0 or answer is None:
        raise EngineError(
            f'could not identify server "{build.server}" as account "{account.name}"',
            detail=words.strip()[-1000:] or f"It wrote nothing and ended with status {status}.",
        )
    version, suffix = answer.groups()
    return Identity(
        kind=MARIADB if "mariadb" in suffix.lower() else MYSQL,
        version=version,
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
    found = (search(build.server, each) for each in _COMPILERS)
    return next((match[0].decode(errors="replace") for match in found if match), "")
