"""Puts what was seen into words: a threat as people and records have it."""

from __future__ import annotations

from steelyard.model.threat import Observation, Threat
from steelyard.wording.threats import layouts, machine, numbers, work
from steelyard.wording.threats.advice import QUOTED, THREAT_WORDS, OwnAdvice, Texts

TEXTS: Texts = {
    **QUOTED,
    **layouts.TEXTS,
    **machine.TEXTS,
    **numbers.TEXTS,
    **work.TEXTS,
}
OWN_ADVICE: OwnAdvice = {**numbers.OWN_ADVICE, **machine.OWN_ADVICE}


def threat_of(observed: Observation) -> Threat:
    """What was seen, with its likely cause and what to do."""
    text = TEXTS[type(observed)](observed)
    of_its_own = OWN_ADVICE.get(type(observed))
    words = THREAT_WORDS[observed.raises] if of_its_own is None else of_its_own(observed)
    advice = (words.in_turns if observed.in_turns else "") or words.advice
    return Threat(observed.name, text, words.cause, advice, observed.invalidates)
