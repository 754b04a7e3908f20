"""Chooses records of a history by what they say, and one question by what it is called."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from steelyard.history.entry import Entry
from steelyard.history.openmetrics import VERDICTS
from steelyard.history.question import QuestionHistory, machines_of
from steelyard.model.errors import UsageError


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


def chosen(entries: Sequence[Entry], wanted: Filter) -> tuple[Entry, ...]:
    """The entries that are wanted, in their order."""
    return tuple(entry for entry in entries if _fits(entry, wanted))


def _fits(entry: Entry, wanted: Filter) -> bool:
    own = date.fromisoformat(entry.at[:10])
    doubts = {doubt for one in entry.readings for doubt in one.doubts}
    return (
        wanted.study in (None, entry.study)
        and (wanted.machine or "").lower() in entry.machine_words.lower()
        and (wanted.verdict is None or wanted.verdict in {one.verdict for one in entry.readings})
        and (wanted.doubt is None or wanted.doubt in doubts)
        and (wanted.since is None or wanted.since <= own)
        and (wanted.until is None or own <= wanted.until)
    )


def the_question(questions: Sequence[QuestionHistory], named: str) -> QuestionHistory:
    """The question of that name, or the only one of that study. UsageError: none or several."""
    found = [one for one in questions if named in (one.name, one.label)]
    found = found or [one for one in questions if one.newest.entry.study == named]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f'study "{named}" has {len(found)} questions',
            detail="; ".join(f"{one.name} ({one.label})" for one in found) + ".",
            hint="Name one of them.",
        )
    studies = sorted({one.newest.entry.study for one in questions})
    near = difflib.get_close_matches(named, [*studies, *(one.name for one in questions)], n=1)
    raise UsageError(
        f'no record answers question "{named}"',
        detail=f"Studies with a verdict: {', '.join(studies) or 'none'}.",
        hint=f'Perhaps you meant "{near[0]}".' if near else None,
    )


def the_machine(question: QuestionHistory, named: str | None) -> str:
    """The machine whose words hold `named`; without it the one with most weighings. UsageError:
    none, or several."""
    every = machines_of(question)
    found = [one for one in every if (named or "").lower() in one.lower()]
    if found and (named is None or len(found) == 1):
        return found[0]
    raise UsageError(
        f'{"several machines have" if found else "no machine has"} "{named}" in its name',
        detail=f"It was weighed on {'; '.join(every)}.",
    )
