"""Shortens names to some letters in such a way that those that differ are still told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LEAST_ROOM = 4
"""Letters: with fewer there is none for what tells names apart."""
_BEFORE = 3
"""Letters that are shown before the first one in which names differ."""


def apart(names: Sequence[str], room: int) -> list[str]:
    """The names, none longer than `room` (at least LEAST_ROOM) letters: cut at their ends, or
    around where they differ if what is left would be the same: `"…128MB"` and `"…16GB"`."""
    room = max(room, LEAST_ROOM)
    shortened: dict[str, str] = {}
    for alike in _grouped({name: name[: room - 1] for name in names}):
        differ = _common_letters(alike)
        for name in alike:
            several = len(alike) > 1
            shortened[name] = _around(name, differ, room) if several else _beginning(name, room)
    for alike in _grouped(shortened):
        for number, name in enumerate(alike if len(alike) > 1 else (), 1):
            end = f"…{number}"  # names of one letter alone, or more than two of them
            shortened[name] = shortened[name][: max(room - len(end), 0)] + end
    return [shortened[name] for name in names]


def _common_letters(names: Sequence[str]) -> int:
    """How many letters all of them begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(last)))


def _grouped(of: Mapping[str, str]) -> list[list[str]]:
    """The names that have the same, together."""
    groups: dict[str, list[str]] = {}
    for name, value in of.items():
        groups.setdefault(value, []).append(name)
    return [*groups.values()]


def _beginning(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _around(name: str, position: int, room: int) -> str:
    """The end of a name where that holds the position, else what stands there."""
    if len(name) <= room:
        return name
    if len(name) - (room - 1) <= position:
        return f"…{name[1 - room :]}"
    start = max(position - _BEFORE, 0) if room > 2 * _BEFORE else position
    return _beginning(f"…{name[start:]}", room) if start else _beginning(name, room)
