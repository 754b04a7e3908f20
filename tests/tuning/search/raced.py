"""A world in which settings have known effects, and a weighing that reads them with noise."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from record.made import DETAILS, line_of, verdict_of
from steelyard.model.errors import ServerError
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.tuning.profile.value import GB, counted
from steelyard.tuning.search.race import Field
from steelyard.tuning.search.space import ranges
from tuning.profile.accepting import ALLOWED, basis

Effect = Callable[[Mapping[str, str]], float]
BASIS = basis(16 * GB, 8)
STUDY = read_study("settings", ["workload.clients=8"])
FIELD = Field(STUDY, ranges(BASIS, ALLOWED), BASIS, ALLOWED, {"work_mem": "64MB"})


def no_effect(settings: Mapping[str, str]) -> float:
    return 0.0


def work_mem_helps(settings: Mapping[str, str]) -> float:
    """Log of throughput: best with 256 MB, a tenth less with every factor of four from there."""
    size = counted(settings.get("work_mem", "4MB"), "MB") or 4
    return 0.3 - 0.1 * abs(math.log(size / 256, 4))


@dataclass
class Balance:
    """Weighs by an effect; every epoch has luck of its own, which a weighing of the same record has
    again."""

    effect: Effect = no_effect
    sd: float = 0.01
    fails: Callable[[Mapping[str, str]], bool] = lambda settings: False
    known: dict[Path, Verdict] = field(default_factory=dict)
    """Record → verdict: what is there already."""
    asked: Counter[str] = field(default_factory=Counter)
    """Record's name → how often it was really weighed."""
    studies: dict[str, Study] = field(default_factory=dict)

    def weigh(self, study: Study, seed: int, place: Path) -> Verdict:
        if place in self.known:
            return self.known[place]
        self.asked[place.name] += 1
        self.studies[place.name] = study
        for arm in study.every_arm:
            if self.fails(arm.settings):
                raise ServerError(f"arm {arm.name} did not start")
        draw = random.Random(seed)
        epochs = study.budget.epochs or 12
        lines = [self._line(study.control, arm, draw, epochs) for arm in study.arms]
        self.known[place] = verdict_of(seed=seed, contrasts=tuple(lines))
        return self.known[place]

    def _line(self, control: Arm, arm: Arm, draw: random.Random, epochs: int) -> object:
        true = self.effect(arm.settings) - self.effect(control.settings)
        ratios = tuple(true + draw.gauss(0, self.sd) for _ in range(epochs))
        mean = 100 * math.expm1(sum(ratios) / epochs)
        details = {**DETAILS, "d": ratios}
        return line_of(arm=arm.name, control=control.name, estimate_percent=mean, details=details)
