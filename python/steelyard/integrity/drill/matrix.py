"""Counts how often each check noticed each fault, with exact confidence intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.engines.engine import Settings

CONFIDENCE = 0.95
ARMS = ("off", "on", "ignore")
"""Checksums off; on; on with ignore_checksum_failure."""
QUERY_ERROR, WRONG_ANSWER, UNNOTICED = "query: error", "query: wrong answer", "query: nobody"
HANGS = "query: hangs"
NO_START = "no start"
NEEDS_REPLAY = "scrub: needs replay"
SERVER_LOG = "server log"
ROW_COMPARISON = "a reader who knows every row"
PLANTED = "planted"
"""Not a check: the number of copies in which the fault changed something."""
CellKey = tuple[str, str, str, str]  # fault, place, arm, check


def settings_of(arm: str) -> Settings:
    """The server settings of an arm. Whether checksums are on is set in the data directory."""
    return {"ignore_checksum_failure": "on"} if arm == "ignore" else {}


@dataclass(frozen=True)
class Rate:
    """A check noticed a fault `noticed` of `times` that it was planted."""

    noticed: int
    times: int

    def interval(self) -> tuple[float, float]:
        """Of the share, at 95 %: Clopper & Pearson, Biometrika 26 (1934) 404; (0, 1) of none."""
        from scipy.stats import beta

        tail, missed = (1 - CONFIDENCE) / 2, self.times - self.noticed
        low = float(beta.ppf(tail, self.noticed, missed + 1)) if self.noticed else 0.0
        high = float(beta.ppf(1 - tail, self.noticed + 1, missed)) if missed else 1.0
        return low, high

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.noticed + other.noticed, self.times + other.times)

    def to_json(self) -> dict[str, float]:
        """Counts, share and interval."""
        low, high = self.interval()
        share = self.noticed / self.times if self.times else 0.0
        return {
            "noticed": self.noticed,
            "times": self.times,
            "share": share,
            "low": low,
            "high": high,
        }


def interval(noticed: int, times: int) -> tuple[float, float]:
    """The interval of the share that `noticed` is of `times`."""
    return Rate(noticed, times).interval()


@dataclass
class DetectionMatrix:
    """Rates by fault, place, arm and check; a check that was not available has none."""

    cells: dict[CellKey, Rate] = field(default_factory=lambda: defaultdict(lambda: Rate(0, 0)))

    def add(self, fault: str, place: str, arm: str, check: str, rate: Rate) -> None:
        """Add the counts of one case."""
        self.cells[fault, place, arm, check] = self.cells.get(
            (fault, place, arm, check), Rate(0, 0)
        ) + rate  # fmt: skip

    def rate(self, check: str, *, fault: str = "", place: str = "", arm: str = "") -> Rate:
        """The sum over every fault, place and arm that is not given."""
        total = Rate(0, 0)
        for (of_fault, of_place, of_arm, of_check), rate in self.cells.items():
            filters = ((fault, of_fault), (place, of_place), (arm, of_arm))
            if of_check == check and all(not w or w == f for w, f in filters):
                total += rate
        return total

    def to_json(self) -> list[dict[str, Any]]:
        """One object for each cell."""
        return [
            {"fault": fault, "place": place, "arm": arm, "check": check, **rate.to_json()}
            for (fault, place, arm, check), rate in self.cells.items()
        ]


def partly_planted(cells: Iterable[Mapping[str, Any]], arm: str = "on") -> list[Mapping[str, Any]]:
    """The cells of faults that could not be planted in every copy of an arm."""
    return [
        cell
        for cell in cells
        if cell["check"] == PLANTED and cell["arm"] == arm and cell["noticed"] < cell["times"]
    ]
