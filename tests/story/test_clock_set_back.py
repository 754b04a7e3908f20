"""A wall clock that is set back in the middle changes nothing of a weighing but its dates."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.record import ledger, record
from story.asked import cut_at, lines, study_of
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


@pytest.fixture
def set_back(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Whoever reads the wall clock finds it an hour earlier than whoever read it before."""
    read = [1_800_000_000.0]

    def earlier() -> float:
        read.append(read[-1] - 3600)
        return read[-1]

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(earlier(), tz)

    monkeypatch.setattr(time, "time", earlier)
    monkeypatch.setattr(record, "datetime", Clock)
    monkeypatch.setattr(ledger, "datetime", Clock)
    return read


def timeless(verdict: Facts) -> Facts:
    """All of a verdict but what it took, and where it is."""
    return {key: verdict[key] for key in ("seed", "contrasts", "causes", "placement")}


IN_TURNS = {"layout": "turns", "budget": {"turns": "20m", "epochs": 8}}
IN_CYCLES = {"layout": "cycles", "budget": {"cycles": "40m", "epochs": 8}}


@thinned(
    "changes", [{}, IN_TURNS, IN_CYCLES], 1, ids=["slices", "turns", "cycles"]
)  # fmt: skip
def test_a_weighing_comes_out_the_same(
    tmp_path: Path, weigh_in: Weigh, request: pytest.FixtureRequest, changes: Facts
) -> None:
    def weighed(name: str) -> Facts:
        return weigh_in(
            ScriptedWorld(tmp_path / name / "world", writes=bool(changes)),
            study_of(arms=[{"name": "other", "checksums": True}], **changes),
            record=f"{name}/record",
            ledger=tmp_path / name / "ledger.jsonl",
        )

    steady = weighed("steady")
    read: list[float] = request.getfixturevalue("set_back")
    jumping = weighed("jumping")
    assert timeless(jumping) == timeless(steady)
    assert jumping["seconds"] == steady["seconds"] > 0
    assert len(read) > 1, "the ledger's line is dated"
    every = [lines(tmp_path / name, "telemetry.jsonl") for name in ("steady", "jumping")]
    turns, again = ([x for x in own if x["type"] == "turn"] for own in every)
    assert len(turns) == (2 * 8 if changes is IN_TURNS else 0)
    for one, other in zip(turns, again, strict=True):
        assert one["checkpoints"] == other["checkpoints"]
        assert one["phases_ns"] == other["phases_ns"]
    windows, again = ([cut_at(x) for x in own if x.get("windows")] for own in every)
    assert windows == again
    assert len(windows) == (8 if changes is IN_CYCLES else 0)


def test_a_record_made_after_it_is_another_one_and_the_latest(
    tmp_path: Path, set_back: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = [record.Record.create(None, "aa") for _ in range(3)]
    names = [one.directory.name for one in made]
    assert names == sorted(names, reverse=True)
    for one in made:
        one.write("plan.json", json.dumps({"format": 2}))
        one.point_latest()
        assert one.directory.is_dir()
    assert (tmp_path / "records" / "aa" / "latest").resolve() == made[-1].directory.resolve()
