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
    node = value
    for step in path:
        node = node.get(step) if isinstance(node, dict) and isinstance(step, str) else None
    return None if node is None else _float(document, node, (*base, *path), number)


def numbers_at(document: Document, node: Any, path: Path, number: int = 0) -> list[float]:
    """The numbers of a list, which stands at a path in the `number`-th value of a document."""
    if not isinstance(node, list):
        place = document.place(number, path)
        raise document.source.error("a list of numbers is expected here", place)
    return [_float(document, entry, (*path, index), number) for index, entry in enumerate(node)]


def words_at(value: Any, path: Sequence[str]) -> str:
    """What stands at a path, as text; empty where there is nothing."""
    node = value
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return "" if node is None or isinstance(node, dict | list) else str(node)


def _float(document: Document, node: Any, path: Path, number: int) -> float:
    if not isinstance(node, Number):
        raise document.source.error("a number is expected here", document.place(number, path))
    values, _ = floats_of(
        [node], document.source, lambda _: document.place(number, path), positive=False
    )
    return float(values[0])
