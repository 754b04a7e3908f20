"""Gives the tests of the site a history with questions, a step, doubts, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from history.conftest import keep, records
from history.made import change, change_contrast
from report.conftest import THREATS
from steelyard.history.index import History, read_history

__all__ = ["history", "keep", "records", "rich"]
Keep = Callable[..., Path]


@pytest.fixture
def rich(keep: Keep, records: Path) -> Path:
    """Sixteen weighings with a step, one with doubts, equal arms, one without a verdict, one that
    is damaged; every other one of the sixteen has a report."""
    for day in range(1, 17):
        late = day > 9
        directory = keep(
            day,
            effect=0.06 if late else 0.02,
            spread=0.004,
            threats=THREATS if day == 16 else [],
            arm_build={"bindir": f"/builds/{'new' if late else 'old'}/bin"},
        )
        if day % 2 == 0:
            (directory / "report.html").write_text(f"<!doctype html><title>{day}</title>")
    change_contrast(keep(17, study="aa", arms=("a", "b"), effect=0.0), true_percent=0.0)
    keep(18, study="versions", effect=-0.04, verdict=False)
    keep(19, study="versions", effect=-0.04)
    torn = keep(20, study="torn")
    (torn / "plan.json").write_text("{")
    change(keep(21, study="builds", effect=-0.03) / "verdict.json", lambda x: {**x, "seed": 21})
    return records


@pytest.fixture
def history(rich: Path) -> History:
    """What is read of these records."""
    return read_history(rich)
