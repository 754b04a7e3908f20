"""Reads the values of a JSON text, numbers as they were written, and finds the place of each.

The place is for errors, which name line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.foreign.number import floats_of
from steelyard.foreign.source import SourceText, TextPosition, quoted

_SPACE = re.compile(r"\s*")
_BLANKS = re.compile(r"[ \t\n\r]*")
# Numbers stay text: only their ends matter here, and Python refuses integers of many digits.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)

Path = Sequence[str | int]
"""Keys and places in lists, from the outermost value inwards."""


@dataclass(frozen=True, eq=False)
class Document:
    """The values of a JSON text, numbers kept as they were written, and where each began."""

    source: SourceText
    values: tuple[Any, ...]
    starts: tuple[int, ...]

    def place(self, value: int, path: Path) -> TextPosition:
        """The place of what lies at `path` in the given value."""
        return self.source.place_of(offset_of(self.source.text, path, self.starts[value]))


class Number(str):
    """A number as it was written: its type differs from that of a string."""

    __slots__ = ()


class _RepeatedKeyError(ValueError):
    """An object has a key twice."""


def read_document(source: SourceText) -> Document:
    """All JSON values of a text, one after the other; NumbersError with the place of a fault."""
    decoder = json.JSONDecoder(
        parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_object
    )
    text, values, starts = source.text, [], []
    at = _after_blanks(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            position = source.place_of(error.pos)
            raise source.error(f"this is not JSON: {_lower_first(error.msg)}", position) from None
        except _RepeatedKeyError as repeated:
            offset = repeated_key(text, at)
            position = source.place_of(at if offset is None else offset)
            raise source.error(
                f"{quoted(str(repeated))} stands twice in one object",
                position,
                hint="Join its numbers in one list, or give one of them another name.",
            ) from None
        except RecursionError:
            raise source.error(
                "nested too deeply for a file of numbers", TextPosition(1, 1)
            ) from None
        values.append(value)
        starts.append(at)
        at = _after_blanks(text, end)
    return Document(source, tuple(values), tuple(starts))


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    node = dict(members)
    if len(node) != len(members):
        # A parser keeps the last of them; the other's numbers would be lost silently.
        names = [name for name, _ in members]
        raise _RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return node


def _after_blanks(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]


def offset_of(text: str, path: Path, start: int = 0) -> int:
    """The offset of the value at `path` in a text that is valid JSON from `start` on."""
    at = _skip(text, start)
    for step in path:
        at = _member(text, at, step) if isinstance(step, str) else _item(text, at, step)
    return at


def repeated_key(text: str, start: int = 0) -> int | None:
    """The offset of the first key that its object already has; None where there is none."""
    inside: list[set[str] | None] = []
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{[":
            inside.append(set() if token[0] == "{" else None)
        elif token[0] in "}]":
            del inside[-1:]
        elif inside and (keys := inside[-1]) is not None and _names(text, token.end()):
            name = json.loads(token[0], strict=False)
            if name in keys:
                return token.start()
            keys.add(name)
    return None


def _names(text: str, end: int) -> bool:
    """Whether a string that ends there is a key: a colon follows."""
    at = _skip(text, end)
    return text.startswith(":", at)


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _item(text: str, at: int, index: int) -> int:
    at = _skip(text, at + 1)
    for _ in range(index):
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        at = _skip(text, at + 1)  # the comma
    return at


def _member(text: str, at: int, key: str) -> int:
    """The value of the last member of that name: the one that a parser keeps."""
    offset = at
    while text[at] != "}":
        at = _skip(text, at + 1)
        if text[at] == "}":
            break
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        if name == key:
            offset = at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return offset


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
        position = document.place(number, path)
        raise document.source.error("a list of numbers is expected here", position)
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
