"""Holds what a drill saw: fault by check, with counts, for every place and arm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.engines.engine import Settings
from steelyard.integrity.drill.rate import Rate

ARMS = ("off", "on", "ignore")
"""Checksums off; on; on with ignore_checksum_failure."""
QUERY_ERROR, WRONG_ANSWER, NOBODY = "query: error", "query: wrong answer", "query: nobody"
HANGS = "query: hangs"
NO_START = "no start"
NEEDS_REPLAY = "scrub: needs replay"
SERVER_LOG = "server log"
READER = "a reader who knows every row"
PLANTED = "planted"
"""No check: in how many of the copies the fault could be planted; in the others it was none."""
CHECKS = (
    QUERY_ERROR,
    WRONG_ANSWER,
    HANGS,
    NOBODY,
    SERVER_LOG,
    "page checksum",
    "header sanity",
    "pg_checksums",
    "pg_basebackup",
    "pg_verifybackup",
    "amcheck",
    "scrub",
    "catalogue",
    READER,
)
Key = tuple[str, str, str, str]  # fault, place, arm, check


def settings_of(arm: str) -> Settings:
    """What a server is started with under an arm; that checksums are on or off is in its files."""
    return {"ignore_checksum_failure": "on"} if arm == "ignore" else {}


@dataclass
class Matrix:
    """Counts by fault, place, arm and check; a check that was not there has no count."""

    cells: dict[Key, Rate] = field(default_factory=lambda: defaultdict(lambda: Rate(0, 0)))

    def add(self, fault: str, place: str, arm: str, check: str, rate: Rate) -> None:
        """Count what one case showed."""
        self.cells[fault, place, arm, check] = self.cells.get(
            (fault, place, arm, check), Rate(0, 0)
        ) + rate  # fmt: skip

    def rate(self, check: str, *, fault: str = "", place: str = "", arm: str = "") -> Rate:
        """The sum over everything that is not named."""
        total = Rate(0, 0)
        for (of_fault, of_place, of_arm, of_check), rate in self.cells.items():
            wanted = ((fault, of_fault), (place, of_place), (arm, of_arm))
            if of_check == check and all(not w or w == f for w, f in wanted):
                total += rate
        return total

    def faults(self) -> list[str]:
        """The faults in the order they were planted."""
        return list(dict.fromkeys(key[0] for key in self.cells))

    def places(self) -> list[str]:
        """The places in the order they were hit."""
        return list(dict.fromkeys(key[1] for key in self.cells))

    def to_json(self) -> list[dict[str, Any]]:
        """One object a cell."""
        return [
            {"fault": fault, "place": place, "arm": arm, "check": check, **rate.to_json()}
            for (fault, place, arm, check), rate in self.cells.items()
        ]


def planted_less(cells: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Where a fault could not be planted in every copy: those rates are of fewer."""
    return [
        cell
        for cell in cells
        if cell["check"] == PLANTED and cell["arm"] == "on" and cell["noticed"] < cell["times"]
    ]
