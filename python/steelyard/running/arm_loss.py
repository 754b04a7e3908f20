"""Names how an arm was lost in an epoch: it could not start, or it did not survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from steelyard.model.errors import EngineError, ServerError

How = Literal["crashed", "could not start"]


class ArmLostError(ServerError):
    """An arm could not start or survive; the epoch's outcome says `how: arm`."""

    def __init__(self, arm: str, how: How, primary: str, detail: str | None = None) -> None:
        super().__init__(primary, detail=detail)
        self.arm = arm
        self.how = how

    @property
    def outcome(self) -> str:
        """As an epoch's line in the record has it."""
        return f"{self.how}: {self.arm}"

    @classmethod
    def at_start(cls, arm: str, failure: EngineError) -> Self:
        """The arm's server refused to start; its own words stay in DETAIL."""
        return cls(arm, "could not start", f'arm "{arm}": {failure.primary}', failure.detail)

    @classmethod
    def in_slice(cls, arm: str, errors: Mapping[str, int]) -> Self:
        """The arm's server died in mid-slice, or threw its clients out."""
        states = ", ".join(f"{state} ({count})" for state, count in sorted(errors.items()))
        primary = f'arm "{arm}" lost its connections in mid-slice'
        return cls(arm, "crashed", primary, f"SQLSTATE {states}." if states else None)
