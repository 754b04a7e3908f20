"""Where a transaction's time goes is told by the verdict, in the terminal and on the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.views.verdict_view import render_verdict
from steelyard.engines.capabilities.counters import SampledWait
from steelyard.record.verdict import Verdict
from steelyard.report.page import render_page
from steelyard.report.source import core_counts, read_source
from story.asked import study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


class BusyWorld(ScriptedWorld):
    """A world in which sessions use processors: those of arm "on" twice as much for their work."""

    counts_queue = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.used = Counter[tuple[int, int]]()
        self.distort = self._use
        self.noop.journal.answers.sessions = self._sessions

    def _use(self, answer: Facts) -> None:
        server = self.running_arms[answer["arm"]]
        each_us = 400 if answer["arm"] == "on" else 200
        self.used[id(server), server.starts] += 1000 * each_us * answer["transactions"]

    def _sessions(self, server: NoopInstance) -> tuple[int, int]:
        used = self.used[id(server), server.starts]
        return used, used // 2 + 1 if self.counts_queue else 0


def slower(arm: str, life: int) -> float:
    return 3000.0 if arm == "on" else 4000.0


def test_the_parts_are_in_the_verdict_the_terminal_and_the_page(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    verdict = weigh_in(BusyWorld(tmp_path / "world", speed=slower), study_of())
    [told] = verdict["time"]
    parts = {one["part"]: one for one in told["parts"]}
    assert parts["processor"]["control_us"] == pytest.approx(400, rel=0.02)
    assert parts["processor"]["arm_us"] == pytest.approx(200, rel=0.02)
    for side in ("control_us", "arm_us"):
        assert sum(one[side] for one in parts.values()) == pytest.approx(told[side])
    assert told["cause"]["part"] == "processor"
    text = render_verdict(Verdict.model_validate(verdict), 100)
    assert "why: on a processor, with the queue for it: −" in text
    assert "waiting for a processor" in text
    page = render_page(read_source(tmp_path / "record", core_counts))
    assert "Where a transaction's time goes" in page.replace("&#39;", "'")
    assert "On a processor, with the queue for it" in page


def test_a_kernel_without_the_queue_tells_no_parts_and_says_why(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    world = BusyWorld(tmp_path / "world", speed=slower)
    world.counts_queue = False
    verdict = weigh_in(world, study_of())
    assert "time" not in verdict
    lines = (tmp_path / "record" / "telemetry.jsonl").read_text().splitlines()
    readings = {one["name"]: one for one in json.loads(lines[0])["arms"]["on"]["readings"]}
    assert readings["session_queue_us"]["missing"] == "the server does not tell it"


def test_an_arm_without_telemetry_is_not_looked_at(tmp_path: Path, weigh_in: Weigh) -> None:
    looked = Counter[str]()

    class Seen(ScriptedWorld):
        def __post_init__(self) -> None:
            super().__post_init__()
            self.noop.journal.answers.looks = self._looks

        def _looks(self, server: NoopInstance) -> list[SampledWait]:
            [arm] = [name for name, one in self.running_arms.items() if one is server]
            looked[arm] += 1
            return [SampledWait("CPU:CPU", "processor", 1)]

    opened: list[str] = []
    world = Seen(tmp_path / "world")
    probe = NoopInstance.wait_probe

    def opening(server: NoopInstance, database: str) -> Any:
        opened.extend(name for name, one in world.running_arms.items() if one is server)
        return probe(server, database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoopInstance, "wait_probe", opening)
        weigh_in(world, study_of(arms=[{"name": "off", "checksums": False, "telemetry": False}]))
    assert set(opened) == {"on"}
    assert looked.keys() <= {"on"}
