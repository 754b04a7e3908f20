"""Everything that can go wrong, in PostgreSQL's manner: primary line, DETAIL, HINT.

    SteelyardError
     ├─ UsageError            exit status 2: the command line is wrong
     │   ├─ StudyError        a study file: names the file and the key
     │   └─ NumbersError      a file of numbers from elsewhere: names file, line and column
     ├─ EngineError           a database could not be made, started, stopped or reached
     │   └─ ServerError       a server's own words are quoted in DETAIL
     ├─ DriverError           the load driver could not carry out its plan
     ├─ RecordError           a record could not be written or read back
     ├─ UntrustedPathError    a link, another account's, or open to others: it is not written into
     └─ WeighingError         exit status 3: the weighing could not be completed

Exit statuses: UsageError 2, every other one 3 (DESIGN, section 6 of the command line contract).
"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.model.secrets.redaction import redacted


class SteelyardError(Exception):
    """An error with a primary line (lower case, no full stop), facts, and advice. Words of a server
    or a user that it quotes are redacted before anything can print or keep them."""

    exit_status = 3

    def __init__(self, primary: str, *, detail: str | None = None, hint: str | None = None) -> None:
        self.primary = redacted(primary)
        self.detail = None if detail is None else redacted(detail)
        self.hint = hint
        super().__init__(self.primary)

    @property
    def hint(self) -> str | None:
        """Advice, perhaps of a server: it is redacted whenever it is given."""
        return self._hint

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = None if hint is None else redacted(hint)

    def lines(self) -> list[str]:
        """The error as a terminal shows it: `error:` line, then DETAIL and HINT where present."""
        lines = [f"error: {self.primary}"]
        if self.detail:
            lines.append(f"DETAIL:  {self.detail}")
        if self.hint:
            lines.append(f"HINT:  {self.hint}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


class UsageError(SteelyardError):
    """The command line is wrong: exit status 2."""

    exit_status = 2


class StudyError(UsageError):
    """A study is wrong: the primary line names the file and the key."""


class NumbersError(UsageError):
    """A file of numbers from elsewhere cannot be read: names the file, the line and the column."""


class EngineError(SteelyardError):
    """A database could not be made, started, stopped or reached."""


class ServerError(EngineError):
    """A server refused or died: its message is in DETAIL."""


class DriverError(SteelyardError):
    """The load driver could not carry out its plan."""


class RecordError(SteelyardError):
    """A record could not be written or read back."""


class UntrustedPathError(SteelyardError):
    """A path is a link, another account's, or open to others: nothing is written there."""


class WeighingError(SteelyardError):
    """The weighing could not be completed: exit status 3, the record is kept."""


def nearest_hint(name: str, names: Iterable[str]) -> str | None:
    """A hint at the name that a misspelt one is near; None: it is near none."""
    import difflib  # where something was misspelt alone

    near = difflib.get_close_matches(name, [*names], n=1)
    return f'Perhaps you meant "{near[0]}".' if near else None
