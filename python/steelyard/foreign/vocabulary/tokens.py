"""Cuts a heading into words (percentiles, units in parentheses, and the words between), and parts
these into what was measured and what it was measured under: "latency at 1000 tps (ms)" is a
latency, "tps over 60 s" a rate.

Where rate and time both stand there as equals ("latency tps"), nothing says which was measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.units import (
    RATE_UNITS,
    TIME_UNITS,
    WORK,
    cost_unit,
    is_rate,
    unit_of,
)

_EVERY = set().union(
    *(value for name, value in vars(known).items() if name.isupper() and isinstance(value, set)),
    *known.EXTREME_WORDS.values(),
    TIME_UNITS,
    RATE_UNITS,
    WORK,
)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-zµμ]+|[0-9]+|[%#]")
_RAW = re.compile(r"(?:[^\W\d_]|[%#])+|[0-9]+")
_SIGNS = {
    **{"$": "usd", "€": "eur", "£": "gbp", "@": "at", "±": "stddev", "σ": "sigma"},
    **{"Δ": "delta", "∆": "delta", "Σ": "sum", "∑": "sum", "Ø": "avg", "⌀": "avg"},
}
"""Sign → the word that it stands for."""
_SIGN = re.compile(r"[$€£@±∆∑⌀]|(?<![^\W\d_])(?:Ø(?![^\W\d_])|[σΔΣ](?![Α-Ωα-ωά-ώ]))")
_PERCENTILE = re.compile(
    r"(?<![A-Za-z0-9])[pP]_?([0-9]{1,2}(?:[._][0-9]+)?|100|999{1,3})(?![0-9A-Za-z])"
    r"|(?<=[a-z])(?-i:P)([0-9]{2}(?:\.[0-9]+)?)(?![0-9])"
    r"|(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)?)(?:th|st|nd|rd)(?![a-z])"
    r"|(?:(?<=pct)|(?<=perc)|(?<=percentile)|(?<=quantile)|(?<=lat)|(?<=latency))_?"
    r"([0-9]{2}(?:\.[0-9]+)?)(?![0-9])",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?<![0-9.])([0-9]{1,2}(?:\.[0-9]+)?)\s*%")
_PARENTHESES = re.compile(r"[(\[]\s*([A-Za-zµμ/]+)\s*[)\]]")
_TPC_H = re.compile(r"(?:power|throughput)@size", re.IGNORECASE)
"""TPC-H's partial metrics: queries an hour."""
_NO_PERCENTILE = known.PARAMETER_WORDS | known.RATE_WORDS | RATE_UNITS.keys()
_NO_PERCENTILE |= {"load", "capacity", "utilization", "cpu", "max"}
"""Behind a number: "latency_50_qps" is no median."""
_VERSION = re.compile(r"(?<=[a-zA-Z])@[0-9.]+$")


def split_words(name: str) -> tuple[str, ...]:
    """The words of a heading in lower case, "/" as "per": "QphH" is one, "RunTime" two."""
    cut: list[str] = []
    spelled = _SIGN.sub(lambda sign: f" {_SIGNS[sign[0]]} ", _VERSION.sub("", name))
    for raw in _RAW.findall(spelled.replace("/", " per ")):
        parts = [raw] if _is_word(raw) else _CAMEL.findall(raw)
        cut += (part.lower() for part in parts)
    return tuple(cut)


def _is_word(raw: str) -> bool:
    """Whether letters of both cases are one word: "QphH", "kTPS"."""
    known_word = raw.lower() in _EVERY or is_rate(unit_of(raw) or "")
    return known_word or raw.isdigit() or not raw.isascii()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of a heading."""

    words: tuple[str, ...]
    """In lower case, "/" as "per"."""
    percentile: str
    """"p95"; empty where there is none."""
    behind: frozenset[str]
    """What stands in parentheses."""


def tokens_of(name: str) -> Tokens:
    """The words of a heading; a percentile is no word."""
    name = _TPC_H.sub("qph", name)
    percentile, bare = _percentile(_PERCENTILE, name, name)
    timed = set(split_words(bare)) & (known.LATENCY_WORDS | known.TIME_WORDS)
    if percentile is None and timed:
        percentile, bare = _percentile(_PERCENT, name, bare)
    level = next((group for group in percentile.groups() if group), "") if percentile else ""
    level = f"{level[:2]}.{level[2:]}" if len(level) > 2 and level.isdigit() else level
    behind = frozenset(match.lower() for match in _PARENTHESES.findall(bare))
    called = f"p{level.replace('_', '.')}" if level else ""
    return Tokens(split_words(bare), called, behind)


def _percentile(pattern: re.Pattern[str], name: str, bare: str) -> tuple[re.Match[str] | None, str]:
    """The percentile of that form in a heading, and the rest of it."""
    match = pattern.search(name)
    if match is None:
        return None, bare
    behind = split_words(name[match.end() :])[:1]
    doubtful = pattern is _PERCENT or match[4] is not None
    if doubtful and _NO_PERCENTILE.intersection(behind):
        return None, bare
    return match, pattern.sub(" ", bare)


_STATED = {"at", "under"}
"""What stands behind is a condition, whatever stands before it."""
_JOINING = _STATED | {
    *("with", "for", "over", "during", "while", "when", "given", "by", "until", "to", "within"),
    "per",
}
"""What stands behind is a condition, or a denominator, where a measure stands before it."""
_SCALES = {"k", "m", "g", "mio", "mn", "bn", "thousand", "million", "millions"}
"""Between a number and its unit: 10k req/s."""
_LIMITS = {"max", "maximum", "peak", "full", "min", "constant", "fixed", "saturated"}
_VAGUE_TIMES = {"rt", "wall", "walltime", "wallclock", "response", "resp"}
"""Times beside a condition; beside a rate they say what kind of rate it is, or of arm."""
_VAGUE_UNITS = {"s", "h", "hr", "min"}
"""Units only behind a number: alone they are names, and a minimum."""


class _Quantity(StrEnum):
    """What some words of a heading are about."""

    RATE = "rate"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class _Part:
    """Neighbouring words that name a rate or a time, or the unit of one."""

    first: int
    behind: int
    """The index behind the last of them."""
    kind: _Quantity
    unit: bool = False
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What a heading says was measured."""

    words: tuple[str, ...]
    aside: tuple[str, ...] = ()
    """Conditions and denominators."""
    unclear: bool = False
    """Whether both a rate and a time could have been measured."""


def subject_of(tokens: Tokens) -> Subject:
    """The subject of a heading's words."""
    words = tokens.words
    parts = _parts(words, tokens.behind)
    kinds = {part.kind for part in parts}
    if len(kinds) < 2:
        return _of_one_kind(tokens, parts)
    free = _free(words, parts)
    kind = _named_behind(tokens.behind, parts, free) or _kind(free)
    if kind is None:
        return Subject(words, unclear=True)
    cut = _cut(words, parts, kind)
    return _without(words, lambda index: index in cut)


def denominator(words: Sequence[str]) -> tuple[str, ...] | None:
    """What stands before the rate that a heading divides by: ("usd",) of "USD per kQphH"; None
    where it divides by none."""
    for index, word in enumerate(words):
        behind = list(words[index + 1 :])
        count = len(list(takewhile(lambda w: w.isdigit() or w in _SCALES, behind)))
        if word == "per" and index and count < len(behind) and _is_rate_unit(behind[count]):
            return tuple(words[:index])
    return None


def _is_rate_unit(word: str) -> bool:
    return is_rate(unit_of(word) or "")


def _parts(words: Sequence[str], parentheses: Collection[str]) -> list[_Part]:
    parts: list[_Part] = []
    index = 0
    while index < len(words):
        word, behind = words[index], index + 1
        following = words[behind] if behind < len(words) else ""
        if word == "per" and index and following in TIME_UNITS:
            parts = [part for part in parts if part.behind < index]
            parts.append(_Part(index - 1, index + 2, _Quantity.RATE, unit=True))
            index += 1
        elif word == "per" and index and _is_time(words[index - 1]) and cost_unit("", following):
            index += 1  # a time per operation, and "ops" no rate
        elif _is_rate_unit(word) or word in known.RATE_WORDS:
            parts.append(_Part(index, behind, _Quantity.RATE, unit=_is_rate_unit(word)))
        elif _is_time(word):
            vague = word in _VAGUE_TIMES
            sure = word not in _VAGUE_UNITS or (word == "s" and word in parentheses)
            if sure or _number_before(words, index) < index:
                parts.append(_Part(index, behind, _Quantity.TIME, word in TIME_UNITS, vague))
        index += 1
    return parts


def _is_time(word: str) -> bool:
    timed = known.LATENCY_WORDS | known.TIME_WORDS | _VAGUE_TIMES
    return word in timed or word in TIME_UNITS


def _number_before(words: Sequence[str], index: int) -> int:
    """The index of the number that stands before the words at an index; the same index where none
    does."""
    at = index - 1
    if at > 0 and words[at] in _SCALES:
        at -= 1
    return at if at >= 0 and words[at].isdigit() else index


def _joint(words: Sequence[str], parts: Sequence[_Part]) -> int:
    """Where the conditions begin: at the first joining word behind a measure; else the end."""
    inside = {index for part in parts for index in range(part.first, part.behind)}
    measured = [part.first for part in parts if _number_before(words, part.first) == part.first]
    for index, word in enumerate(words):
        if word in _JOINING and index not in inside and any(first < index for first in measured):
            return index
    return len(words)


def _free(words: Sequence[str], parts: Sequence[_Part]) -> list[_Part]:
    """The parts that are no conditions."""
    joint = _joint(words, parts)
    free = [
        part
        for part in parts
        if part.first < joint
        and _number_before(words, part.first) == part.first
        and _limit_before(words, part.first) is None
    ]
    kinds = {part.kind for part in free}
    return [part for part in free if not part.vague] if len(kinds) > 1 else free


def _limit_before(words: Sequence[str], index: int) -> int | None:
    """The index of "at max" or the like, where the words at an index stand behind it."""
    before = index - 1
    if before > 0 and words[before] in _LIMITS:
        before -= 1
    return before if before >= 0 and words[before] in _STATED else None


def _named_behind(
    parentheses: Collection[str], parts: Sequence[_Part], free: Sequence[_Part]
) -> _Quantity | None:
    """The kind of the unit in parentheses, where it contradicts nothing that was measured."""
    kinds = {
        _Quantity.TIME if text in TIME_UNITS else _Quantity.RATE
        for text in parentheses
        if _is_unit(text)
    }
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    timed = any(part.kind is _Quantity.TIME and not part.unit for part in parts)
    if kind is _Quantity.RATE:
        return kind if any(part.kind is kind for part in free) else None
    if {"min", "h", "hr"}.intersection(parentheses) and not timed:
        return None
    rates = any(part.kind is _Quantity.RATE for part in free)
    words = any(part.kind is _Quantity.TIME and not part.unit for part in free)
    return kind if words or not rates else None


def _is_unit(text: str) -> bool:
    return text in TIME_UNITS or _is_rate_unit(text)


def _kind(free: Sequence[_Part]) -> _Quantity | None:
    """The kind of what was measured: of several the last noun, if that is a time; a rate behind a
    time could be either."""
    kinds = {part.kind for part in free}
    if len(kinds) == 1:
        return free[0].kind
    nouns = [part for part in free if not (part.kind is _Quantity.TIME and part.unit)]
    return _Quantity.TIME if nouns and nouns[-1].kind is _Quantity.TIME else None


def _cut(words: Sequence[str], parts: Sequence[_Part], kind: _Quantity) -> set[int]:
    """The words that are conditions: behind the first joining word, all but the unit of what was
    measured; and numbers with their units, and whatever else is of the other kind."""
    joint = _joint(words, parts)
    last = len(words) - 1
    of_kind = {i for part in parts if part.kind is kind for i in range(part.first, part.behind)}
    unit = {last} if kind is _Quantity.TIME and words[last] in TIME_UNITS else of_kind
    cut = {i for i in range(joint, len(words)) if i not in unit or _number_before(words, i) < i}
    for part in parts:
        number = _number_before(words, part.first)
        if part.kind is not kind and not part.vague:
            before = number - (number > 0 and words[number - 1] in _JOINING)
            cut |= set(range(before, part.behind))
    return cut


def _of_one_kind(tokens: Tokens, parts: Sequence[_Part]) -> Subject:
    """A rate behind "at" is a condition of anything, and one behind a number of a percentile."""
    words = tokens.words
    cut: set[int] = set()
    for part in parts:
        number = _number_before(words, part.first)
        stated = _limit_before(words, number)
        of_percentile = bool(tokens.percentile) and number < part.first
        if part.kind is _Quantity.RATE and (stated or of_percentile):
            cut |= set(range(number if stated is None else stated, part.behind))
    return _without(words, lambda index: index in cut)


def _without(words: Sequence[str], cut: Callable[[int], bool]) -> Subject:
    return Subject(
        tuple(word for index, word in enumerate(words) if not cut(index)),
        tuple(word for index, word in enumerate(words) if cut(index)),
    )
