"""Describes where a build comes from: publisher, age, licence, and when its series ends."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

from steelyard.engines.mysql.builds.build import MARIADB, MYSQL
from steelyard.model.identity import Identity

LICENCE = "GPLv2"
"""Of both products' servers, as their packages say (LICENSE of mysql-community-server, copyright
of mariadb-server-core)."""

PRODUCTS = {MYSQL: "MySQL", MARIADB: "MariaDB"}
"""How the products are written."""

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
    found = re.search(r"^ -- .*>  (.+)$", text, re.MULTILINE)
    try:
        return parsedate_to_datetime(found[1]).date().isoformat() if found else ""
    except ValueError:
        return ""
