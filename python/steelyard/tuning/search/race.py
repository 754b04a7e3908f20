"""Races candidates of a search in rounds, drops those clearly worse, and confirms the winner.

Every candidate is weighed against the control in the same epochs, so that values of different hours
compare. Dropping one claims nothing; what is reported is a fresh weighing of the winner, with a
seed of its own, which the luck of the search cannot favour. A candidate that crashes has failed,
whatever it did before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.model.errors import SteelyardError, UsageError, WeighingError
from steelyard.model.setting_value import Allowed
from steelyard.model.units import format_percent
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm
from steelyard.study.study import Study
from steelyard.tuning.profile.basis import Basis
from steelyard.tuning.search.sampling import ReportedTrial, derived_seed, next_point
from steelyard.tuning.search.space import Point, Range, Room, settings_of
from steelyard.tuning.search.trial import BestCandidate, Trial, dropped, outcome_of

Weigh = Callable[[Study, int, Path], Verdict]
"""Weighs a study with a seed into a record, or resumes or reads the one that is there."""
Say = Callable[[str], None]
RACED, UNMEASURED, DROPPED = "raced", "not measured", "dropped: clearly worse than "
STEP_EPOCHS, STEPS = 2, 3
"""Epochs of a weighing within a round, and how many such weighings a round has at most."""
DUEL_EPOCHS = 4
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


def search(
    field: Field, trials: int, seed: int, folder: Path, weigh: Weigh, say: Say
) -> BestCandidate:
    """The best of `trials` candidates, confirmed. All records stand below `folder`; what is there
    already is not weighed again.

    SteelyardError: the control itself, or the winner, could not be weighed; UsageError: the study
    or the memory does not allow the search.
    """
    race = _Race(field, seed, folder, weigh, say)
    history: dict[int, Trial] = {}
    best: Trial | None = None
    for begin in range(0, trials, BATCH):
        batch = race.candidates(list(history.values()), range(begin, min(begin + BATCH, trials)))
        done = race.round(begin // BATCH + 1, batch)
        history |= {trial.number: trial for trial in done}
        duel = race.duel(best, done)
        history |= {trial.number: trial for trial in duel}
        best = _best(duel) or _best([trial for trial in history.values() if trial.outcome == RACED])
    every, metric = tuple(history.values()), field.study.decision.metric
    if best is None or (best.log_ratio or 0.0) <= 0.0:
        return BestCandidate(seed, str(folder), every, None, None, race.weighings, metric)
    confirmed = race.confirm(best)
    return BestCandidate(seed, str(folder), every, best, confirmed, race.weighings, metric)


class _Race:
    """The rounds of one search."""

    def __init__(self, field: Field, seed: int, folder: Path, weigh: Weigh, say: Say) -> None:
        self._field, self._seed, self._folder = field, seed, folder
        self._weigh, self._say = weigh, say
        self.weighings = 0

    def candidates(self, history: Sequence[Trial], numbers: Collection[int]) -> list[Trial]:
        """The candidates of a round; the first of all has the settings of the profile."""
        field, batch = self._field, list[Trial]()
        reported = [ReportedTrial(trial.point, trial.log_ratio) for trial in history if trial.point]
        for number in numbers:
            if number == 0:
                batch.append(Trial(1, {}, field.room.fit(field.first)))
                continue
            pending: list[Point] = [trial.point for trial in batch if trial.point]
            point = next_point(field.space, self._seed, number, reported, pending)
            settings = settings_of(point, field.space, field.room)
            batch.append(Trial(number + 1, point, settings))
        return batch

    def round(self, number: int, batch: Sequence[Trial]) -> list[Trial]:
        """All for two epochs, and again without those that are clearly worse than the best, which
        may be the control: until one is left, or for six epochs."""
        tried = {trial.number: trial for trial in batch}
        contestants = list(batch)
        for step in range(STEPS):
            later = f"-epochs-{step * STEP_EPOCHS + 1}" if step else ""
            raced = self._rung(f"round-{number:02}{later}", contestants, STEP_EPOCHS)
            raced, decided = self._drop(raced)
            tried |= {trial.number: trial for trial in raced}
            contestants = [trial for trial in raced if trial.outcome == RACED]
            if decided:
                break
        for trial in tried.values():
            change = trial.change_percent(self._field.study.decision.metric)
            percent = "-" if change is None else format_percent(change)
            self._say(f"{trial.name}: {percent} in {len(trial.log_ratios)} epochs, {trial.outcome}")
        return list(tried.values())

    def _drop(self, raced: Sequence[Trial]) -> tuple[list[Trial], bool]:
        """The same, with the clearly worse ones dropped; and whether one contestant is left: the
        best, or the control."""
        contestants = {trial.name: trial.ratios for trial in raced if trial.outcome == RACED}
        if not contestants:
            return list(raced), True
        better = dropped(contestants, self._field.study.control.name)
        after = [
            replace(trial, outcome=f"{DROPPED}{better[trial.name]}")
            if trial.name in better
            else trial
            for trial in raced
        ]
        return after, len(better) == len(contestants)

    def duel(self, best: Trial | None, done: Sequence[Trial]) -> list[Trial]:
        """The best so far and the best of a round, after a direct race: both against the control in
        the same epochs, whose figures take the place of those that chose them. The best stays alone
        where no candidate was raced, or none read better than the best did in its last duel."""
        challenger = _best([trial for trial in done if trial.outcome == RACED])
        if best is None:
            return []
        if challenger is None:
            return [best]
        if best.duelled and (challenger.log_ratio or 0.0) <= (best.log_ratio or 0.0):
            return [best]
        fresh = [replace(trial, ratios={}, duelled=True) for trial in (best, challenger)]
        after = self._rung(f"duel-{best.number}-{challenger.number}", fresh, DUEL_EPOCHS)
        won = _best(after) == after[1]
        self._say(f"{challenger.name} against {best.name}: {'won' if won else 'lost'}")
        for trial in after:
            if trial.failed:
                self._say(f"{trial.name}: {trial.outcome}")
        return after

    def confirm(self, best: Trial) -> Verdict:
        """The fresh weighing of the winner, with the whole plan.

        WeighingError: no epoch of it was complete; KeyboardInterrupt: it was interrupted.
        """
        self._say(f"confirm {best.name} by a fresh weighing")
        control = self._field.study.control
        study = _against(self._field.study, control, [best.as_arm(control)])
        verdict = self._weighed(study, "confirmation", derived_seed(self._seed, "confirm"))
        outcome = outcome_of(verdict, best.name)
        if not outcome.ratios:
            raise WeighingError(
                f"could not confirm {best.name}: {outcome.lost or outcome.last}",
                detail=f"Its settings: {', '.join(f'{k}={v}' for k, v in best.settings.items())}.",
            )
        return verdict

    def _rung(self, label: str, batch: Sequence[Trial], epochs: int) -> list[Trial]:
        """Each with what these epochs add. Where all cannot be weighed together, each is weighed
        alone; those that lost every epoch to the crash of another, again without it."""
        if not batch:
            return []
        try:
            verdict = self._measure(label, batch, epochs)
        except UsageError:
            raise
        except SteelyardError as failure:
            return self._apart(label, batch, epochs, failure.primary)
        tried = {trial.number: _with(trial, verdict, label) for trial in batch}
        without = [trial for trial in batch if tried[trial.number].outcome != RACED]
        innocent = [trial for trial in without if not tried[trial.number].failed]
        if len(innocent) < len(without):
            again = self._rung(f"{label}-again", innocent, epochs)
        else:
            again = self._apart(label, innocent, epochs, _last(verdict, innocent))
        tried |= {trial.number: trial for trial in again}
        return [tried[trial.number] for trial in batch]

    def _apart(self, label: str, batch: Sequence[Trial], epochs: int, reason: str) -> list[Trial]:
        """Each alone. A failure is a candidate's own only where the control can be weighed after
        it; what is wrong with the control is raised."""
        if not batch:
            return []
        if len(batch) == 1:
            alone = [batch[0].fail(reason)]
        else:
            alone = [self._alone(f"{label}-{trial.number}", trial, epochs) for trial in batch]
        if alone[-1].failed:
            self._require_control(f"{label}-control")
        return alone

    def _alone(self, label: str, trial: Trial, epochs: int) -> Trial:
        try:
            verdict = self._measure(label, [trial], epochs)
        except UsageError:
            raise
        except SteelyardError as failure:
            return trial.fail(failure.primary)
        tried = _with(trial, verdict, label)
        raced = tried.failed or tried.outcome == RACED
        return tried if raced else trial.fail(outcome_of(verdict, trial.name).last)

    def _require_control(self, label: str) -> None:
        """Weigh the control against itself: whatever makes that fail is no candidate's fault."""
        control = self._field.study.control
        twin = control.model_copy(update={"name": f"{control.name}-again"})
        study = _short(_against(self._field.study, control, [twin]), STEP_EPOCHS)
        self._say(f"{label}: whether the control can be weighed, {STEP_EPOCHS} epochs")
        outcome = outcome_of(self._weighed(study, label), twin.name)
        if not outcome.ratios:
            raise WeighingError(
                f'could not weigh the control "{control.name}": {outcome.lost or outcome.last}',
                hint=f"Its record is {self._folder / label}.",
            )

    def _measure(self, label: str, batch: Sequence[Trial], epochs: int) -> Verdict:
        control = self._field.study.control
        arms = [trial.as_arm(control) for trial in batch]
        study = _short(_against(self._field.study, control, arms), epochs)
        self._say(f"{label}: {', '.join(arm.name for arm in arms)}, {epochs} epochs")
        return self._weighed(study, label)

    def _weighed(self, study: Study, label: str, seed: int | None = None) -> Verdict:
        """The verdict, of a whole weighing: one that was interrupted ends the search here."""
        self.weighings += 1
        weighing_seed = derived_seed(self._seed, label) if seed is None else seed
        verdict = self._weigh(study, weighing_seed, self._folder / label)
        if verdict.interrupted:
            raise KeyboardInterrupt
        return verdict


def _with(trial: Trial, verdict: Verdict, label: str) -> Trial:
    """With the epochs of a verdict; failed where it was lost in any of them."""
    outcome = outcome_of(verdict, trial.name)
    added = {f"{label} {epoch}": ratio for epoch, ratio in outcome.ratios.items()}
    tried = replace(trial, ratios={**trial.ratios, **added})
    if outcome.lost is not None:
        return tried.fail(outcome.lost)
    return replace(tried, outcome=RACED if outcome.ratios else UNMEASURED)


def _last(verdict: Verdict, batch: Sequence[Trial]) -> str:
    return outcome_of(verdict, batch[0].name).last if batch else ""


def _best(trials: Sequence[Trial]) -> Trial | None:
    """The first of those with the best figure; None: none has one."""
    measured = [trial for trial in trials if trial.log_ratio is not None]
    return max(measured, key=lambda trial: trial.log_ratio or 0.0, default=None)


def _against(study: Study, control: Arm, arms: Sequence[Arm]) -> Study:
    return study.model_copy(update={"control": control, "arms": tuple(arms)})


def _short(study: Study, epochs: int) -> Study:
    """The same question for a few epochs, each as long as in the whole plan."""
    share = epochs / _FULL_EPOCHS * len(study.every_arm) / 2
    shorter = study.budget.times(share, _SHORTEST_NS).model_copy(update={"epochs": epochs})
    return study.model_copy(update={"budget": shorter})
