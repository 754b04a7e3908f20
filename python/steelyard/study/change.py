"""One change of a study: a key, its value, and the text that sets it on a command line."""

from __future__ import annotations

import re
from typing import Self

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""What a string of TOML may only hold spelt out."""


class Change(str):
    """`KEY=VALUE` whose value is known: nothing reads it again from its text, which stands in
    records and repeats the command. A plain string is one as it was typed.

    >>> Change("source.place", "/data")
    'source.place="/data"'
    """

    key: str
    value: object

    def __new__(cls, key: str, value: object) -> Self:
        """`value`: a text, truth value, number, or a list or table of such."""
        change = super().__new__(cls, f"{key}={toml_text(value)}")
        change.key, change.value = key, value
        return change

    def __reduce__(self) -> tuple[type[Change], tuple[str, object]]:
        return type(self), (self.key, self.value)


def key_of(change: str) -> str:
    """The key that a change is of: `"workload.clients"`."""
    return change.partition("=")[0].strip()


def toml_text(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return '"' + _CONTROL.sub(lambda letter: f"\\u{ord(letter[0]):04x}", escaped) + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, dict):
        rows = (f"{toml_key(key)} = {toml_text(each)}" for key, each in value.items())
        return "{" + ", ".join(rows) + "}"
    return str(value)


def toml_key(key: str) -> str:
    """A key as TOML has it, in quotes where it must be."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_text(key)
