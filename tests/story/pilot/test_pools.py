"""Pools that fill are seen in the pilot and read into before the load; epochs may get longer."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.running.measuring import pilot
from story.asked import Watcher, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
BLOCK = 8192
Life = tuple[int, int]
"""A server, and how often it was started."""


class FillingWorld(ScriptedWorld):
    """A world whose transactions read blocks, fewer the longer a server has been under load."""

    def reads(self, arm: str, served: int, warm: bool) -> float:
        """Blocks a transaction of an arm after so many transactions of its server."""
        return 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.served = Counter[Life]()
        self.requested = Counter[Life]()
        self.distort = self._read
        self.noop.journal.answers.requested_bytes = lambda server: self.requested[_life(server)]

    def _read(self, answer: Facts) -> None:
        server = self.running_arms[answer["arm"]]
        life, done = _life(server), answer["transactions"]
        each = self.reads(answer["arm"], self.served[life], server.warm)
        self.served[life] += done
        self.requested[life] += round(BLOCK * done * each)


def _life(server: NoopInstance) -> Life:
    return id(server), server.starts


class LargePool(FillingWorld):
    """The pool of arm "off" fills slowly by load, and is full where it was read into."""

    def reads(self, arm: str, served: int, warm: bool) -> float:
        if arm == "on":
            return 1.4
        return 0.0 if warm else 2 * math.exp(-served / 20_000)


class EndlessPool(FillingWorld):
    """What was read is of no use: only seconds of load make the pools warm."""

    def reads(self, arm: str, served: int, warm: bool) -> float:
        return max(0.0, 2 - served / self.enough)

    enough = 4000
    """Half of the transactions after which nothing is read: 2 s of load in all."""


def _plan(tmp_path: Path) -> Facts:
    plan: Facts = json.loads((tmp_path / "record" / "plan.json").read_text())
    return plan


def _actions(world: ScriptedWorld) -> list[str]:
    return [call.action for call in world.noop.calls]


def test_pools_that_are_warm_are_left_to_the_load(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world)
    plan = _plan(tmp_path)
    assert (plan["warm"], plan["warm_why"], plan["epochs"]) == ("by load", "", 10)
    assert "fill pool" not in _actions(world)


def test_a_pool_that_fills_is_read_into_before_every_load_alike_in_every_arm(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world, watcher = LargePool(tmp_path / "world"), Watcher()
    weigh_in(world, progress=watcher)
    plan = _plan(tmp_path)
    assert plan["warm"] == "by reading"
    assert plan["warm_why"].startswith("blocks read per transaction of off went from 1.")
    assert plan["pilot"]["blocks_read"] == {"on": [1.4, 1.4], "off": [0.0, 0.0]}
    assert plan["pilot"]["pools"]["off"] == plan["pilot"]["pools"]["on"]
    assert (plan["epochs"], plan["epochs_why"]) == (10, "")
    assert "pilot: read the data into the buffer pools" in watcher.stages
    # Both arms, in the second watch of the pilot, its comparison of slices, and ten epochs.
    fills = [call.directory for call in world.noop.calls if call.action == "fill pool"]
    assert len(fills) == 2 * (2 + 10)
    assert Counter(fills) == Counter(dict.fromkeys(set(fills), 12))
    assert len(set(fills)) == 2


def test_the_verdict_is_of_warm_pools(tmp_path: Path, weigh_in: Weigh) -> None:
    world = LargePool(tmp_path / "world")
    world.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0
    [contrast] = weigh_in(world)["contrasts"]
    assert contrast["verdict"] == "faster"
    assert "pool not warm" not in [threat["name"] for threat in contrast["threats"]]


@pytest.mark.long
def test_pools_that_only_load_warms_are_given_fewer_and_longer_epochs(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world = EndlessPool(tmp_path / "world")
    weigh_in(world, study_of(budget={"measuring": "180s"}))
    plan = _plan(tmp_path)
    assert 8 <= plan["epochs"] < 28
    assert plan["epoch_ns"] == 180_000_000_000 // plan["epochs"]
    assert plan["warmup_ns"] <= plan["epoch_ns"] / 2
    assert len(plan["assignment"]) == len(plan["start_orders"]) == plan["epochs"]
    assert plan["epochs_why"].startswith(
        "blocks read and page faults per transaction became level only after"
    )


def test_never_fewer_than_eight(tmp_path: Path, weigh_in: Weigh) -> None:
    world = EndlessPool(tmp_path / "world")
    world.enough = 10**5
    weigh_in(world, study_of(budget={"measuring": "60s"}))
    plan = _plan(tmp_path)
    assert plan["epochs"] == 8
    assert plan["epochs_why"].startswith("blocks read per transaction were not level after")


def test_a_study_that_says_how_many_epochs_has_them(tmp_path: Path, weigh_in: Weigh) -> None:
    world = EndlessPool(tmp_path / "world")
    weigh_in(world, study_of(budget={"measuring": "60s", "epochs": 12}))
    plan = _plan(tmp_path)
    assert (plan["epochs"], plan["epochs_why"]) == (12, "")


def test_a_weighing_that_goes_on_keeps_its_longer_epochs(tmp_path: Path, weigh_in: Weigh) -> None:
    class Interrupting(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            super().epoch(n, total, contrasts, seconds_left)
            if n == 3:
                raise KeyboardInterrupt

    study = study_of(budget={"measuring": "60s"})
    world = EndlessPool(tmp_path / "world")
    world.enough = 10**5
    weigh_in(world, study, progress=Interrupting())
    again = EndlessPool(tmp_path / "again")
    again.enough = 10**5
    verdict = weigh_in(again, resume=tmp_path / "record")
    assert verdict["contrasts"][0]["epochs"] == 8
    assert "fill pool" in _actions(again)


def test_an_engine_that_cannot_read_into_its_pool_is_warmed_by_load(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        """Nothing is one."""

    monkeypatch.setattr(pilot, "Warmable", Other)
    weigh_in(LargePool(tmp_path / "world"))
    plan = _plan(tmp_path)
    assert (plan["warm"], plan["pilot"]["pools"], plan["warm_ns"]) == ("by load", {}, 0)
    assert plan["epochs"] == 8


def test_connections_that_still_map_a_pool_are_given_longer_epochs(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world = LargePool(tmp_path / "world")
    world.noop.journal.answers.mapped_pages = lambda server: round(
        20_000 * (1 - math.exp(-world.served[_life(server)] / 10_000))
    )
    weigh_in(world)
    plan = _plan(tmp_path)
    assert (plan["warm"], plan["epochs"]) == ("by reading", 8)
    assert plan["epochs_why"].startswith("page faults per transaction were not level after")
    first, last = plan["pilot"]["page_faults"]["off"]
    assert first > last > 0
