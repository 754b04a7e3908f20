"""Holds the threats: every reason to doubt a verdict (`threat_kind.py` lists them)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from steelyard.model.threat_kind import EARLIER, ThreatKind
from steelyard.model.threat_words import THREAT_WORDS


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


def raise_threat(
    kind: ThreatKind, seen: str, *, invalidates: bool = False, in_turns: bool = False
) -> Threat:
    """The threat of a kind with what was seen, a sentence without full stop and with figures.
    `invalidates`: what was seen takes the verdict away, also where its kind does not always.
    `in_turns`: it was seen in turns, where some advice is another.
    """
    wording = THREAT_WORDS[kind]
    fatal = wording.invalidates or invalidates
    advice = (wording.in_turns if in_turns else "") or wording.advice
    return Threat(kind.value, seen, wording.cause, advice, fatal)
