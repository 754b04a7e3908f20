"""Races candidates of a search in rounds, drops the worse half early, and confirms the winner.

Every candidate is weighed against the control in the same epochs, so that values of different hours
compare. Dropping one claims nothing and needs no error rate (successive halving: Jamieson and
Talwalkar, 2016); what is reported is a fresh weighing of the winner, with a seed of its own, which
the luck of the search cannot favour.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.model.allowed import Allowed
from steelyard.model.errors import SteelyardError
from steelyard.model.units import format_percent, percent_of_log
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.study.study import Study
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.search.sampling import Told, derived_seed, next_point
from steelyard.tuning.search.space import Point, Range, Room, settings_of
from steelyard.tuning.search.trial import Found, Trial

Weigh = Callable[[Study, int, Path], Verdict]
"""Weighs a study with a seed into a record, or resumes or reads the one that is there."""
Say = Callable[[str], None]
FIRST_EPOCHS, MORE_EPOCHS = 2, 4
BATCH = 4
"""Candidates of a round: with the control, five servers share the disk."""
_FULL_EPOCHS = 10
_SHORTEST_NS = 20_000_000_000


@dataclass(frozen=True)
class Field:
    """What is searched: the question, the ranges, and what they are made for."""

    study: Study
    """Its control is what candidates are weighed against; its arms are left out."""
    space: tuple[Range, ...]
    basis: Basis
    allowed: Mapping[str, Allowed]
    first: Mapping[str, str]
    """Settings of the first candidate: a profile, as a start."""

    @property
    def room(self) -> Room:
        """The memory that candidates share with the control's settings."""
        return Room(self.basis, self.allowed, self.study.settings_of(self.study.control))


def search(field: Field, trials: int, seed: int, folder: Path, weigh: Weigh, say: Say) -> Found:
    """The best of `trials` candidates, confirmed. All records stand below `folder`; what is there
    already is not weighed again.

    SteelyardError: the control itself, or the winner, could not be weighed.
    """
    race = _Race(field, seed, folder, weigh, say)
    told: list[Trial] = []
    best: Trial | None = None
    for begin in range(0, trials, BATCH):
        batch = race.candidates(told, range(begin, min(begin + BATCH, trials)))
        done = race.round(begin // BATCH + 1, batch)
        told += done
        best = race.incumbent(best, done)
    if best is None or (best.log_ratio or 0.0) <= 0.0:
        return Found(seed, str(folder), tuple(told), None, None, race.weighings)
    say(f"confirm {best.name} by a fresh weighing")
    study = _against(field.study, field.study.control, [best.as_arm(field.study.control)])
    confirmed = weigh(study, derived_seed(seed, "confirm"), folder / "confirmation")
    return Found(seed, str(folder), tuple(told), best, confirmed, race.weighings + 1)


class _Race:
    """The rounds of one search."""

    def __init__(self, field: Field, seed: int, folder: Path, weigh: Weigh, say: Say) -> None:
        self._field, self._seed, self._folder = field, seed, folder
        self._weigh, self._say = weigh, say
        self.weighings = 0

    def candidates(self, told: Sequence[Trial], numbers: Collection[int]) -> list[Trial]:
        """The candidates of a round; the first of all has the settings of the profile."""
        field, made = self._field, list[Trial]()
        known = [Told(one.point, one.log_ratio) for one in told if one.point]
        for number in numbers:
            if number == 0:
                made.append(Trial(1, {}, field.room.fit(field.first)))
                continue
            pending: list[Point] = [one.point for one in made if one.point]
            point = next_point(field.space, self._seed, number, known, pending)
            settings = settings_of(point, field.space, field.room)
            made.append(Trial(number + 1, point, settings))
        return made

    def round(self, number: int, batch: Sequence[Trial]) -> list[Trial]:
        """All for two epochs, then the better half for four more."""
        tried = self._rung(f"round-{number:02}", batch, FIRST_EPOCHS)
        alive = sorted(
            (one for one in tried if one.log_ratio is not None),
            key=lambda one: -(one.log_ratio or 0.0),
        )
        kept = alive[: max(1, (len(alive) + 1) // 2)]
        again = {o.number: o for o in self._rung(f"round-{number:02}-on", kept, MORE_EPOCHS)}
        done = [
            again.get(one.number)
            or (one if one.log_ratio is None else replace(one, outcome="dropped early"))
            for one in tried
        ]
        for one in done:
            shown = "-" if one.log_ratio is None else format_percent(percent_of_log(one.log_ratio))
            self._say(f"{one.name}: {shown} in {len(one.log_ratios)} epochs, {one.outcome}")
        return done

    def incumbent(self, best: Trial | None, done: Sequence[Trial]) -> Trial | None:
        """The best so far; a challenger takes its place only after a direct race."""
        raced = [one for one in done if one.outcome == "raced"]
        if not raced:
            return best
        challenger = max(raced, key=lambda one: one.log_ratio or 0.0)
        if best is None:
            return challenger
        if (challenger.log_ratio or 0.0) <= (best.log_ratio or 0.0):
            return best
        place = f"duel-{best.number}-{challenger.number}"
        control = best.as_arm(self._field.study.control)
        arm = challenger.as_arm(self._field.study.control)
        verdict = self._measure(place, control, [arm], MORE_EPOCHS)
        won = sum(_ratios(verdict, challenger.name)) > 0
        self._say(f"{challenger.name} against {best.name}: {'won' if won else 'lost'}")
        return challenger if won else best

    def _rung(self, place: str, batch: Sequence[Trial], epochs: int) -> list[Trial]:
        """Each with what these epochs add; where one cannot be weighed, all are weighed alone."""
        if not batch:
            return []
        control = self._field.study.control
        try:
            verdict = self._measure(place, control, [one.as_arm(control) for one in batch], epochs)
        except SteelyardError as failure:
            if len(batch) == 1:
                words = str(failure).splitlines()[0]
                return [replace(batch[0], outcome=f"failed: {words}")]
            alone = [self._rung(f"{place}-{one.number}", [one], epochs) for one in batch]
            return [one for each in alone for one in each]
        return [_with(one, _ratios(verdict, one.name)) for one in batch]

    def _measure(self, place: str, control: Arm, arms: Sequence[Arm], epochs: int) -> Verdict:
        self.weighings += 1
        study = _short(_against(self._field.study, control, arms), epochs)
        self._say(f"{place}: {', '.join(arm.name for arm in arms)}, {epochs} epochs")
        seed = derived_seed(self._seed, place)
        verdict = self._weigh(study, seed, self._folder / place)
        if verdict.interrupted:
            raise KeyboardInterrupt
        return verdict


def _with(trial: Trial, ratios: Sequence[float]) -> Trial:
    if not ratios:
        return replace(trial, outcome="failed: no epoch was complete")
    return replace(trial, log_ratios=(*trial.log_ratios, *ratios), outcome="raced")


def _ratios(verdict: Verdict, arm: str) -> list[float]:
    """Log ratios of an arm's complete epochs, above 0 where the arm is better."""
    for line in verdict.contrasts:
        if line.arm == arm:
            sign = 1.0 if line.higher_is_better else -1.0
            return [sign * one for one in line.details.d if one is not None]
    return []


def _against(study: Study, control: Arm, arms: Sequence[Arm]) -> Study:
    return study.model_copy(update={"control": control, "arms": tuple(arms)})


def _short(study: Study, epochs: int) -> Study:
    """The same question for a few epochs, each as long as in the whole plan."""
    share = epochs / _FULL_EPOCHS * len(study.every_arm) / 2
    budget = study.budget
    shorter = budget.model_copy(
        update={
            "epochs": epochs,
            "measuring": max(_SHORTEST_NS, round(budget.measuring * share)),
            "turns": max(_SHORTEST_NS, round(budget.turns * share)),
        }
    )
    return study.model_copy(update={"budget": shorter})
