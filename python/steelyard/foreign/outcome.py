"""The outcome of an arm's transactions: how many were tried, and how many were in trouble."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of transactions, of one file or of all files of an arm."""

    tried: int
    troubled: int
    """Failed, were retried or were skipped."""
    wrong: int = 0
    """Returned other rows than they should."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.tried + other.tried, self.troubled + other.troubled, self.wrong + other.wrong
        )
