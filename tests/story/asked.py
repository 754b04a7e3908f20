"""What the story's tests ask, and who watches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine
from steelyard.record.plan import Plan
from steelyard.record.record import Record
from steelyard.record.verdict import TimeParts, Verdict
from steelyard.study.study import Study

Facts = dict[str, Any]


class Silent:
    """A Progress that shows nothing."""

    def stage(self, text: str) -> None:
        """Shows nothing."""

    def plan(self, plan: Plan) -> None:
        """Shows nothing."""

    def epoch(
        self, n: int, total: int, contrasts: Sequence[ContrastLine], seconds_left: float | None
    ) -> None:
        """Shows nothing."""

    def why(self, times: Sequence[TimeParts]) -> None:
        """Shows nothing."""

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        """Shows nothing."""

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        """Shows nothing."""

    def threat(self, threat: Threat) -> None:
        """Shows nothing."""

    def note(self, text: str) -> None:
        """Shows nothing."""

    def verdict(self, verdict: Verdict) -> None:
        """Shows nothing."""


@dataclass
class Watcher(Silent):
    """Writes down what a weighing says."""

    stages: list[str] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    threats: list[str] = field(default_factory=list)
    recalls: list[list[float | None]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    phases: list[tuple[int, str, str]] = field(default_factory=list)
    seconds_left: list[float | None] = field(default_factory=list)
    """At each phase of a turn."""

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
        self.epochs.append(n)

    def recalled(self, total: int, contrasts: Sequence[ContrastLine]) -> None:
        self.recalls.append(list(contrasts[0].details.d))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def turn(self, epoch: int, arm: str, phase: str, seconds_left: float | None) -> None:
        self.phases.append((epoch, arm, phase))
        self.seconds_left.append(seconds_left)

    def threat(self, threat: Threat) -> None:
        self.threats.append(threat.name)


def study_of(**changes: Any) -> Study:
    """A study of two arms that differ in checksums; keys may be changed."""
    facts: Facts = {
        "name": "scripted",
        "title": "Does the story hold?",
        "question": "Is every stage done in order?",
        "control": {"name": "on", "checksums": True},
        "arms": [{"name": "off", "checksums": False}],
        "workload": {"clients": 4},
        "layout": "slices",
        "budget": {"measuring": "30s"},
    }
    return Study.model_validate({**facts, **changes})


def lines(tmp_path: Path, name: str, record: str = "record") -> list[Facts]:
    """The lines of a file of a record that was made in `tmp_path`."""
    return list(Record(tmp_path / record).lines(name))


def cut_at(epoch: Facts) -> Facts:
    """Where the windows of an epoch begin and end; what is read beside the load is left out."""
    return {
        arm: {key: value for key, value in window.items() if key != "seconds"}
        for arm, window in epoch["windows"].items()
    }


def cycles_study(**changes: Any) -> Study:
    """Eight epochs in cycles, all of them before any verdict."""
    return study_of(
        **{
            "layout": "cycles",
            "budget": {"cycles": "40m", "epochs": 8},
            "decision": {"first_verdict": False},
            **changes,
        }
    )
