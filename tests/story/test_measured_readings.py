"""What is read of an arm over its measured slices is of these alone, in every layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.engine import Instance
from steelyard.model.readings import SESSION_CPU, StatementCount, StatementCounts
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.telemetry.host import HostSample
from story.asked import cycles_study, lines
from story.noop.engine import NoopInstance
from story.scripted import ScriptedHost, ScriptedWorkload, ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
ORDERS = 0.5
"""Of a transaction."""
BUDGETS: dict[str, Facts] = {
    "slices": {"measuring": "30s"},
    "turns": {"turns": "60m", "epochs": 8},
    "cycles": {"cycles": "40m", "epochs": 8},
}
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
    world = WorkingWorld(
        tmp_path / "world", lambda arm, _: 3000.0 if arm == "on" else 4000.0, 0.01, writes=True
    )
    monkeypatch.setattr(ScriptedWorkload, "work_counts", lambda _, one: world.orders(one))
    return world


def of_its_own_age(world: WorkingWorld) -> None:
    """Only "on" makes checkpoints: it goes on after its window, until the other is through."""
    answers = world.noop.journal.answers
    every = answers.checkpoints
    answers.checkpoints = lambda one, *when: (
        () if one.settings()["data_checksums"] == "off" else every(one, *when)
    )


@thinned("layout", ["slices", "turns", "cycles"], 1)
def test_what_is_read_of_the_measured_slices_is_of_no_others(
    world: WorkingWorld, weigh_in: Weigh, tmp_path: Path, layout: str
) -> None:
    """Slices come before them in every layout, and after them in cycles."""
    if layout == "cycles":
        of_its_own_age(world)
    study = cycles_study(layout=layout, budget=BUDGETS[layout], statement_counters=True)
    verdict = weigh_in(world, study)
    every = [line for line in lines(tmp_path, "slices.jsonl") if line.get("epoch", -1) >= 0]
    assert ({line["kind"] for line in every} == {"warmup", "measured", "beyond"}) is (
        layout == "cycles"
    )
    recorded = read_recorded(Record(tmp_path / "record"))
    for epoch in (each.totals for each in recorded.epochs):
        for arm, each_us in (("on", 400), ("off", 200)):
            totals = epoch.arms[arm]
            minutes = totals.elapsed_ns / 60e9 + totals.debt_ns / 60e9
            assert epoch.per_transaction(arm, SESSION_CPU) == pytest.approx(each_us)
            orders = epoch.work_per_minute[arm]["orders"]
            assert orders == pytest.approx(ORDERS * totals.transactions / minutes)
            executed = epoch.statements[arm].by_text[INSERT].executions
            assert executed == totals.transactions
    [told] = verdict["time"]
    parts = {one["part"]: (one["control_us"], one["arm_us"]) for one in told["parts"]}
    assert parts["processor"] == pytest.approx((400, 200))
    assert all(us >= 0 for both in parts.values() for us in both)


@thinned("layout", ["slices", "turns", "cycles"], 1)
def test_memory_that_servers_fill_and_give_back_as_they_stop_is_nearly_full(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    sample = ScriptedHost.sample

    def scarce(host: ScriptedHost) -> HostSample:
        stands = any(server.running for server in host.world.running_arms.values())
        return replace(sample(host), memory_available_bytes=(1 if stands else 32) << 28)

    monkeypatch.setattr(ScriptedHost, "sample", scarce)
    world = ScriptedWorld(tmp_path / "world", writes=True)
    verdict = weigh_in(world, cycles_study(layout=layout, budget=BUDGETS[layout]))
    names = {each["name"] for contrast in verdict["contrasts"] for each in contrast["threats"]}
    assert "memory or disk nearly full" in names
