"""Chooses records of a history by what they say, and one question by what it is called."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from steelyard.history.entry import Entry
from steelyard.history.openmetrics import VERDICTS
from steelyard.history.question import QuestionHistory, machines_of
from steelyard.model.errors import UsageError, nearest_hint
from steelyard.model.threat import ThreatKind


@dataclass(frozen=True)
class Filter:
    """What is wanted; None: anything."""

    study: str | None = None
    machine: str | None = None
    """A part of its name, in any case."""
    verdict: str | None = None
    doubt: str | None = None
    since: date | None = None
    until: date | None = None
    """That day too."""


def day(text: str | None) -> date | None:
    """`"2026-03-01"`; UsageError for anything else."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise UsageError(f'invalid date: "{text}"', hint="Write it as 2026-03-01.") from None


def verdict_word(text: str | None) -> str | None:
    """A verdict's word; UsageError for any other."""
    if text is not None and text not in VERDICTS:
        raise UsageError(
            f'unrecognized verdict: "{text}"', detail=f"Accepted: {', '.join(VERDICTS)}."
        )
    return text


def require_possible(entries: Sequence[Entry], criteria: Filter) -> None:
    """UsageError: there is no such doubt, today or in these records, or no such day."""
    if criteria.since and criteria.until and criteria.until < criteria.since:
        raise UsageError(
            f"no day is from {criteria.since} to {criteria.until}",
            hint="--since names the first day, --until the last one.",
        )
    known = {str(kind) for kind in ThreatKind}
    known |= {doubt for entry in entries for reading in entry.readings for doubt in reading.doubts}
    if criteria.doubt is not None and criteria.doubt not in known:
        near = [name for name in sorted(known) if criteria.doubt.lower() in name.lower()]
        near = near or difflib.get_close_matches(criteria.doubt, sorted(known), n=1)
        raise UsageError(
            f'unrecognized doubt: "{criteria.doubt}"',
            detail=f"Accepted: {', '.join(sorted(known))}.",
            hint=f'Perhaps you meant "{near[0]}".' if near else None,
        )


def matching_entries(entries: Sequence[Entry], criteria: Filter) -> tuple[Entry, ...]:
    """The entries that are wanted, in their order."""
    return tuple(entry for entry in entries if _fits(entry, criteria))


def _fits(entry: Entry, criteria: Filter) -> bool:
    weighed_on = date.fromisoformat(entry.at[:10])
    doubts = {doubt for reading in entry.readings for doubt in reading.doubts}
    return (
        criteria.study in (None, entry.study)
        and (criteria.machine or "").lower() in entry.machine_words.lower()
        and (
            criteria.verdict is None
            or criteria.verdict in {reading.verdict for reading in entry.readings}
        )
        and (criteria.doubt is None or criteria.doubt in doubts)
        and (criteria.since is None or criteria.since <= weighed_on)
        and (criteria.until is None or weighed_on <= criteria.until)
    )


def the_question(questions: Sequence[QuestionHistory], name: str) -> QuestionHistory:
    """The question of that name, or the only one of that study. UsageError: none or several."""
    matches = [question for question in questions if name in (question.name, question.label)]
    matches = matches or [question for question in questions if question.newest.entry.study == name]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f'study "{name}" has {len(matches)} questions',
            detail="; ".join(f"{question.name} ({question.label})" for question in matches) + ".",
            hint="Name one of them.",
        )
    studies = sorted({question.newest.entry.study for question in questions})
    raise UsageError(
        f'no record answers question "{name}"',
        detail=f"Studies with a verdict: {', '.join(studies) or 'none'}.",
        hint=nearest_hint(name, [*studies, *(question.name for question in questions)]),
    )


def the_machine(question: QuestionHistory, name: str | None) -> str:
    """The machine whose words hold `name`; without it the one with most weighings. UsageError:
    none, or several."""
    every = machines_of(question)
    matches = [machine for machine in every if (name or "").lower() in machine.lower()]
    if matches and (name is None or len(matches) == 1):
        return matches[0]
    raise UsageError(
        f'{"several machines have" if matches else "no machine has"} "{name}" in its name',
        detail=f"It was weighed on {'; '.join(every)}.",
    )
