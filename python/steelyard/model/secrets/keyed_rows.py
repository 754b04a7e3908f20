"""Hides values that the name of a secret stands beside in a row, as tables of settings have them:
SET value = '…' WHERE key = 'smtp_password', (value, key) VALUES ('…', 'api_token')."""

from __future__ import annotations

import re
from functools import lru_cache

from steelyard.model.secrets.secret import LEFT_OUT, is_secret
from steelyard.model.secrets.secret_values import (
    COLUMNS,
    GAP,
    hide,
    literal_end,
    replace_behind,
)
from steelyard.model.secrets.written_rows import COPIED, LINE_OF_ROW, OVERRIDING, ROWS, TABLE

_UPDATE = re.compile(
    rf"\bupdate\s{{1,20}}(?:only\s{{1,9}})?{TABLE}"
    rf"(?:\s{{1,9}}(?:as\s{{1,9}})?(?!set\b)\w{{1,63}})?{GAP}set\b",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"{COLUMNS}{GAP}{OVERRIDING}{ROWS}", re.IGNORECASE)
_OF_VALUES = frozenset(re.findall(r"\w+", "val value vals values content data setting text"))
"""Words of columns whose names do not say what they hold."""
_SET = re.compile(r"([\w$]{1,130}+)[\"`\]]?\s{0,9}=[\s(]{0,9}\Z")
_OF_CASE = re.compile(r"\b(?:then|else)\s{1,9}\Z", re.IGNORECASE)
_COMMENT = re.compile(r"/\*[^*]{0,200}\*/|--[^\n]{0,200}\n")
_PIECE = re.compile(
    r"(?P<comment>--[^\n]*+|/\*[\s\S]*?(?:\*/|\Z))|(?P<literal>(?:\b[en])?'|\$\w{0,62}\$)"
    r"|(?P<where>\bwhere\b)|(?P<when>\bwhen\s{1,9}(?='))|(?P<end>;"
    r"|(?<!\bdo )(?<!\bdo\n)\bupdate\b|\b(?:insert|replace|merge)\s{1,9}into\b)",
    re.IGNORECASE,
)
_BEFORE = 200
"""Characters before a literal, in which what it is set to stands."""
_KEY = re.compile(r"[eEnN]?['$]?([\w.:/-]{2,100})['$]?")
_MOST = 20_000
"""Characters of a statement."""
_Piece = tuple[int, int, str]
"""Of a statement: where it begins and ends, and its kind."""


def without_keyed_values(text: str) -> str:
    """The text without the literals of rows in which another literal names a secret, where they
    are of columns that are called by nothing: value, data."""
    text = replace_behind(_UPDATE, text, _assigned_left_out)
    text = replace_behind(_LISTED, text, _rows_left_out)
    return replace_behind(COPIED, text, _lines_left_out)


def _assigned_left_out(match: re.Match[str]) -> tuple[str, int] | None:
    text, keys, values = match.string, list[_Piece](), list[_Piece]()
    led_by = ""
    for piece in _pieces(text, match.end()):
        kind = piece[2]
        if kind == "literal":
            (keys if led_by else values).append(piece)
        led_by = kind if kind != "literal" else "where" if led_by == "where" else ""
    if not any(_names_secret(text[start:end]) for start, end, _ in keys):
        return None
    return _without(text, match.end(), [piece for piece in values if _is_value(text, piece[0])])


def _is_value(text: str, at: int) -> bool:
    """Whether a literal there is set to a column that is called by nothing, or is of a CASE."""
    before = _COMMENT.sub(" ", text[max(0, at - _BEFORE) : at])
    column = _SET.search(before)
    return _OF_CASE.search(before) is not None or (column is not None and _holds_any(column[1]))


def _rows_left_out(match: re.Match[str]) -> tuple[str, int] | None:
    text = match.string
    if not _names_values(match):
        return None
    literals = [piece for piece in _pieces(text, match.end()) if piece[2] == "literal"]
    values = [piece for piece in literals if not _names_secret(text[piece[0] : piece[1]])]
    return _without(text, match.end(), values) if len(values) < len(literals) else None


def _lines_left_out(match: re.Match[str]) -> tuple[str, int] | None:
    text, at, lines = match.string, match.end(), list[str]()
    if not _names_values(match):
        return None
    while at < len(text) and (row := LINE_OF_ROW.match(text, at)) is not None:
        names_secret = any(map(_names_secret, row[0].rstrip("\n").split("\t")))
        lines.append(f"{LEFT_OUT}\n" if names_secret else row[0])
        at = row.end()
    return "".join(lines), at


def _names_values(match: re.Match[str]) -> bool:
    """Whether one of its columns is called by nothing."""
    return any(map(_holds_any, (match["columns"] or "").split(",")))


def _without(text: str, at: int, literals: list[_Piece]) -> tuple[str, int]:
    """The text from a place on without some of its literals, up to the end of the last one."""
    parts = list[str]()
    for start, end, _ in literals:
        hidden = hide(text, start, end)
        parts += [text[at:start], hidden.mark if hidden else text[start:end]]
        at = end
    return "".join(parts), at


def _pieces(text: str, at: int) -> list[_Piece]:
    """The literals of a statement from a place on, and the words that tell what they are."""
    pieces, bound = list[_Piece](), min(len(text), at + _MOST)
    while (piece := _PIECE.search(text, at, bound)) is not None and not piece["end"]:
        at, kind = piece.end(), piece.lastgroup or ""
        if kind == "literal":
            at = literal_end(text, piece.start()) or at
        if kind != "comment":
            pieces.append((piece.start(), at, kind))
    return pieces


@lru_cache(maxsize=4096)
def _names_secret(literal: str) -> bool:
    match = _KEY.fullmatch(literal)
    return match is not None and is_secret(match[1])


@lru_cache(maxsize=4096)
def _holds_any(column: str) -> bool:
    """Whether a column is called by nothing that it holds."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower())
    return not _OF_VALUES.isdisjoint(words)
