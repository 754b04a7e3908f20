"""Takes numbers and words out of JSON of other tools, with the place of what is no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.foreign.json.document import Document, Number, Path
from steelyard.foreign.number import floats_of


def number_at(
    document: Document, value: Any, path: Path, number: int = 0, base: Path = ()
) -> float | None:
    """The number at a path in a value, which stands at `base` in the `number`-th of a document;
    None where there is none, or null. NumbersError where something else stands there."""
    found = value
    for step in path:
        found = found.get(step) if isinstance(found, dict) and isinstance(step, str) else None
    return None if found is None else _float(document, found, (*base, *path), number)


def numbers_at(document: Document, found: Any, path: Path, number: int = 0) -> list[float]:
    """The numbers of a list, which stands at a path in the `number`-th value of a document."""
    if not isinstance(found, list):
        place = document.place(number, path)
        raise document.source.error("a list of numbers is expected here", place)
    return [_float(document, one, (*path, index), number) for index, one in enumerate(found)]


def words_at(value: Any, path: Sequence[str]) -> str:
    """What stands at a path, as text; empty where there is nothing."""
    found = value
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return "" if found is None or isinstance(found, dict | list) else str(found)


def _float(document: Document, found: Any, path: Path, number: int) -> float:
    if not isinstance(found, Number):
        raise document.source.error("a number is expected here", document.place(number, path))
    values, _ = floats_of(
        [found], document.source, lambda _: document.place(number, path), positive=False
    )
    return float(values[0])
