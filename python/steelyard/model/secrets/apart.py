"""Hides values that stand apart from the secret names that they go with: those of statements that
were prepared, in EXECUTE and sp_executesql, and what is compared with columns behind it."""

from __future__ import annotations

import re

from steelyard.model.secrets.secret import is_surely_secret
from steelyard.model.secrets.secret_values import (
    COMMA,
    GAP,
    PART,
    hide,
    left_out,
    literal_end,
    replace_behind,
    unquoted,
    without_arguments,
    without_literals,
)

_PREPARED = re.compile(
    rf"\bprepare\s{{1,20}}(?P<name>{PART})\s{{0,20}}(?:\([^()]{{0,500}}\)\s{{0,20}})?"
    rf"\b(?:as|from)\b(?P<body>[^;]{{1,5000}})",
    re.IGNORECASE,
)
_EXECUTED = re.compile(rf"\bexecute\s{{1,20}}(?P<name>{PART})\s{{0,20}}(?=\()", re.IGNORECASE)
_USING = re.compile(
    rf"\bexecute\s{{1,20}}(?P<name>{PART})\s{{1,20}}using\s{{1,20}}"
    r"(?P<variables>@[\w$.]{1,64}(?:\s{0,9},\s{0,9}@[\w$.]{1,64}){0,99})",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(rf"(?P<name>@[\w$.]{{1,64}})\s{{0,9}}:?={GAP}(?=[nN]?['\"])")
_EXECUTES = re.compile(
    rf"\bsp_executesql\b{GAP}(?:@\w{{1,128}}\s{{0,9}}=\s{{0,9}})?(?=n?')", re.IGNORECASE
)
_NAME = re.compile(r"\w{1,100}+")
_LITERAL = r"(?:\b[en])?'(?>(?:[^'\\]|''|\\[\s\S]){0,500})'"
_COMPARED = re.compile(
    rf"(?P<values>\((?>(?:[^()';]{{1,500}}+|{_LITERAL}){{1,2000}})\)|{_LITERAL}){GAP}"
    rf"(?:=|<>|!=|(?:not\s{{1,9}})?\bin\b|\bis\s{{1,9}}(?:not\s{{1,9}})?distinct\s{{1,9}}from\b)"
    rf"{GAP}(?:(?:any|some|all)\b{GAP})?"
    rf"(?:\({GAP}select\b(?P<selected>[^();']{{1,2000}}?)\bfrom\b"
    rf"|\((?P<columns>[^()';]{{1,2000}}+)\)"
    rf"|(?P<column>(?:{PART}\s?\.\s?){{0,3}}{PART}))",
    re.IGNORECASE,
)
"""What is compared with columns that stand behind it: (…) = (name, password)."""


def without_prepared(text: str) -> str:
    """The text without the values that it executes statements with which it prepares and which
    name a secret."""
    secret = {
        _plain(prepared["name"])
        for prepared in _PREPARED.finditer(text)
        if _names_secret(prepared["body"])
    }
    variables = {
        _plain(variable)
        for executed in (_USING.finditer(text) if secret else ())
        if _plain(executed["name"]) in secret
        for variable in executed["variables"].split(",")
    }

    def arguments(match: re.Match[str]) -> tuple[str, int] | None:
        return without_literals(text, match.end()) if _plain(match["name"]) in secret else None

    def value(match: re.Match[str]) -> tuple[str, int] | None:
        end = literal_end(text, match.end()) if match["name"].lower() in variables else None
        return left_out(text, match.end(), end)

    if secret:
        text = replace_behind(_EXECUTED, text, arguments)
    if variables:
        text = replace_behind(_ASSIGNED, text, value)
    return replace_behind(_EXECUTES, text, _parameters_left_out)


def _parameters_left_out(match: re.Match[str]) -> tuple[str, int] | None:
    """The arguments behind a statement that names a secret."""
    text, start = match.string, match.end()
    end = literal_end(text, start)
    comma = COMMA.match(text, end) if end is not None and _names_secret(text[start:end]) else None
    if comma is None:
        return None
    arguments, past = without_arguments(text, comma.end())
    return text[start : comma.end()] + arguments, past


def without_compared(text: str) -> str:
    """The text without the literals that are compared with a secret column behind them."""
    parts, at = list[str](), 0
    while (match := _COMPARED.search(text, at)) is not None:
        names = match["selected"] or match["columns"] or match["column"]
        start, end = match.span("values")
        if not _names_secret(names):
            parts.append(text[at : start + 1])
            at = start + 1
            continue
        values = text[start:end]
        if values[0] == "(":
            mark = without_literals(values, 0)[0]
        else:
            hidden = hide(values, 0, len(values))
            mark = hidden.mark if hidden else values
        parts += [text[at:start], mark]
        at = end
    return "".join([*parts, text[at:]])


def _plain(name: str) -> str:
    return unquoted(name).lower()


def _names_secret(text: str) -> bool:
    return any(map(is_surely_secret, set(_NAME.findall(text))))
