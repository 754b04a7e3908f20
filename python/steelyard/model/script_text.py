"""Cuts the text of a script in pgbench's language into backslash commands and statements."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from steelyard._core import script_statements

VARIABLE = re.compile(r"(?<!:):([A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)", re.ASCII)
"""A variable that a script reads, and no cast."""
TEXTS = r"\b[eE]'(?:[^'\\\n]|''|\\[^\n])*'|'[^'\n]*'|--[^\n]*|/\*.*?\*/"
"""Strings of one line and comments, in which no command stands."""
_COMMAND = re.compile(
    rf"{TEXTS}|\\;"
    r"|\\(?P<verb>set|if|elif|else|endif|sleep|draw|[ag]set|(?:start|sync|end)pipeline)\b"
    r"(?P<rest>(?:\\\r?\n|[^\n])*)",
    re.IGNORECASE | re.DOTALL,
)
"""Also what parts the statements of one message, and backslash commands."""


def commands(text: str) -> list[re.Match[str]]:
    """The backslash commands of a script, each with its `verb` and the `rest` of its lines."""
    return [match for match in _COMMAND.finditer(text) if match["verb"] is not None]


def without_commands(text: str, exempt: Collection[int] = ()) -> str:
    """A script in which a semicolon stands for each backslash command, but for those that begin at
    `exempt`, and parts the statements of a message."""

    def replacement(match: re.Match[str]) -> str:
        if match["verb"] is None:
            return ";" if match[0] == "\\;" else match[0]
        return match[0] if match.start() in exempt else ";"

    return _COMMAND.sub(replacement, text)


def split_statements(
    name: str, text: str, variables: Mapping[str, str], dialect: str = "postgres"
) -> list[str]:
    """The statements of a text as the driver cuts them, those of one message each by itself,
    variables filled in. ValueError: it is wrong, with its place."""
    values = dict(variables)
    messages = script_statements(name, text, values, dialect=dialect)
    return [
        statement
        for message in messages
        for statement in script_statements(name, message, values, dialect=dialect)
    ]
