"""Finds where in a row of places (versions, commits, values of a key) an answer changed.

The first place is weighed against the last. Where they differ, the place in the middle is weighed
beside both, and what an epoch reads is D = log(middle) − ½·(log(first) + log(last)): its sign says
which end the middle is nearer to, whatever the machine did meanwhile. Each judgement is the exact
sign-flip test of its epochs at the end of its plan, with an equal share of 5 %: so where one place
changed the answer and the others did not, the one that is named is wrong at most once in twenty. A
middle that differs significantly from neither end (too little was measured, or the answer changed
in two places) is weighed once more, twice as long; then the search ends with the places that it was
narrowed to.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from steelyard.analysis.decision.sets import centre
from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.evaluation.judge_epochs import (
    ends_of_set,
    is_equal_within,
    unrecorded_log_ratio,
)
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.model.estimate import UNBOUNDED
from steelyard.model.latency_goal import higher_is_better, metric_words
from steelyard.model.units import format_reading, percent_of_log
from steelyard.record.contrast import ContrastLine, Percent
from steelyard.record.frozen import Frozen
from steelyard.record.verdict import Verdict
from steelyard.study.arm import Arm

ALPHA = 0.05
TRIES = 2
"""How often a middle is weighed at most; the second time for twice as long."""
FEWEST_EPOCHS = 12
MOST = 10_000
BISECT_FILE, BISECTED_FILE, STEPS = "bisect.json", "bisected.json", "steps"
Side = Literal["first", "last", "neither"]
Outcome = Literal["found", "narrowed", "no difference", "not told apart"]
Weigh = Callable[[int | None, int], "Verdict | str"]
"""A middle (None: the ends alone) and the number of the try → its verdict, or why there is none."""
Say = Callable[[str], None]
RecordOf = Callable[[int | None, int], str]
"""The same → the folder of that weighing."""
Readings = Mapping[int, float]
"""Epoch → log ratio against the first place; infinite where one of the two did no work."""


@dataclass(frozen=True)
class Sided:
    """What a weighing of the search read; of the ends alone `middle` is the last place too."""

    middle: Readings
    last: Readings
    margin_percent: float


Read = Callable[[int | None, int], Sided | str]
"""As Weigh, of what is looked at."""


class BisectPlan(Frozen):
    """What is searched, fixed before anything is weighed."""

    format: int = 1
    study: str
    changes: tuple[str, ...] = ()
    key: str
    """Of an arm: `"version"`, `"bindir"`, `"settings.jit"`."""
    places: tuple[str, ...]
    """From the one before the change to the one after it."""
    build: str = ""
    """A shell's command that makes a build of a commit; the places then are commits."""
    seed: int
    command: str = ""


class BisectStep(Frozen):
    """A weighing of the search."""

    place: str | None
    """The middle; None: the ends."""
    record: str
    side: Side | None = None
    """The end that it is nearer to; of the last place: "first" where both ends are the same within
    the margin, "last" where they differ. None: it could not be weighed."""
    estimate_percent: Percent = None
    """Of it, or of the last place, against the first."""
    low_percent: Percent = None
    """With `high_percent` at the share of error that a judgement has."""
    high_percent: Percent = None
    epochs: int = 0
    failed: str = ""


class Bisected(Frozen):
    """What a search found."""

    key: str
    study: str
    places: tuple[str, ...]
    outcome: Outcome
    before: str | None
    """The last place that is as the first one."""
    after: str | None
    """The first place that is as the last one; the neighbour of `before` where it is found."""
    steps: tuple[BisectStep, ...]
    sentence: str
    metric: str = "throughput"
    """What was read of every place."""
    error: float = ALPHA
    """The chance that the answer is wrong, at most, if one place alone changed it."""
    command: str = ""


@dataclass
class Row:
    """The places, and how far the search has narrowed them: the change comes after number `low`
    and not after number `high`."""

    places: Sequence[str]
    low: int = 0
    high: int = field(init=False)
    skipped: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.high = len(self.places) - 1

    def middle(self) -> int | None:
        """The place nearest to the middle that can be weighed; None: there is none between."""
        inside = [n for n in range(self.low + 1, self.high) if n not in self.skipped]
        return min(inside, key=lambda n: (abs(2 * n - self.low - self.high), n), default=None)


def _weighed_alone(study: str, key: str, places: Sequence[str]) -> str:
    """What to type for two values of a key of both arms; a key that an arm does not have is a
    setting."""
    if key.partition(".")[0] not in Arm.model_fields:
        key = f"settings.{key}"
    sides = zip(("control", "arm"), places, strict=False)
    changes = [word for arm, place in sides for word in ("--set", f"{arm}.{key}={place}")]
    return shlex.join(["steelyard", "weigh", study, *changes])


def require_places(places: Sequence[str], key: str, study: str) -> tuple[str, ...]:
    """The places, values of a key of a study's arms. UsageError: fewer than three, too many, or one
    twice."""
    if not 3 <= len(places) <= MOST:
        two = f"Two are weighed by themselves: {_weighed_alone(study, key, places)}"
        raise UsageError(
            f"a search goes over 3 to {MOST} places, not {len(places)}",
            hint=two if len(places) == 2 else None,
        )
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise UsageError(f'the place "{twice}" stands there twice')
    return tuple(places)


def share_of_error(places: int) -> float:
    """What each judgement may err, so that all of a search err by 5 %."""
    return ALPHA / most_judgements(places)


def most_judgements(places: int) -> int:
    """Of the ends and of every middle, each tried as often as it may be."""
    return TRIES * (1 + math.ceil(math.log2(max(2, places - 1))))


def epochs_required(places: int) -> int:
    """So many that every judgement could decide with two epochs to spare."""
    return max(FEWEST_EPOCHS, math.ceil(math.log2(2 / share_of_error(places))) + 2)


def nearer(middle: Readings, last: Readings, alpha: float) -> Side:
    """Which end a place is nearer to. Only one of the two answers is wrong, so each side of the
    interval has all of `alpha`."""
    every = {epoch: _distance(middle, last, epoch) for epoch in sorted({*middle} | {*last})}
    known = {epoch: distance for epoch, distance in every.items() if not math.isnan(distance)}
    apart = np.array(list(known.values()), dtype=float)
    ends = confidence_set(apart, 2 * alpha).interval if known else UNBOUNDED
    direction = _direction([last[epoch] for epoch in known if epoch in last])
    if direction == 0 or ends.low <= 0 <= ends.high:
        return "neither"
    return "last" if (ends.low > 0) is (direction > 0) else "first"


def _distance(middle: Readings, last: Readings, epoch: int) -> float:
    """log(middle) − ½·(log(first) + log(last)) of an epoch; NaN where it is not known.

    An epoch that ended with the loss of one arm has no ratio of the other, which did some work:
    whatever it was, the sum is infinite.
    """
    ours, theirs = (readings.get(epoch, math.nan) for readings in (middle, last))
    if math.isinf(ours):
        return ours  # of the last place as well, half as much
    return -theirs / 2 if math.isinf(theirs) else ours - theirs / 2


def _direction(far: Sequence[float]) -> float:
    """The sign of the last place against the first, over all epochs; 0: none, or epochs in which
    one of them did no work have another than those in which both did."""
    finite = [each for each in far if math.isfinite(each)]
    signs = {math.copysign(1.0, each) for each in far if math.isinf(each)}
    if finite:
        signs.add(float(np.sign(np.mean(finite))))
    return signs.pop() if len(signs) == 1 else 0.0


def bisect(
    plan: BisectPlan, weigh: Weigh, record_of: RecordOf, say: Say, metric: str = "throughput"
) -> Bisected:
    """Search by weighings, which decide by a metric. SteelyardError: the ends could not be
    weighed."""

    def read(middle: int | None, attempt: int) -> Sided | str:
        verdict = weigh(middle, attempt)
        return verdict if isinstance(verdict, str) else sided_of(verdict)

    return search(plan, read, record_of, say, metric)


def sided_of(verdict: Verdict) -> Sided | str:
    """What a weighing read, or why it has no result."""
    invalid = next(
        (contrast for contrast in verdict.contrasts if contrast.verdict == "invalid"), None
    )
    if invalid is not None:
        doubts = ", ".join(dict.fromkeys(threat.name for threat in invalid.threats))
        return f"its weighing is invalid ({doubts})"
    first, last = verdict.contrasts[0], verdict.contrasts[-1]
    return Sided(
        middle=_by_epoch(first),
        last=_by_epoch(last),
        margin_percent=first.details.margin_percent,
    )


def search(
    plan: BisectPlan, read: Read, record_of: RecordOf, say: Say, metric: str = "throughput"
) -> Bisected:
    """Search. SteelyardError: the ends could not be weighed."""
    alpha = share_of_error(len(plan.places))
    row, steps = Row(plan.places), list[BisectStep]()

    def judged(middle: int | None, attempt: int) -> BisectStep:
        sided = read(middle, attempt)
        place = None if middle is None else plan.places[middle]
        step = _step(sided, place, record_of(middle, attempt), alpha)
        steps.append(step)
        say(words(step, plan.places, metric))
        return step

    outcome = _ends(judged)
    while outcome is None:
        middle = row.middle()
        if middle is None:
            outcome = "found" if row.high == row.low + 1 else "narrowed"
            break
        if len(steps) >= most_judgements(len(plan.places)):
            outcome = "narrowed"  # so many were left out that all of the error is spent
            break
        side = _side(judged, middle)
        if side is None:
            row.skipped.add(middle)
        elif side == "first":
            row.low = middle
        elif side == "last":
            row.high = middle
        else:
            outcome = "narrowed"
    there = outcome in ("found", "narrowed")
    return Bisected(
        key=plan.key,
        study=plan.study,
        places=plan.places,
        outcome=outcome,
        before=plan.places[row.low] if there else None,
        after=plan.places[row.high] if there else None,
        steps=tuple(steps),
        sentence=_sentence(plan, row, steps, outcome, metric),
        metric=metric,
        command=plan.command,
    )


def words(step: BisectStep, places: Sequence[str], metric: str) -> str:
    """A step in a line, without a full stop."""
    name = places[-1] if step.place is None else step.place
    if step.failed:
        return f"{name} is left out: {step.failed}"
    sentence = f"{name} against {places[0]}: {_reading(step, metric)}"
    if step.place is None or step.side is None:
        return sentence
    ends = {"first": f"as {places[0]}", "last": f"as {places[-1]}", "neither": "as neither end"}
    return f"{sentence}, {ends[step.side]}"


def _reading(step: BisectStep, metric: str) -> str:
    """`"+4.10 % [+2.20, +6.00] of mean latency, slower"`: the side is said where there is one."""
    low, high = step.low_percent, step.high_percent
    read = format_reading(step.estimate_percent, low, high)
    is_more = low is not None and low > 0
    if not is_more and (high is None or high >= 0):
        return f"{read} of {metric_words(metric)}"
    side = "faster" if is_more is higher_is_better(metric) else "slower"
    return f"{read} of {metric_words(metric)}, {side}"


Judged = Callable[[int | None, int], BisectStep]


def _ends(judged: Judged) -> Outcome | None:
    """None: they differ."""
    for attempt in range(TRIES):
        step = judged(None, attempt)
        if step.failed:
            raise SteelyardError(f"the ends could not be weighed: {step.failed}")
        if step.side == "first":
            return "no difference"
        if step.side == "last":
            return None
    return "not told apart"


def _side(judged: Judged, middle: int) -> Side | None:
    """None: it could not be weighed."""
    for attempt in range(TRIES):
        step = judged(middle, attempt)
        if step.failed:
            return None
        if step.side in ("first", "last"):
            return step.side
    return "neither"


def _step(sided: Sided | str, place: str | None, record: str, alpha: float) -> BisectStep:
    if isinstance(sided, str):
        return BisectStep(place=place, record=record, failed=sided)
    readings = np.array(list(sided.middle.values()), dtype=float)
    ends = confidence_set(readings, alpha).interval if len(readings) else UNBOUNDED
    if place is None:
        within = is_equal_within(ends, sided.margin_percent)
        side: Side = "first" if within else "neither" if ends.low <= 0 <= ends.high else "last"
    else:
        side = nearer(sided.middle, sided.last, alpha)
    low, high = ends_of_set(ends)
    return BisectStep(
        place=place,
        record=record,
        side=side,
        estimate_percent=percent_of_log(centre(readings, ends)) if len(readings) else None,
        low_percent=low,
        high_percent=high,
        epochs=len(readings),
    )


def _by_epoch(line: ContrastLine) -> Readings:
    """Of the epochs that count, as the weighing's own verdict has them: one in which a place did no
    work is no epoch without a reading."""
    ratios = {
        epoch.epoch: unrecorded_log_ratio(line, epoch) if epoch.d is None else epoch.d
        for epoch in line.details.epochs
    }
    return {epoch: ratio for epoch, ratio in ratios.items() if not math.isnan(ratio)}


def _sentence(
    plan: BisectPlan, row: Row, steps: Sequence[BisectStep], outcome: Outcome, metric: str
) -> str:
    places = plan.places
    ends = [step for step in steps if step.place is None][-1]
    apart = f"{places[-1]} against {places[0]}: {_reading(ends, metric)}"
    if outcome == "no difference":
        return f"{apart}, within the margin: there is no change to look for"
    if outcome == "not told apart":
        return f"{apart}: the ends are not told apart, so nothing was searched; weigh them longer"
    before, after = places[row.low], places[row.high]
    how = f"{len(steps)} weighings; wrong at most once in twenty, if one place alone changed it"
    if outcome == "found":
        return f"{apart}; {after} is the first that is so, {before} is not ({how})"
    between = row.high - row.low - 1
    left = f"{between} between {'is' if between == 1 else 'are'} told from neither end or left out"
    return f"{apart}; the change comes after {before} and not after {after}: {left} ({how})"
