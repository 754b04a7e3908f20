"""Finds what checksums cost in the user's own last weighing, to stand beside what they catch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.errors import StudyError
from steelyard.study.read import read_study


@dataclass(frozen=True)
class Cost:
    """Throughput with checksums against without, from one record."""

    record: str
    percent: float  # change of throughput by turning checksums on
    low_percent: float
    high_percent: float
    workload: str
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """As the reports of drill and checksums give it."""
        return {
            "record": self.record,
            "percent": self.percent,
            "low_percent": self.low_percent,
            "high_percent": self.high_percent,
            "workload": self.workload,
            "verdict": self.verdict,
        }


def last_cost(records: Path = Path("records")) -> Cost | None:
    """Of the newest weighing below `records` with and without checksums; None: there is none.

    Studies of checksums come before those that compare them beside something else.
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
    """The contrast on throughput of two arms that differ in checksums and in nothing else."""
    try:
        facts = json.loads(verdict.read_text(encoding="utf-8"))
        study = read_study(str(verdict.parent / "study.toml"))
        arms = {arm.name: arm for arm in study.every_arm}
        for contrast in facts["contrasts"]:
            numbers = [contrast[f"{n}_percent"] for n in ("estimate", "low", "high")]
            arm, control = arms[contrast["arm"]], arms[contrast["control"]]
            if contrast["metric"] != "throughput" or contrast["verdict"] == "invalid":
                continue
            turned = control.model_copy(
                update={"name": arm.name, "checksums": not control.checksums}
            )
            if turned != arm or None in numbers:
                continue
            if not arm.checksums:
                # off against on: what turning them on does is the inverse.
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
        return None  # a record that is damaged, or of another layout, says nothing
    return None


def _inverse(percent: float) -> float:
    return (1 / (1 + percent / 100) - 1) * 100


def cost_words(cost: Cost | None) -> str:
    """ "3.1 % of throughput [2.2, 4.0]", or that nobody weighed it."""
    if cost is None:
        return "a cost that was not weighed here yet (`steelyard weigh checksums`)"
    low, high = sorted((-cost.low_percent, -cost.high_percent))
    return f"{-cost.percent:.2f} % of throughput [{low:.2f}, {high:.2f}] ({cost.workload})"
