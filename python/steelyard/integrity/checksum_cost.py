"""Finds the throughput cost of checksums in the newest weighing that compares them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import StudyError


@dataclass(frozen=True)
class Cost:
    """The change of throughput by checksums, from one record."""

    record: str
    percent: float  # change of throughput by turning checksums on
    low_percent: float
    high_percent: float
    workload: str
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """As `drill --json` and `checksums --json` give it."""
        return {
            "record": self.record,
            "percent": self.percent,
            "low_percent": self.low_percent,
            "high_percent": self.high_percent,
            "workload": self.workload,
            "verdict": self.verdict,
        }


def last_cost(records: Path = Path("records")) -> Cost | None:
    """The cost in the newest weighing below `records` with and without checksums; None: none.

    Studies whose name begins with "checksums" come first.
    """
    found = [
        path
        for path in records.glob("*/*/verdict.json")
        if not path.parent.is_symlink() and path.parent.name != "latest"
    ]

    def rank(path: Path) -> tuple[bool, str, str]:
        study = path.parent.parent.name
        return study.startswith("checksums"), path.parent.name, str(path)

    for path in sorted(found, key=rank, reverse=True):
        cost = _cost_of(path)
        if cost is not None:
            return cost
    return None


def _cost_of(verdict: Path) -> Cost | None:
    """From the contrast on throughput of two arms that differ in checksums alone."""
    from steelyard.study.read import (
        read_recorded_study,  # brings pydantic, for records that are there
    )

    try:
        facts = json.loads(verdict.read_text(encoding="utf-8"))
        study = read_recorded_study(verdict.parent / "study.toml")
        arms = {arm.name: arm for arm in study.every_arm}
        for contrast in facts["contrasts"]:
            numbers = [contrast[f"{n}_percent"] for n in ("estimate", "low", "high")]
            arm, control = arms[contrast["arm"]], arms[contrast["control"]]
            if contrast["metric"] != "throughput" or contrast["verdict"] == "invalid":
                continue
            other = control.model_copy(
                update={"name": arm.name, "checksums": not control.checksums}
            )
            if other != arm or None in numbers:
                continue
            if not arm.checksums:
                # The contrast is off against on; the change by turning them on is its inverse.
                numbers = [_inverse(n) for n in (numbers[0], numbers[2], numbers[1])]
            return Cost(
                record=str(verdict.parent),
                percent=numbers[0],
                low_percent=numbers[1],
                high_percent=numbers[2],
                workload=f"{study.workload.name} {', '.join(study.workload.scripts)}".strip(),
                verdict=contrast["verdict"],
            )
    except (OSError, ValueError, KeyError, TypeError, StudyError):
        return None  # a damaged record, or one of another format
    return None


def _inverse(percent: float) -> float:
    return (1 / (1 + percent / 100) - 1) * 100


def cost_words(cost: Cost | None) -> str:
    """ "3.1 % of throughput [2.2, 4.0]", or that no weighing measured it."""
    if cost is None:
        return "a cost that was not weighed here yet (`steelyard weigh checksums`)"
    low, high = sorted((-cost.low_percent, -cost.high_percent))
    return f"{-cost.percent:.2f} % of throughput [{low:.2f}, {high:.2f}] ({cost.workload})"
