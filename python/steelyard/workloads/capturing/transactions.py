"""Cuts the statements of sessions into transactions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from steelyard.workloads.capturing.statements import LoggedStatement

_WORD = re.compile(r"^(?:\s|--[^\n]*\n|/\*.*?\*/)*([a-zA-Z]+)(?:\s+([a-zA-Z]+))?", re.DOTALL)
_BEGINS = {"begin", "start"}
_ENDS = {"commit", "end", "rollback", "abort"}
SESSION = {
    "set", "reset", "show", "discard", "deallocate", "listen", "unlisten", "notify", "prepare",
    "execute", "copy", "load", "vacuum", "analyze", "checkpoint", "explain", "declare", "fetch",
    "close", "move", "lock",
}  # fmt: skip
"""First words of what is no part of a transaction's work, or cannot be repeated from a log."""


@dataclass(frozen=True)
class LoggedTransaction:
    """What a session did between two moments of its own choice."""

    statements: tuple[LoggedStatement, ...]  # BEGIN and COMMIT among them where they were said
    think_s: float | None  # until the session's next one began; None: not known

    @property
    def seconds(self) -> float:
        """Sum of its statements' durations; those that are not known count as 0."""
        return sum((one.duration_ms or 0.0) for one in self.statements) / 1000


def first_word(text: str) -> str:
    """The first word of a statement, in lower case."""
    found = _WORD.match(text)
    return found[1].lower() if found else ""


def _ends(text: str) -> bool:
    found = _WORD.match(text)
    if found is None or found[1].lower() not in _ENDS:
        return False
    # ROLLBACK TO SAVEPOINT and COMMIT PREPARED are steps within.
    return (found[2] or "").lower() not in ("to", "prepared")


def transactions(statements: Iterable[LoggedStatement]) -> Iterator[LoggedTransaction]:
    """The transactions of all sessions, in the order in which they ended; one that the log ends
    within is left out."""
    open_ones: dict[str, list[LoggedStatement]] = {}
    last: dict[str, LoggedTransaction] = {}
    for one in statements:
        word = first_word(one.text)
        current = open_ones.get(one.session)
        if current is None and word in _BEGINS:
            open_ones[one.session] = [one]
            continue
        if current is not None:
            current.append(one)
            if not _ends(one.text):
                continue
            del open_ones[one.session]
            done = LoggedTransaction(tuple(current), None)
        else:
            if word in _ENDS:  # of one that began before the log
                continue
            done = LoggedTransaction((one,), None)
        before = last.get(one.session)
        if before is not None:
            yield LoggedTransaction(before.statements, _between(before, done))
        last[one.session] = done
    yield from last.values()


def _between(before: LoggedTransaction, after: LoggedTransaction) -> float:
    first = after.statements[0]
    began = first.ended - (first.duration_ms or 0.0) / 1000
    return max(0.0, began - before.statements[-1].ended)
