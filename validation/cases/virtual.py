"""Judges virtual weighings by the product's own sets, terms and rule, without a server.

The sets move with the log ratios: those of d + θ are those of d, moved by θ. So the sets of a
weighing are computed once, and every effect and margin is judged on them, moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Stage, Terms
from steelyard.analysis.decision.sets import JudgingSets, judging_sets
from steelyard.evaluation.rule import Decision, VerdictKind, decide
from steelyard.model.estimate import Interval
from steelyard.study.design import first_look
from validation.worlds.world import Floats


@dataclass(frozen=True)
class Question:
    """An effect that is put on the arm, and the margin it is judged by: fractions."""

    effect: float
    margin: float = 0.01

    @property
    def theta(self) -> float:
        """The effect as a log ratio."""
        return float(np.log1p(self.effect))


@dataclass(frozen=True)
class Ending:
    """How a weighing ended."""

    verdict: Decision
    epochs: int
    covered: bool
    """Whether the printed set held the truth."""
    width: float
    """Of the printed set, log scale."""

    @property
    def kind(self) -> VerdictKind:
        """What it said."""
        return self.verdict.kind


@dataclass
class VirtualWeighing:
    """Log ratios of epochs about 0, shape (n,), in order, and whether the arm stood in the first
    slot; n is at least the planned number of epochs."""

    d: Floats
    first: tuple[bool, ...]
    terms: Terms
    _sets: dict[tuple[int, Stage], JudgingSets] = field(default_factory=dict)

    def ending(self, question: Question, first_verdict: bool) -> Ending:
        """How it ends with two looks, the effect added to every epoch."""
        terms = replace(self.terms, margin=question.margin, first_verdict=first_verdict)
        for done in self._looks():
            ending = self._judged(done, question.theta, terms)
            if ending.verdict.ends:
                break
        return ending

    def interrupted(self, question: Question, after: int) -> Ending:
        """How it ends if it is stopped after so many epochs, whatever they show."""
        terms = replace(self.terms, margin=question.margin)
        for done in self._looks():
            if done < after and (ending := self._judged(done, question.theta, terms)).verdict.ends:
                return ending
        return self._judged(after, question.theta, terms, ended=after < terms.epochs)

    def open_ending(self, question: Question, first_verdict: bool) -> Ending:
        """How it ends if it is open-ended and is given up after all its epochs.

        The sets only shrink, so before N, and again past it, once a weighing may end it may end
        ever after: the first epoch at which it may is found by halving. N itself is apart: there
        a verdict ends the weighing however wide its set.
        """
        terms = replace(
            self.terms, margin=question.margin, first_verdict=first_verdict, open_ended=True
        )
        planned_epochs = terms.epochs
        for low, high in (
            (FEWEST_FOR_VERDICT, planned_epochs - 1),
            (planned_epochs, planned_epochs),
            (planned_epochs + 1, len(self.d)),
        ):
            ending = self._first_ending(low, high, question.theta, terms)
            if ending is not None:
                return ending
        return self._judged(len(self.d), question.theta, terms)

    def _first_ending(self, low: int, high: int, theta: float, terms: Terms) -> Ending | None:
        """The first ending among `low` … `high` epochs, where one stays one; None without one."""
        if low > high or not self._judged(high, theta, terms).verdict.ends:
            return None
        while low < high:
            middle = (low + high) // 2
            ends = self._judged(middle, theta, terms).verdict.ends
            low, high = (low, middle) if ends else (middle + 1, high)
        return self._judged(high, theta, terms)

    def _looks(self) -> Iterator[int]:
        if self.terms.look is not None:
            yield self.terms.look
        yield self.terms.epochs

    def _judged(self, done: int, theta: float, terms: Terms, ended: bool = False) -> Ending:
        stage = terms.stage(done, done, ended)
        sets = self._sets_after(done, stage, terms)
        main, equivalence = moved(sets.main, theta), moved(sets.equivalence, theta)
        verdict = decide(stage, main, equivalence, terms)
        return Ending(verdict, done, 0.0 in sets.main, sets.main.width)

    def _sets_after(self, done: int, stage: Stage, terms: Terms) -> JudgingSets:
        key = (done, stage)
        if key not in self._sets:
            some, slots = self.d[:done], np.array(self.first[:done])
            if stage is Stage.LAST and not terms.open_ended:
                # The set at N does not ask for the order of the epochs, and subsets are made once
                # an assignment; so they are handed over by slot.
                order = np.argsort(slots, kind="stable")
                some, slots = some[order], slots[order]
            self._sets[key] = judging_sets(some, terms, stage, tuple(slots.tolist()))
        return self._sets[key]


def moved(interval: Interval, by: float) -> Interval:
    """The interval, moved."""
    return Interval(interval.low + by, interval.high + by)


def planned(epochs: int, s0: float) -> Terms:
    """The terms of a weighing of so many epochs, as a plan lays them down."""
    return Terms(epochs=epochs, look=first_look(epochs), s0=s0)
