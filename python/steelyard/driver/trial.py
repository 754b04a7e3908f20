"""Executes scripts by one client before a load, and names those that cannot work, with errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from steelyard.model.endpoint import error_words
from steelyard.model.units import NS_PER_S

CANNOT_WORK = ("42", "26", "3F")
"""SQLSTATE classes of what is missing or wrong in itself, and fails however often it is tried:
syntax error or access rule violation, invalid statement name, invalid schema name."""
READ_ONLY = "25006"
"""The SQLSTATE of a write in a transaction that may only read, which is not tried again either."""
TRIES = 5
"""A script that fails otherwise, by its values or by what others do, is executed so often."""
LONGEST_TRY_NS = 10 * NS_PER_S
"""A transaction that takes longer than this and the cap of a border is cancelled: no failure."""
LONGEST_TRIAL_NS = 60 * NS_PER_S
"""Shared by all scripts of an arm."""
_SHORTEST_TRY_NS = NS_PER_S
_CONNECTIONS = 3
"""Executions that find no connection before it counts as lost by the script."""


class Execution(Protocol):
    """What the driver says of one execution."""

    @property
    def transactions(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def capped(self) -> int: ...
    @property
    def errors(self) -> Mapping[str, int]: ...
    @property
    def error_messages(self) -> Mapping[str, str]: ...


_Execution = TypeVar("_Execution", bound=Execution)


@dataclass
class Tries:
    """What came of the tries of one script."""

    tries: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    is_wrong: bool = False
    """Whether an error said that something is missing, or wrong in itself, or may not write."""
    was_cancelled: bool = False

    def note(self, execution: Execution) -> None:
        """One more try; one that was cancelled says nothing."""
        if execution.capped:
            self.was_cancelled = True
            return
        self.tries += 1
        if execution.transactions:
            return
        self.failed += 1
        for state in execution.errors:
            self.is_wrong = self.is_wrong or state.startswith((*CANNOT_WORK, READ_ONLY))
            message = execution.error_messages.get(state, "no message")
            self.errors[f"{message} ({error_words(state)})"] += 1

    @property
    def fails(self) -> bool:
        """Whether more than half of the tries failed."""
        return 2 * self.failed > self.tries

    @property
    def never_works(self) -> bool:
        """Whether all tries failed."""
        return 0 < self.failed == self.tries

    @property
    def would_write(self) -> bool:
        """Whether it failed for a write where none may be."""
        return any(error_words(READ_ONLY) in error for error in self.errors)

    @property
    def is_open(self) -> bool:
        """Whether all tries failed so far, and a next one may succeed."""
        may_work = not self.is_wrong and not self.was_cancelled
        return self.never_works and self.tries < TRIES and may_work

    @property
    def error(self) -> str:
        """The most frequent one."""
        return self.errors.most_common(1)[0][0] if self.errors else "the connection was lost"


def has_ended(execution: Execution) -> bool:
    """Whether something came of it: the client had a connection."""
    return bool(execution.transactions or execution.failed or execution.capped)


def longest_try_ns(scripts: int) -> int:
    """How long each of so many scripts may take."""
    return max(_SHORTEST_TRY_NS, min(LONGEST_TRY_NS, LONGEST_TRIAL_NS // max(1, scripts)))


def try_each(
    scripts: Sequence[str], client: Callable[[Sequence[str], int], Sequence[Execution]]
) -> dict[str, Tries]:
    """Script → its tries: one where it succeeds or cannot work, else up to TRIES, one of which may
    succeed. `client`: connects, and executes scripts once each, in their order; it is handed the
    number of the try, since equal seeds would draw the values again that failed."""
    tried = {name: Tries() for name in scripts}
    pending = list(scripts)
    for number in range(TRIES):
        if not pending:
            break
        for name, execution in zip(pending, client(pending, number), strict=True):
            tried[name].note(execution)
        pending = [name for name in pending if tried[name].is_open]
    return tried


def execute(run: Callable[[], _Execution]) -> _Execution:
    """One execution; a client that has no connection gets another before it."""
    for _ in range(_CONNECTIONS):
        execution = run()
        if has_ended(execution):
            break
    return execution
