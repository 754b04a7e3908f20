"""Holds what was seen that is a reason to doubt a verdict: figures, which `wording` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from steelyard.model.threat import INVALIDATING, ThreatKind


@dataclass(frozen=True, slots=True)
class Observation:
    """Something that was seen; each subclass is a thing that can be, with its figures in fields.

    A kind of threat may be raised by several of them.
    """

    kind: ClassVar[ThreatKind]

    @property
    def raises(self) -> ThreatKind:
        """The kind of threat that it is a reason for: the class's, but for a few that hold it."""
        return self.kind

    @property
    def name(self) -> str:
        """Of its kind, as it is printed."""
        return self.raises.value

    @property
    def invalidates(self) -> bool:
        """Whether nothing can be said where it was seen."""
        return self.raises in INVALIDATING

    @property
    def in_turns(self) -> bool:
        """Whether it was seen in turns, where some advice is another."""
        return False


@dataclass(frozen=True, slots=True)
class Quoted(Observation):
    """What a record or a file says itself, in words of its own."""

    of: ThreatKind
    text: str
    """A sentence without full stop."""

    @property
    def raises(self) -> ThreatKind:
        """As the record or the file has it."""
        return self.of
