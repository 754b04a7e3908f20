"""Computes the confidence sets by which a weighing is judged at each stage of its plan.

At the first look: plain sign flips at .01. At N: at .04, balanced where the plan's slots were, with
as many epochs either way. Interrupted: plain, at .04. Open-ended: the e-process at .01 after every
epoch, and from N on also the sign-flip set at .04 of the first N epochs; a θ outside either is out.
Below 8 epochs the t interval is shown, without a verdict.

Equivalence is two one-sided tests against ±δ (Schuirmann, J. Pharmacokinetics and Biopharmaceutics
15 (1987) 657), each of level (.01, .04) at the two looks: the set with k = ⌊α·G⌋ (92 % two-sided at
the last look) must lie inside the margin. The joint error with slower/faster stays ≤ 5 %: at θ = 0
only "different" can be false, at |θ| ≥ δ only "equivalent" or a wrong sign, and these are nested.
The two-sided 97 % set would be stricter than the error rate needs: its power is 18 % where this one
has 52, at N = 8 and δ = 1 sd, and 67 against 88 at N = 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.e_process import EProcess, e_process
from steelyard.analysis.decision.looks import CONFIDENCE, Stage, Terms
from steelyard.analysis.decision.sign_flip import FlipSet, Floats, confidence_set, one_sided_set
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.estimate import UNBOUNDED, Interval

Assignment = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class JudgingSets:
    """The two sets that decide, on the log scale, and how they came about."""

    stage: Stage
    main: Interval
    """Decides slower and faster; the one that is printed."""
    equivalence: Interval
    """Decides equivalence: must lie inside the margin."""
    method: str
    """"sign flips", "balanced sign flips", "e-process", "e-process and sign flips", "t"."""
    level: float
    """Confidence of `main` by itself; the nominal confidence of the whole plan is .95."""
    k: int = 0
    group: int = 0


def judging_sets(
    d: Floats, terms: Terms, stage: Stage, assignment: Assignment | None = None
) -> JudgingSets:
    """The sets for the log ratios of the usable epochs, shape (n,), no NaN.

    `assignment[i]`: in which of two slots the arm stood; None with other numbers of slots.
    """
    if stage is Stage.TOO_FEW:
        return JudgingSets(stage, t_interval(d, CONFIDENCE), UNBOUNDED, "t", CONFIDENCE)
    if terms.open_ended:
        return _open_sets(d, terms, stage, assignment)
    alpha = terms.alphas[0] if stage is Stage.FIRST else terms.alphas[1]
    return _flip_sets(d, alpha, stage, assignment if stage is Stage.LAST else None)


def shown_interval(
    d: Floats, terms: Terms, stage: Stage, assignment: Assignment | None = None
) -> Interval:
    """`main` of `judging_sets` with the same arguments, without what else these take."""
    if stage is Stage.TOO_FEW:
        return t_interval(d, CONFIDENCE)
    first, last = terms.alphas
    if not terms.open_ended:
        alpha = first if stage is Stage.FIRST else last
        return confidence_set(d, alpha, assignment if stage is Stage.LAST else None).interval
    if len(d) < terms.epochs:
        return e_process(d, terms.s0).confidence_set(first)
    return _open_sets(d, terms, stage, assignment).main


def _flip_sets(d: Floats, alpha: float, stage: Stage, assignment: Assignment | None) -> JudgingSets:
    main = confidence_set(d, alpha, assignment)
    return JudgingSets(
        stage=stage,
        main=main.interval,
        equivalence=equivalence_set(d, alpha, assignment).interval,
        method="balanced sign flips" if main.balanced else "sign flips",
        level=1 - alpha,
        k=main.k,
        group=main.group,
    )


def _open_sets(d: Floats, terms: Terms, stage: Stage, assignment: Assignment | None) -> JudgingSets:
    first, last = terms.alphas
    process = e_process(d, terms.s0)
    main, inner = process.confidence_set(first), equivalence_set_open(process, first)
    if len(d) < terms.epochs:
        return JudgingSets(stage, main, inner, "e-process", 1 - first)
    planned = assignment[: terms.epochs] if assignment is not None else None
    flips = _flip_sets(d[: terms.epochs], last, stage, planned)
    return JudgingSets(
        stage=stage,
        main=_both(main, flips.main),
        # Each rule for equivalence keeps its own level, so either may decide: the narrower one.
        equivalence=min(inner, flips.equivalence, key=lambda interval: interval.width),
        method="e-process and sign flips",
        level=1 - first - last,
        k=flips.k,
        group=flips.group,
    )


def equivalence_set(d: Floats, alpha: float, assignment: tuple[bool, ...] | None = None) -> FlipSet:
    """The sign-flip set that must lie inside the margin; arguments as for `confidence_set`."""
    return one_sided_set(d, alpha, assignment)


def equivalence_set_open(process: EProcess, alpha: float) -> Interval:
    """The same at any time, from the e-process: θ with max E₊ and max E₋ below 1/α."""
    return process.one_sided_set(alpha)


def _both(one: Interval, other: Interval) -> Interval:
    """The intersection; where there is none (an event of probability ≤ α), the hull."""
    low, high = max(one.low, other.low), min(one.high, other.high)
    if low <= high:
        return Interval(low, high)
    return Interval(min(one.low, other.low), max(one.high, other.high))


def centre(d: Floats, main: Interval) -> float:
    """The estimate: the mean of d.

    Where an arm did no work in an epoch that mean is infinite or undefined; then it is the mean of
    the epochs in which both did work, clipped to the set, which counts the other epochs too.
    """
    finite = d[np.isfinite(d)]
    if len(finite) == 0:
        return float(d[0])
    return (
        min(max(float(np.mean(finite)), main.low), main.high)
        if len(finite) < len(d)
        else float(np.mean(d))
    )
