"""Turns the plans of a record into what the page shows of them: text, marks and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.matching import statement_times
from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.verdict import StatementTime, Verdict
from steelyard.wording.contrast_text import reading_text

MOST_FLIPPED, MOST_ALIKE = 60, 200
"""Statements whose plans are printed, to keep the page small; the record holds all."""
MOST_LETTERS = 160
"""Of a line of a plan: conditions may hold lists of a thousand values."""
MOST_TO_COPY = 10_000
"""Letters of two plans that are printed whole too."""
_UNTIMED = "not timed by itself; workload.timed = true times every statement"


@dataclass(frozen=True)
class PlanLine:
    """A line of a plan, and whether its node differs from the other arm's."""

    text: str
    depth: int
    """Characters by which it is indented on the page: a third of what EXPLAIN takes."""
    differs: bool


@dataclass(frozen=True)
class FlippedStatement:
    """A statement that two arms plan otherwise, with its time in both."""

    name: str
    flips: tuple[str, ...]
    time: str
    control: tuple[PlanLine, ...]
    arm: tuple[PlanLine, ...]
    whole: tuple[tuple[str, str], ...]
    """Arm, the control first → its plan as EXPLAIN printed it; none of plans too long for a page,
    which inspection.json holds."""


@dataclass(frozen=True)
class PlannedPair:
    """An arm against the control."""

    control: str
    arm: str
    flipped: tuple[FlippedStatement, ...]
    left_out: int
    """Further flipped statements, which the page does not print."""


@dataclass(frozen=True)
class PlannedStatement:
    """A statement that all arms plan alike: one plan, and its time in every arm that has one."""

    name: str
    times: tuple[str, ...]
    plan: tuple[PlanLine, ...]


@dataclass(frozen=True)
class ShownPlans:
    """Every statement of a record that has a plan."""

    statements: int
    pairs: tuple[PlannedPair, ...]
    alike: tuple[PlannedStatement, ...]
    left_out: int
    """Statements with one plan in all arms that the page does not print."""

    @property
    def any_flip(self) -> bool:
        """Whether some statement is planned otherwise somewhere."""
        return any(pair.flipped for pair in self.pairs)


def shown_plans(
    plans: Mapping[str, Mapping[str, str]], control: str, verdict: Verdict | None
) -> ShownPlans | None:
    """`plans`: arm → statement → plan, as inspection.json has them; None where there are none."""
    ours = plans.get(control, {})
    if not ours:
        return None
    arms = [arm for arm in plans if arm != control]
    pairs = tuple(_pair(control, arm, ours, plans[arm], verdict) for arm in arms)
    flipped = {statement.name for pair in pairs for statement in pair.flipped}
    alike = [statement for statement in ours if statement not in flipped]
    times = [
        statement_times(verdict.statements, verdict.queries, arm, ours) if verdict else {}
        for arm in arms
    ]
    return ShownPlans(
        statements=len(ours),
        pairs=pairs,
        alike=tuple(
            PlannedStatement(
                statement,
                tuple(
                    time_text(by_statement[statement])
                    for by_statement in times
                    if statement in by_statement
                ),
                _lines(ours[statement], frozenset()),
            )
            for statement in alike[:MOST_ALIKE]
        ),
        left_out=max(0, len(alike) - MOST_ALIKE),
    )


def _pair(
    control: str,
    arm: str,
    ours: Mapping[str, str],
    theirs: Mapping[str, str],
    verdict: Verdict | None,
) -> PlannedPair:
    flipped = {flip.statement: flip for flip in verdict.plans if flip.arm == arm} if verdict else {}
    statements: list[FlippedStatement] = []
    for statement in ours:
        difference = flips(ours[statement], theirs.get(statement, ""))
        if difference.names:
            statements.append(
                FlippedStatement(
                    statement,
                    difference.names,
                    time_text(flipped[statement].time) if statement in flipped else "",
                    _lines(ours[statement], difference.control_lines),
                    _lines(theirs.get(statement, ""), difference.arm_lines),
                    _whole(((control, ours[statement]), (arm, theirs.get(statement, "")))),
                )
            )
    left_out = max(0, len(statements) - MOST_FLIPPED)
    return PlannedPair(control, arm, tuple(statements[:MOST_FLIPPED]), left_out)


def _whole(plans: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return plans if sum(len(text) for _, text in plans) <= MOST_TO_COPY else ()


def _lines(plan: str, differing: frozenset[int]) -> tuple[PlanLine, ...]:
    return tuple(_line(line, number in differing) for number, line in enumerate(plan.splitlines()))


def _line(line: str, differs: bool) -> PlanLine:
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    plain = text.replace("->  ", "-> ", 1) if text.startswith("->") else text
    cut = plain if len(plain) <= MOST_LETTERS else f"{plain[:MOST_LETTERS]} …"
    return PlanLine(cut, -(-indent // 3), differs)


def time_text(time: StatementTime | None) -> str:
    """`"120 µs on, 3.4 ms off: +2 733 % [+2 690, +2 780]"`; why there is none."""
    if time is None:
        return _UNTIMED
    whole = "a transaction of this statement alone: " if time.of == "transaction" else ""
    control, arm = (format_duration(us * NS_PER_US) for us in (time.control_us, time.arm_us))
    return f"{whole}{control} {time.control}, {arm} {time.arm}: {reading_text(time)}"
