"""Reads what is swept: one key of a study, and the values that it takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.model.errors import UsageError
from steelyard.study.change import short_key

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
MOST = 32


@dataclass(frozen=True)
class Sweep:
    """A key and its values, in the order in which they are told."""

    key: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key without the tables it is in: `"clients"`."""
        return short_key(self.key)

    def overrides(self, changes: Sequence[str], value: str) -> list[str]:
        """The changes of a study at one point. Arms are judged once, at the end of the plan: so
        the intervals of all points can hold together."""
        return [*changes, f"{self.key}={value}", "decision.judged=separately"]


def read_sweep(text: str) -> Sweep:
    """`"workload.clients=8,32,256"`. UsageError: another form, one value, the same twice, or none
    before a comma."""
    key, equals, listed = text.partition("=")
    values = values_of(listed)
    use = "Write it as KEY=V,V,...: --sweep workload.clients=8,32,256"
    if not equals or not key.strip():
        raise UsageError(f'invalid sweep: "{text}"', hint=use)
    if "" in _pieces(listed)[:-1]:  # a comma may end the list
        raise UsageError(
            f'a sweep has no value before a comma: "{text}"',
            hint="An empty text is written '': --sweep \"arm.settings.NAME='',V\"",
        )
    if not 2 <= len(values) <= MOST:
        raise UsageError(
            f"a sweep has 2 to {MOST} values, not {len(values)}: {key.strip()}", hint=use
        )
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise UsageError(f'a sweep has the value "{twice}" twice')
    if key.strip().startswith(_ALIKE):
        raise UsageError(f"cannot sweep {key.strip()}: all points are judged alike, at their end")
    return Sweep(key.strip(), tuple(sorted(values, key=_numerically)))


def values_of(listed: str) -> tuple[str, ...]:
    """`"8,32,256"` → its values as they stand; commas within brackets, braces and quotes are no
    borders."""
    return tuple(filter(None, _pieces(listed)))


def _pieces(listed: str) -> list[str]:
    """What stands between commas, which may be nothing."""
    pieces, depth, position = [""], 0, 0
    while position < len(listed):
        letter = listed[position]
        # Within a word an apostrophe is one: it's.
        quoted = _QUOTED.match(listed, position) if depth or not pieces[-1].strip() else None
        word = quoted[0] if quoted else letter
        position += len(word)
        depth = max(0, depth + (word in ("[", "{")) - (word in ("]", "}")))
        if word == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += word
    return [piece.strip() for piece in pieces]


def _numerically(value: str) -> tuple[int, float, str]:
    """Numbers, with a unit perhaps, by size; other words after them, as they are spelt."""
    match = _NUMBER.fullmatch(value)
    if match is None:
        return (1, 0.0, value)
    size = _UNITS.get(match[2]) or _UNITS.get(match[2].lower(), 1.0)
    return (0, float(match[1]) * size, value)


_NUMBER = re.compile(r"'?(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z\u00b5\u03bc%]*)'?")
_ALIKE = ("decision.judged", "decision.first", "decision.open", "decision.margin")
"""Keys of which all points have one value: they stand in one sentence, with one margin."""
_UNITS = {
    "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0,
    "h": 3600.0, "d": 86400.0, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6,
    "k": 1e3, "M": 1e6, "g": 1e9, "t": 1e12, "kib": 1e3, "mib": 1e6, "gib": 1e9, "tib": 1e12,
}  # fmt: skip
"""As sizes and durations are written; by its letter's case a lone M is a size, and m a minute."""
