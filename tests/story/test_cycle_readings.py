"""What is read of an arm in cycles is of its own window, and not of the slices around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.engine import Instance
from steelyard.model.readings import StatementCount, StatementCounts
from story.asked import cycles_study, lines
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorkload, ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
ORDERS = 0.5
"""Of a transaction."""
INSERT = "INSERT INTO t VALUES ($1)"


class WorkingWorld(ScriptedWorld):
    """Servers that count what their sessions use and what work they did, in every slice: of arm
    "on" 400 µs of a processor for a transaction, of "off" half of it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.used: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.distort = self._work
        self.noop.journal.answers.sessions = self._sessions
        self.noop.journal.answers.statements = self._statements

    def _work(self, answer: Facts) -> None:
        server, done = id(self.running_arms[answer["arm"]]), answer["transactions"]
        self.used[server] += done * (400_000 if answer["arm"] == "on" else 200_000)
        self.done[server] += done

    def _sessions(self, server: NoopInstance) -> tuple[int, int]:
        return self.used[id(server)], self.used[id(server)] // 2 + 1

    def _statements(self, server: NoopInstance) -> StatementCounts:
        done = self.done[id(server)]
        return StatementCounts({INSERT: StatementCount(INSERT, done, 100 * done, 0, 0)})

    def orders(self, instance: Instance) -> dict[str, float]:
        return {"orders": ORDERS * self.done[id(instance)]}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkingWorld:
    """One arm goes on after its window, until the other, which makes no checkpoints, is through."""
    world = WorkingWorld(
        tmp_path / "world", lambda arm, _: 3000.0 if arm == "on" else 4000.0, 0.01, writes=True
    )
    answers = world.noop.journal.answers
    every = answers.checkpoints
    answers.checkpoints = lambda one, *when: (
        () if one.settings()["data_checksums"] == "off" else every(one, *when)
    )
    monkeypatch.setattr(ScriptedWorkload, "work_counts", lambda _, one: world.orders(one))
    return world


def test_times_work_and_statements_are_those_of_the_window(
    world: WorkingWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(world, cycles_study(statement_counters=True))
    slices = [line for line in lines(tmp_path, "slices.jsonl") if line["epoch"] >= 0]
    assert {line["kind"] for line in slices} == {"warmup", "measured", "beyond"}
    for epoch in [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]:
        for arm, each in epoch["arms"].items():
            measured = [
                line for line in slices
                if (line["epoch"], line["arm"], line["kind"]) == (epoch["epoch"], arm, "measured")
            ]  # fmt: skip
            done = sum(line["transactions"] for line in measured)
            minutes = sum(line["end_ns"] - line["start_ns"] for line in measured) / 60e9
            read = {one["name"]: one.get("value") for one in each["readings"]}
            assert each["transactions"] == done
            assert read["session_cpu_us"] == done * (400 if arm == "on" else 200)
            assert each["work_per_minute"]["orders"] == pytest.approx(ORDERS * done / minutes)
            assert each["statements"]["counts"][0]["executions"] == done
    [told] = verdict["time"]
    parts = {one["part"]: (one["control_us"], one["arm_us"]) for one in told["parts"]}
    assert parts["processor"] == pytest.approx((400, 200))
    assert all(us >= 0 for both in parts.values() for us in both)
    [orders] = [row for row in verdict["work"] if row["metric"] == "orders_per_minute"]
    assert orders["control_value"] == pytest.approx(ORDERS * 3000 * 60, rel=0.02)
