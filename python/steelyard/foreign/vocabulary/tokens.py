"""Cuts a heading into words: percentiles, units in parentheses, and the words between."""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.units import RATE_UNITS, TIME_UNITS, WORK, is_rate, unit_of

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
