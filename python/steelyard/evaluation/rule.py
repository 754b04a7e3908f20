"""Decides: from the sets and the margin to slower, faster, equivalent, inconclusive or invalid.

Beyond the margin → slower/faster by at least δ. Else the equivalence set inside the margin →
equivalent, and `nonzero` where 0 lies outside the set all the same. Else 0 outside → slower/faster.
Else inconclusive. Every false statement needs θ outside a set, so the joint error is the sets' own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from steelyard.analysis.decision.looks import Stage, Terms
from steelyard.model.errors import UsageError
from steelyard.model.estimate import Interval
from steelyard.model.threat import Observation
from steelyard.model.units import parse_percent
from steelyard.record.contrast import JudgedContrast


class VerdictKind(StrEnum):
    """The verdicts that a weighing can have."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on one contrast, and whether the weighing may end with it."""

    kind: VerdictKind
    nonzero: bool = False
    """0 lies outside the printed set."""
    at_least_margin: bool = False
    """The whole printed set lies beyond the margin."""
    ends: bool = False
    """The plan ends here: no further epoch is to be measured."""


def decide(
    stage: Stage,
    main: Interval,
    equivalence: Interval,
    terms: Terms,
    threats: Iterable[Observation] = (),
) -> Decision:
    """The verdict by the printed set and the equivalence set, both on the log scale."""
    nonzero = 0.0 not in main and stage is not Stage.TOO_FEW
    if any(threat.invalidates for threat in threats):
        return Decision(VerdictKind.INVALID, ends=_plan_is_over(stage))
    if stage in (Stage.TOO_FEW, Stage.BETWEEN):
        return Decision(VerdictKind.INCONCLUSIVE)
    low, high = terms.margins
    beyond = main.high < low or main.low > high
    if not beyond and equivalence.inside(low, high):
        return Decision(VerdictKind.EQUIVALENT, nonzero=nonzero, ends=True)
    if not nonzero:
        return Decision(
            VerdictKind.INCONCLUSIVE, ends=_plan_is_over(stage) and not terms.open_ended
        )
    more = main.low > 0
    kind = VerdictKind.FASTER if more == terms.higher_is_better else VerdictKind.SLOWER
    return Decision(kind, True, beyond, ends=_may_end(stage, main, terms))


def _plan_is_over(stage: Stage) -> bool:
    return stage in (Stage.LAST, Stage.INTERRUPTED)


def _may_end(stage: Stage, main: Interval, terms: Terms) -> bool:
    """An early slower/faster ends the weighing only if the set is no wider than ±δ too, or with
    `first_verdict`: the remaining epochs would make the figure far better."""
    low, high = terms.margins
    return _plan_is_over(stage) or terms.first_verdict or main.width <= high - low


_CONDITION = re.compile(r"\s*(slower|faster)\s*:\s*(\S.*)")
_ACCEPTED = "Accepted: slower:2%, faster:1.5%."


@dataclass(frozen=True, slots=True)
class FailCondition:
    """What `--fail-if` asks: `slower:2%` holds only if the whole set lies beyond −2 %."""

    kind: VerdictKind
    margin: float
    """A fraction."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The condition of `slower:2%` or `faster:1.5%`; UsageError says what is accepted."""
        match = _CONDITION.fullmatch(text)
        try:
            margin = parse_percent(match[2]) if match else 1.0
        except ValueError:
            margin = 1.0
        if match is None or not margin < 1:
            raise UsageError(f'invalid condition for --fail-if: "{text}"', hint=_ACCEPTED)
        return cls(VerdictKind(match[1]), margin)

    def holds(self, contrasts: Iterable[JudgedContrast]) -> bool:
        """Whether it holds for any contrast.

        Also for an effect that is "equivalent" within a wider margin of the study. An invalid or
        inconclusive weighing, and one too short for a verdict, never fails a build.
        """
        return any(self._holds_for(contrast) for contrast in contrasts)

    def _holds_for(self, contrast: JudgedContrast) -> bool:
        if contrast.verdict in (VerdictKind.INVALID, VerdictKind.INCONCLUSIVE):
            return False
        percent = 100 * self.margin
        if (self.kind is VerdictKind.SLOWER) == contrast.higher_is_better:
            high = contrast.high_percent
            return high is not None and high < -percent
        low = contrast.low_percent
        return low is not None and low > percent
