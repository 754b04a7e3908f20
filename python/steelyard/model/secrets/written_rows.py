"""Hides rows that statements write into tables: INSERT, REPLACE, MERGE, UPDATE of several columns,
and COPY with its rows.

Where no columns are named, those of a CREATE TABLE in the same text count; else the name of the
table says whether it holds logins. What then is left, only its looks could tell from data.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial

from steelyard.model.secrets.secret import LEFT_OUT, is_secret, is_surely_secret
from steelyard.model.secrets.secret_values import (
    COLUMNS,
    GAP,
    PART,
    hide,
    literal_end,
    replace_behind,
    unquoted,
    without_literals,
)

TABLE = rf"(?P<table>{PART}(?:\s?\.\s?{PART}){{0,3}})"
OVERRIDING = r"(?:overriding\s{1,9}\w{1,9}\s{1,9}value\s{1,9})?"
ROWS = r"(?P<rows>values?\b(?=\s{0,20}(?:row\s{0,9})?\())"
_QUERY = r"(?P<query>select\b)"
_LISTED = re.compile(
    rf"{COLUMNS}{GAP}{OVERRIDING}(?:output\s[^();']{{1,200}}?(?=\b(?:values?|select)\b))?"
    rf"(?:as{GAP}(?:(?:not\s{{1,9}})?materialized{GAP})?(?:\({GAP})?)?"
    rf"(?:{ROWS}|{_QUERY}|=\s{{0,9}}(?:\(\s{{0,9}}(?P<inner>select\b)|(?:row\s{{0,9}})?(?=\()))",
    re.IGNORECASE,
)
"""Columns in parentheses, and what stands for their values."""
_INTO = re.compile(rf"\b(?:into|replace)\s{{1,20}}{TABLE}{GAP}\Z", re.IGNORECASE)
_NEAR_TABLE = 300
_PLAIN_COLUMNS = frozenset(
    re.findall(r"\w+", "body content contents data digest hash key plaintext raw val value")
)
_ROWS_IN = re.compile(rf"\({GAP}values\b(?=\s{{0,20}}(?:row\s{{0,9}})?\()", re.IGNORECASE)
_ALIASED = re.compile(rf"{GAP}\){GAP}(?:as\b{GAP})?{PART}{GAP}{COLUMNS}", re.IGNORECASE)
"""Rows in parentheses, and what stands behind them where their columns are named there."""
_MOST_OF_ROWS = 100_000
"""Characters, and in all of them ten times as many."""
_FROM_ROWS = re.compile(rf"{GAP}\({GAP}values\b", re.IGNORECASE)
_POSITIONAL = re.compile(
    r"\b(?:insert|replace)\s{1,20}"
    r"(?:(?:low_priority|high_priority|delayed|ignore|or\s{1,9}\w{4,8})\s{1,9}){0,3}"
    rf"(?:into\s{{1,20}})?{TABLE}{GAP}(?:as\s{{1,9}}\w{{1,63}}\s{{1,9}})?{OVERRIDING}"
    rf"(?:{ROWS}|\(?\s{{0,9}}{_QUERY})",
    re.IGNORECASE,
)
_MERGED = re.compile(
    rf"\bmerge\s{{1,20}}(?:into\s{{1,20}})?(?:only\s{{1,9}})?{TABLE}", re.IGNORECASE
)
_MERGED_ROWS = re.compile(rf"\bthen\s{{1,20}}insert\s{{1,20}}{OVERRIDING}{ROWS}", re.IGNORECASE)
COPIED = re.compile(
    rf"\bcopy\s{{1,20}}{TABLE}\s{{0,20}}(?:{COLUMNS}\s{{0,20}})?from\s{{1,20}}stdin\b"
    r"[^;\n]{0,300};[^\S\n]{0,20}\n",
    re.IGNORECASE,
)
_END_OF_COPY = "\n\\."
LINE_OF_ROW = re.compile(r"[^\t\n]*+\t[^\n]*+(?:\n|\Z)")
_CREATED = re.compile(
    r"\bcreate\s{1,20}(?:(?:global|local|temp|temporary|unlogged|foreign)\s{1,9}){0,2}table\s{1,20}"
    rf"(?:if\s{{1,9}}not\s{{1,9}}exists\s{{1,9}})?{TABLE}\s{{0,20}}\(",
    re.IGNORECASE,
)
_ALTERED = re.compile(
    r"\balter\s{1,20}table\s{1,20}(?:if\s{1,9}exists\s{1,9})?(?:only\s{1,9})?"
    rf"{TABLE}\s[^;]{{0,300}}?\badd\b"
    r"(?!\s{1,9}(?:constraint|primary|unique|foreign|check|key|index)\b)",
    re.IGNORECASE,
)
_PIECE = re.compile(
    r"(?P<comment>--[^\n]*+|/\*[\s\S]*?(?:\*/|\Z))|(?P<literal>'(?>(?:[^']|'')*)'?)"
    rf"|(?P<name>{PART})|(?P<edge>[(),])"
)
_NO_COLUMN = frozenset(
    re.findall(
        r"\w+",
        "check constraint exclude foreign fulltext index key period primary spatial unique",
    )
)
_SELECTED = re.compile(r"[^'$;()f]++|\bfrom\b|f", re.IGNORECASE)
_OF_LOGINS = frozenset(
    re.findall(
        r"\w+",
        "account accounts admin admins auth login logins member members session sessions user "
        "users",
    )
)
"""Words of the names of tables that hold logins."""
_OF_BENCHMARKS = "pgbench"
_CATALOGS = frozenset(
    re.findall(
        r"[\w.]+",
        "mysql.servers mysql.global_priv mysql.slave_master_info pg_authid pg_user_mapping "
        "pg_foreign_server pg_subscription",
    )
)
"""Of servers, with passwords in columns that are called otherwise."""
_NEAR = 50
"""Characters before and behind a literal, in which what it stands between is."""


def inserts_unnamed(statement: str) -> bool:
    """Whether it inserts texts without the names of their columns, so that a password among them
    cannot be told from data."""
    match = _POSITIONAL.search(statement) or _MERGED_ROWS.search(statement)
    if match is None or match["rows"] is None:
        return False
    depth = 0
    for piece in _PIECE.finditer(statement, match.end()):
        depth += {"(": 1, ")": -1}.get(piece["edge"], 0)
        if piece["literal"] and depth == 1 and piece[0].strip("'") not in ("", LEFT_OUT):
            before = statement[max(0, piece.start() - _NEAR) : piece.start()].rstrip()[-1:]
            after = statement[piece.end() : piece.end() + _NEAR].lstrip()[:1]
            if before in ("(", ",") and after in (",", ")", ":"):
                return True  # a value by itself, and no part of an expression
    return False


def without_listed_rows(text: str) -> str:
    """The text without the literals of rows one of whose columns, which are named, is secret."""

    def values(match: re.Match[str]) -> tuple[str, int] | None:
        columns = match["columns"].split(",")
        if not _name_secrets(columns) and not _is_value_of_secrets(text, match.start(), columns):
            return None
        if match["query"] or match["inner"]:
            return _without_selected(text, match.end())
        return without_literals(text, match.end())

    return replace_behind(_LISTED, text, values)


def _is_value_of_secrets(text: str, at: int, columns: Iterable[str]) -> bool:
    """Whether columns that are named there are of a table that is called by secrets, and one is
    called by nothing: secrets (name, value)."""
    if _PLAIN_COLUMNS.isdisjoint(unquoted(column).lower() for column in columns):
        return False
    table = _INTO.search(text[max(0, at - _NEAR_TABLE) : at])
    return table is not None and is_surely_secret(_own_name(table["table"]))


def without_aliased_rows(text: str) -> str:
    """The text without the literals of rows whose columns are named behind them, one a secret."""
    left = 10 * _MOST_OF_ROWS

    def values(match: re.Match[str]) -> tuple[str, int] | None:
        nonlocal left
        start = match.end()
        if left <= 0:
            return None
        hidden, length = without_literals(text[start : start + _MOST_OF_ROWS], 0)
        left -= length
        alias = _ALIASED.match(text, start + length)
        if alias is None or not _name_secrets(alias["columns"].split(",")):
            return None
        return hidden, start + length

    return replace_behind(_ROWS_IN, text, values)


def without_positional_rows(text: str) -> str:
    """The text without those of rows one of whose columns, which are not named, may be secret."""
    tables = cache(partial(_tables, text))

    def values(match: re.Match[str]) -> tuple[str, int] | None:
        if not _holds_secrets(match["table"], tables()):
            return None
        if match["query"]:
            return _without_selected(text, match.end(), spared=_is_part)
        return without_literals(text, match.end())

    text = replace_behind(_POSITIONAL, text, values)
    return text if _MERGED_ROWS.search(text) is None else _without_merged(text, tables)


def _without_merged(text: str, tables: Callable[[], Mapping[str, Sequence[str]]]) -> str:
    """The text without the rows of each MERGE into a table that may hold secrets."""
    merged = list(_MERGED.finditer(text))
    begins = [match.start() for match in merged]

    def values(match: re.Match[str]) -> tuple[str, int] | None:
        number = bisect(begins, match.start())
        if not number or not _holds_secrets(merged[number - 1]["table"], tables()):
            return None
        return without_literals(text, match.end())

    return replace_behind(_MERGED_ROWS, text, values)


def without_copied_rows(text: str) -> str:
    """The text without the rows behind a COPY, where one of their columns may be secret."""
    tables, last = cache(partial(_tables, text)), text.rfind(_END_OF_COPY)

    def rows(match: re.Match[str]) -> tuple[str, int] | None:
        columns = match["columns"]
        if columns is None:
            hides = _holds_secrets(match["table"], tables())
        else:
            hides = _name_secrets(columns.split(","))
        end = _end_of_rows(text, match.end(), last) if hides else match.end()
        return (f"{LEFT_OUT}\n", end) if end > match.end() else None

    return replace_behind(COPIED, text, rows)


def _end_of_rows(text: str, at: int, last: int) -> int:
    """Where the rows of a COPY end: at their mark, where one follows; else with the last line that
    has a tab, since a log goes on behind a statement without its rows."""
    if text.startswith("\\.", at):
        return at
    if at <= last:
        return text.index(_END_OF_COPY, at) + 1
    while at < len(text) and (line := LINE_OF_ROW.match(text, at)) is not None:
        at = line.end()
    return at


_Spared = Callable[[str, int, int], bool]
"""Whether a literal stays: of a text, where it begins and ends."""


def _without_selected(text: str, at: int, spared: _Spared = lambda *_: False) -> tuple[str, int]:
    """What is selected without its literals, and where that ends."""
    parts, depth = list[str](), 0
    while at < len(text) and depth >= 0 and text[at] != ";":
        plain = _SELECTED.match(text, at)
        if plain is not None:
            if not depth and plain[0].lower() == "from":
                if (rows := _FROM_ROWS.match(text, plain.end())) is not None:
                    hidden_rows, end = without_literals(text, rows.end())
                    return "".join([*parts, text[at : rows.end()], hidden_rows]), end
                break
            parts.append(plain[0])
            at = plain.end()
            continue
        literal = literal_end(text, at) if text[at] in "'$" else None
        end = literal or at + 1
        hidden = None if literal is None or spared(text, at, end) else hide(text, at, literal)
        parts.append(hidden.mark if hidden else text[at:end])
        depth += {"(": 1, ")": -1}.get(text[at:end], 0)
        at = end
    return "".join(parts), at


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a literal is a part of values that are made: 'name' || i."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    return before.rstrip().endswith("||") or after.lstrip().startswith("||")


def _holds_secrets(table: str, tables: Mapping[str, Sequence[str]]) -> bool:
    """Whether a table may hold secrets: by its columns, where these are known, else by its name."""
    names = _names_in(table)
    name = names[-1]
    if not _CATALOGS.isdisjoint((name.lower(), ".".join(names[-2:]).lower())):
        return True
    if name.lower() in tables:
        return _name_secrets(tables[name.lower()])
    words = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
    return is_secret(name) or bool(_OF_LOGINS & words and _OF_BENCHMARKS not in words)


def _name_secrets(columns: Iterable[str]) -> bool:
    return any(is_surely_secret(unquoted(column)) for column in columns)


def _own_name(table: str) -> str:
    """Without its schema and its quotes."""
    return _names_in(table)[-1]


def _names_in(table: str) -> list[str]:
    return [unquoted(name) for name in re.split(r"\s?\.\s?", table)]


def _tables(text: str) -> dict[str, list[str]]:
    """Table → its columns, of those that the text makes, and does not add columns to."""
    tables, at = dict[str, list[str]](), 0
    while (match := _CREATED.search(text, at)) is not None:
        tables[_own_name(match["table"]).lower()], at = _columns_at(text, match.end())
    for match in _ALTERED.finditer(text):
        tables.pop(_own_name(match["table"]).lower(), None)
    return {name: columns for name, columns in tables.items() if columns and "like" not in columns}


def _columns_at(text: str, at: int) -> tuple[list[str], int]:
    """The names in a table's definition, from behind its parenthesis, and where that ends."""
    columns, depth, begins = list[str](), 1, True
    for piece in _PIECE.finditer(text, at):
        if piece["name"] and begins:
            begins = False
            if piece["name"].lower() not in _NO_COLUMN:
                columns.append(unquoted(piece["name"]).lower())
        elif piece["edge"]:
            depth += {"(": 1, ")": -1}.get(piece["edge"], 0)
            begins = piece["edge"] == "," and depth == 1
        if not depth:
            return columns, piece.end()
    return columns, len(text)
