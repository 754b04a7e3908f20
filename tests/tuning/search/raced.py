"""A world in which settings have known effects, and a weighing that reads them with noise."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from record.made import DETAILS, line_of, verdict_of
from steelyard.model.errors import ServerError
from steelyard.model.setting_value import GB, number_in
from steelyard.record.contrast import ContrastLine, EpochDetail
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.tuning.search.race import Field, search
from steelyard.tuning.search.space import ranges
from steelyard.tuning.search.trial import BestCandidate
from tuning.profile.accepting import ALLOWED, basis

Effect = Callable[[Mapping[str, str]], float]
Crashes = Callable[[str, str, int], bool]
BASIS = basis(16 * GB, 8)
STUDY = read_study("settings", ["workload.clients=8"])
FIELD = Field(STUDY, ranges(BASIS, ALLOWED), BASIS, ALLOWED, {"work_mem": "64MB"})


def no_effect(settings: Mapping[str, str]) -> float:
    return 0.0


def work_mem_helps(settings: Mapping[str, str]) -> float:
    """Log of throughput: best with 256 MB, a tenth less with every factor of four from there."""
    size = number_in(settings.get("work_mem", "4MB"), "MB") or 4
    return 0.3 - 0.1 * abs(math.log(size / 256, 4))


@dataclass
class Balance:
    """Weighs by an effect; every epoch has luck of its own, which a weighing of the same record has
    again."""

    effect: Effect = no_effect
    sd: float = 0.01
    fails: Callable[[Mapping[str, str]], bool] = lambda settings: False
    """Whether a server with these settings does not start."""
    crashes: Crashes = lambda place, arm, epoch: False
    """Whether an arm crashes in an epoch of a record; the other arms have no ratio of it then."""
    named: Mapping[str, float] = field(default_factory=dict)
    """Arm → its effect whatever its settings are."""
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
        outcomes = [self._outcome(study, place.name, n) for n in range(study.budget.epochs or 12)]
        lines = [self._line(study.control, arm, draw, outcomes) for arm in study.arms]
        self.known[place] = verdict_of(seed=seed, contrasts=tuple(lines))
        return self.known[place]

    def _outcome(self, study: Study, place: str, epoch: int) -> str:
        dead = [arm.name for arm in study.every_arm if self.crashes(place, arm.name, epoch)]
        return f"crashed: {', '.join(dead)}" if dead else "complete"

    def _line(
        self, control: Arm, arm: Arm, draw: random.Random, outcomes: Sequence[str]
    ) -> ContrastLine:
        own = self.named.get(arm.name, self.effect(arm.settings))
        true = own - self.effect(control.settings)
        ratios = [true + draw.gauss(0, self.sd) for _ in outcomes]
        mean = 100 * math.expm1(sum(ratios) / len(ratios))
        half = 200 * self.sd / math.sqrt(len(ratios))
        return contrast(
            arm.name,
            [r if how == "complete" else None for r, how in zip(ratios, outcomes, strict=True)],
            outcomes,
            control=control.name,
            estimate_percent=mean,
            low_percent=mean - half,
            high_percent=mean + half,
        )


def named(effects: Mapping[str, float]) -> Balance:
    """A balance of arms with known effects, and little luck."""
    return Balance(sd=0.001, named=effects)


def contrast(
    arm: str, d: Sequence[float | None], outcomes: Sequence[str], **more: Any
) -> ContrastLine:
    """A contrast of epochs with these log ratios that ended so; both arms did work in them."""
    control = more.setdefault("control", "control")
    drops = more.pop("drops", {})
    throughput = more.pop("throughput", {arm: 900.0, control: 1000.0})
    epochs = tuple(
        EpochDetail(
            epoch=number, slots={}, order=(), d=ratio, throughput=throughput, typical_d=ratio,
            outcome=outcome,
        )
        for number, (ratio, outcome) in enumerate(zip(d, outcomes, strict=True))
    )  # fmt: skip
    details = {**DETAILS, "d": tuple(d), "epochs": epochs, "drops": drops}
    return line_of(arm=arm, details=details, **more)


def run(balance: Balance, folder: Path, trials: int = 12, seed: int = 3) -> BestCandidate:
    """A search of so many candidates on that balance."""
    return search(FIELD, trials, seed, folder, balance.weigh, lambda words: None)
