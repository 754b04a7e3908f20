"""Says what the headings of one table mean beside each other: "time_min" beside a maximum is a
minimum, "tps_se" beside "tps" its spread, "tps_low" and "tps_high" beside it its bounds, and
"on/off" beside "on" and "off" their ratio."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.foreign.metric import LATENCY, TIME, Metric
from steelyard.foreign.vocabulary import words as known
from steelyard.foreign.vocabulary.heading import Heading, Role, heading_of, key_of
from steelyard.foreign.vocabulary.tokens import split_words

_PROCESSOR = ("real", "user", "system", "sys")
"""As `time` of a shell prints them."""
_BOUNDS = {
    **{"lo": ("hi", "min"), "low": ("high", "min"), "lower": ("upper", "min"), "lb": ("ub", "min")},
    **{"hi": ("lo", "max"), "high": ("low", "max"), "upper": ("lower", "max"), "ub": ("lb", "max")},
    **{"q1": ("q3", "p25"), "q3": ("q1", "p75")},
}
"""Word of a bound → that of the other one, and the statistic."""
_SPREADS = {"se", "sem", "moe", "fehler", "uncertainty", "unc"}
_JOINS = re.compile(r"\s*[/:÷−]\s*|\s+(?:-|vs\.?|over)\s+")
"""Between two names, of what is computed from both; "jit-parallel" may be an arm with both."""
_UNIT_BEHIND = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*$")
_CENTRAL = known.MEAN_WORDS | known.MEDIAN_WORDS | {"estimate", "est"}
_WORD = re.compile(r"[^\W_]+")


def headings_of(names: tuple[str, ...]) -> tuple[Heading, ...]:
    """The meanings of all headings of a table."""
    words = {word for name in names for word in split_words(name)}
    minutes = not words & {"max", "avg", "mean", "median", "average", "maximum"}
    timed = "user" in words and bool(words & {"system", "sys"})
    headings = [
        _of_processor(name) if timed and key_of(name) in _PROCESSOR else heading_of(name, minutes)
        for name in names
    ]
    return tuple(_computed(_with_bounds(headings)))


def _of_processor(name: str) -> Heading:
    if key_of(name) == "real":
        return Heading(name, Role.METRIC, Metric(TIME, "", False, name))
    return Heading(name, Role.COST, Metric(name, "", False, name))


def _with_bounds(headings: Sequence[Heading]) -> list[Heading]:
    """The headings, those that say how far numbers of another one lie apart as statistics of it."""
    stems = [frozenset(_WORD.findall(heading.name.lower())) for heading in headings]
    central = {
        stem - _CENTRAL: heading
        for stem, heading in zip(stems, headings, strict=True)
        if stem and (stem - _CENTRAL or stem & _CENTRAL)
    }
    meanings = []
    for stem, heading in zip(stems, headings, strict=True):
        meaning = heading
        for word in stem & (_BOUNDS.keys() | _SPREADS):
            rest = stem - {word}
            other, statistic = _BOUNDS.get(word, ("", "stddev"))
            base = central.get(rest)
            if base is not None and (rest | {other} in stems if other else rest):
                meaning = _statistic_of(base, heading.name, statistic)
        meanings.append(meaning)
    return meanings


def _statistic_of(base: Heading, name: str, statistic: str) -> Heading:
    if base.metric is None:
        return Heading(name, Role.STATISTIC, Metric(name, "", None, name), statistic)
    stem = "latency" if base.metric.name == LATENCY else base.metric.name
    stem = stem.removesuffix(f"_{base.statistic}")
    higher = None if statistic == "stddev" else base.metric.higher_is_better
    metric = Metric(f"{stem}_{statistic}", base.metric.unit, higher, name)
    return replace(base, name=name, role=Role.STATISTIC, metric=metric, statistic=statistic)


def _computed(headings: Sequence[Heading]) -> list[Heading]:
    """The headings; one that joins those of two others of one kind is computed from them."""
    named = {_bare(heading.name): heading for heading in headings}
    return [
        Heading(heading.name, Role.DERIVED) if _joins(heading, named) else heading
        for heading in headings
    ]


def _joins(heading: Heading, named: Mapping[str, Heading]) -> bool:
    name = _bare(heading.name)
    for join in _JOINS.finditer(name):
        first, second = named.get(name[: join.start()]), named.get(name[join.end() :])
        if first is None or second is None:
            continue
        # A sum divided by a count is a mean, and work by time a rate.
        counts = [part.role in (Role.COUNT, Role.COUNTER) for part in (first, second)]
        if all(counts) == any(counts) and (heading.role is not Role.METRIC or heading.rest):
            return True
    return False


def _bare(name: str) -> str:
    return _UNIT_BEHIND.sub("", name).strip().lower()
