"""Distinguishes MySQL from MariaDB, and refuses a server that is too old for a load."""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.engines.mysql.builds.build import MARIADB, MYSQL
from steelyard.model.errors import EngineError

OLDEST = {MYSQL: (5, 7), MARIADB: (10, 3)}
"""What is older was never tried; MySQL 5.6 has no `super_read_only`, MariaDB 10.1 no CHECK."""
_NAMES = {MYSQL: "MySQL", MARIADB: "MariaDB"}
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Product:
    """What a server is, by its own `version`."""

    kind: str
    """MYSQL or MARIADB."""
    version: tuple[int, int]
    words: str
    """As the server says it: "5.7.29", "10.11.19-MariaDB-0+deb12u1"."""

    def require_usable(self, host: str) -> None:
        """EngineError where the server is too old to be loaded."""
        oldest = OLDEST[self.kind]
        if self.version < oldest:
            names = " and ".join(f"{_NAMES[kind]} {a}.{b}" for kind, (a, b) in OLDEST.items())
            raise EngineError(
                f'cannot load into the server at "{host}": {_NAMES[self.kind]} {self.words} '
                "is too old",
                detail=f"The oldest that are worked with: {names}.",
            )


def product_of(version: str) -> Product:
    """What a `version` says. MariaDB may put 5.5.5- before its own, for old replicas."""
    mariadb = "mariadb" in version.lower()
    found = _NUMBERS.search(version.removeprefix("5.5.5-") if mariadb else version)
    numbers = (int(found[1]), int(found[2])) if found else (0, 0)
    return Product(MARIADB if mariadb else MYSQL, numbers, version)
