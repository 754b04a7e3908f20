"""Decides by the text of a statement whether it writes; what is not sure is taken to write."""

from __future__ import annotations

import re

_LEADING = re.compile(r"\A(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_ANYWHERE = re.compile(
    r"\b(insert|update|delete|merge|truncate|copy|call|do|create|alter|drop|vacuum|analyze"
    r"|cluster|reindex|refresh|nextval|setval|into)\b",
    re.IGNORECASE,
)
"""What a statement of another kind can write with, wherever it stands."""
_OF_QUERIES = re.compile(
    r"\binto\b|\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\block\s+in\s+share\b"
    r"|\b(?:nextval|setval)\b",
    re.IGNORECASE,
)
"""What writes in a query: rows are locked, a table is made, a sequence goes on."""
_CHANGES = re.compile(r"\b(?:insert|update|delete|merge)\b", re.IGNORECASE)
_EXPLAINED = re.compile(
    r"\Aexplain\b(?:\s*\([^()]*\)|\s+(?:analy[zs]e|verbose|extended|format\s*=\s*\w+)\b)*",
    re.IGNORECASE,
)
_COPIED_OUT = re.compile(
    r"copy\s+(?:[^\s()]+(?:\s*\([^()]*\))?|\((?!.*\bprogram\b).*\))\s*"
    r"\bto\s+(?:stdout\b|'/dev/null')",
    re.IGNORECASE | re.DOTALL,
)
"""To the client, or to nowhere: not into a file of the server, and through no program."""


def writes(statement: str) -> bool:
    """Whether a statement writes, as far as its text shows. A function that writes is not seen: a
    study then says cost = "whole" itself."""
    text = _LEADING.sub("", statement, count=1)
    first = _WORD.match(text)
    word = first[0].lower() if first else ""
    if word == "explain":
        return writes(_EXPLAINED.sub("", text, count=1))
    if word in ("select", "values", "table"):
        return _OF_QUERIES.search(text) is not None
    if word == "with":
        return bool(_OF_QUERIES.search(text) or _CHANGES.search(text))
    if word == "copy":
        return _COPIED_OUT.match(text) is None or _CHANGES.search(text) is not None
    return _ANYWHERE.search(text) is not None
