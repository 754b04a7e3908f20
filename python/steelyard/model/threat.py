"""Holds the threats: every reason to doubt a verdict (`threat_kind.py` lists them)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from steelyard.model.threat_kind import EARLIER


@dataclass(frozen=True, slots=True)
class Threat:
    """A reason to doubt: what was seen, the likely cause, what to do; whether it invalidates."""

    name: str
    seen: str
    cause: str
    advice: str
    invalidates: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", EARLIER.get(self.name, self.name))

    def to_json(self) -> dict[str, str | bool]:
        """The five keys of the command line's contract."""
        return asdict(self)
