"""Finds where a value stands in a JSON text, so that an error can name its line and column."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_BLANKS = re.compile(r"[ \t\n\r]*")
# Numbers stay text: only their ends are asked for, and Python refuses integers of many digits.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)

Path = Sequence[str | int]
"""Keys and places in lists, from the outermost value inwards."""


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


def _item(text: str, at: int, wanted: int) -> int:
    at = _skip(text, at + 1)
    for _ in range(wanted):
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        at = _skip(text, at + 1)  # the comma
    return at


def _member(text: str, at: int, wanted: str) -> int:
    """The value of the last member of that name: the one that a parser keeps."""
    found = at
    while text[at] != "}":
        at = _skip(text, at + 1)
        if text[at] == "}":
            break
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        if name == wanted:
            found = at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
    return found
