"""Hides what servers quote in their messages: rows, of which only their tables are told, and pieces
of statements that begin anywhere, also within a literal."""

from __future__ import annotations

import re

from steelyard.model.secrets.secret import LEFT_OUT

_LINE_OF_COPY = re.compile(r", line \d{1,20}")
_FAILING = "Failing row contains ("
_KEY = "Key ("
_SECRET_COLUMN = re.compile(
    r"pass|pwd|pw\b|secret|token|key|cred|auth|jwt|cookie|sig", re.IGNORECASE
)
_EXCERPT = re.compile(r"(LINE \d{1,20}: )(\.\.\.)?")
_FIRST_LINE = "LINE 1: "
_ENDS = r"\"(?:\n|\Z| at character \d| \(SQLSTATE)"
_LITERAL_NEAR = re.compile(
    rf"(\bat or near \")(?=(?:[A-Za-z]|[uU]&)?(?:['\"]|\$(?!\d)))[\s\S]*?(?={_ENDS}|\Z)"
)
"""What PostgreSQL cannot read (scan.l: the rest of the text, where a quote is not closed)."""
_USE_NEAR = re.compile(r"(right syntax to use near ')([\s\S]*?)(?=' at line \d|\Z)")
_UNCLOSED = re.compile(
    r"(Unclosed quotation mark (?:after|before) the character string ')[\s\S]*?(?='\.|\Z)"
)
_AT_COLUMN = re.compile(
    r"(?P<before>\b(?:Duplicate entry|Incorrect \w{1,20} value:) ')(?P<value>[^\n]{0,300}?)"
    r"(?P<after>' for (?:key|column) (?P<column>[^\n]{1,200}))"
)
"""Of MySQL and MariaDB."""
_DUPLICATE_KEY = re.compile(
    r"(?P<before>\bconstraint '(?P<column>[^'\n]{1,200})'[^\n]{0,300}?"
    r"The duplicate key value is \()(?P<value>[^\n]*)(?P<after>)"
)
"""Of SQL Server."""
_PARAMETERS = re.compile(
    r": (?=\$1 = )(?>(?:(?:, )?\$\d{1,5} = (?:'(?>(?:[^']++|'')*)(?:'|\Z)|NULL\b))+)"
)
"""Of a statement, as PostgreSQL logs them in any language: of which columns, is not told."""
_QUOTED = re.compile(r"'(?>(?:[^']++|'')*)(?:'|\Z)")


def without_quotes(text: str) -> str:
    """The text with each of them replaced."""
    if " near " in text:
        text = _LITERAL_NEAR.sub(rf"\1{LEFT_OUT}", text)
        text = _USE_NEAR.sub(_without_near, text)
    if "Unclosed" in text:
        text = _UNCLOSED.sub(rf"\1{LEFT_OUT}", text)
    if "Duplicate entry" in text or "Incorrect " in text:
        text = _AT_COLUMN.sub(_without_value, text)
    if "duplicate key value is" in text:
        text = _DUPLICATE_KEY.sub(_without_value, text)
    if ": $1 = " in text:
        text = _PARAMETERS.sub(lambda run: _QUOTED.sub(f"'{LEFT_OUT}'", run[0]), text)
    if not any(mark in text for mark in ("COPY ", _FAILING, _KEY, "LINE ")):
        return text
    return "\n".join(map(_without_row, text.split("\n")))


def _without_near(match: re.Match[str]) -> str:
    """An excerpt with a quote in it may begin within a literal."""
    return f"{match[1]}{LEFT_OUT}" if set("'\"`") & {*match[2]} else match[0]


def _without_value(match: re.Match[str]) -> str:
    if not match["value"] or _SECRET_COLUMN.search(match["column"]) is None:
        return match[0]
    return f"{match['before']}{LEFT_OUT}{match['after']}"


def _without_row(line: str) -> str:
    copied = line.find("COPY ")
    if copied >= 0 and (place := _LINE_OF_COPY.search(line, copied)) is not None:
        quoted = line.find(': "', place.end())
        line = line if quoted < 0 else f"{line[: quoted + 2]}{LEFT_OUT}"
    failing = line.find(_FAILING)
    if failing >= 0:
        line = f"{line[: failing + len(_FAILING) - 1]}{LEFT_OUT}"
    at = line.find(_KEY)
    while at >= 0 and (values := line.find(")=(", at)) >= 0:
        if _SECRET_COLUMN.search(line, at + len(_KEY), values):
            line = f"{line[: values + 2]}{LEFT_OUT}"
            break
        at = line.find(_KEY, values)
    return _without_excerpt(line)


def _without_excerpt(line: str) -> str:
    """Of a line that is cut at its beginning, or is not a statement's first, what came before it is
    not known: a literal in it may be at any name."""
    excerpt = _EXCERPT.match(line)
    if excerpt is None or (line.startswith(_FIRST_LINE) and not excerpt[2]):
        return line
    if not set("'\"$") & {*line[excerpt.end() :]}:
        return line
    return f"{excerpt[1]}{LEFT_OUT}"
