"""A weighing in turns of a world in memory: an arm that pays after checkpoints, and stalls."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

from steelyard.engines.capabilities.checkpoints import WalCounters
from steelyard.record.verdict import Verdict
from steelyard.running.preparing.recording import Question
from steelyard.weigh import weigh
from story.asked import Silent, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

PAGES, FADES_S = 32_000, 4.0
"""Images a second right after a checkpoint, and how fast they fade."""
STALLED = 0.3
"""Of the throughput, in the 40th slice of every life of "off"."""


class Worn(ScriptedWorld):
    """Right after a checkpoint "off" loses most; once in a turn it stalls for a slice."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.writes, self.noise, self.cycle_ns = True, 0.01, 20_000_000_000
        self.checkpoint_lasts_ns = 18_000_000_000
        self.waiting = lambda: (4 + self.slices % 3) << 20
        self.begun_ns: dict[int, int] = {}
        self.driven: dict[int, int] = {}
        self.speed = self._worn
        answers = dataclasses.replace(self.noop.journal.answers, pulse=self._written)
        self.noop.journal.answers = answers

    def _worn(self, arm: str, life: int) -> float:
        cycle_s, now = self.cycle_ns / 1e9, self.clock.now
        since_s = (now - self.begun_ns.setdefault(life, now)) / 1e9 % cycle_s
        self.driven[life] = self.driven.get(life, 0) + 1
        if arm == "off" and self.driven[life] == 40:
            return 4000 * STALLED
        return 4000 * (1 - (0.3 if arm == "off" else 0.1) * math.exp(-since_s / FADES_S))

    def _written(self, instance: NoopInstance) -> WalCounters:
        began_ns = self.begun_ns.get(self.lives, self.clock.now)
        seconds, cycle_s = (self.clock.now - began_ns) / 1e9, self.cycle_ns / 1e9
        whole, part = divmod(seconds, cycle_s)
        of_cycle, of_part = (FADES_S * (1 - math.exp(-s / FADES_S)) for s in (cycle_s, part))
        images = PAGES * (whole * of_cycle + of_part)
        return WalCounters(
            wal_bytes=3000 * images + 2e6 * seconds, images=images, owed_bytes=1000.0
        )


def weigh_in_turns(directory: Path, **changes: Any) -> tuple[Path, Verdict]:
    """The record and its verdict."""
    study = study_of(
        **{
            "layout": "turns",
            "budget": {"turns": "40m", "epochs": 8},
            "decision": {"first_verdict": False},
            **changes,
        }
    )
    world, record = Worn(directory / "world"), directory / "record"
    question = Question(study=study, seed=1, record=record, command=("steelyard", "weigh", "worn"))
    return record, weigh(question, world.laboratory, Silent())
