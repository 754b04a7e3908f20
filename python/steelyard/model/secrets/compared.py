"""Tells a comparison of columns in SQL from a password: `t.token = u.token` is no secret.

What connection strings and variables write is never taken for one: `password=a.b`, also within SQL.
"""

from __future__ import annotations

import re

from steelyard.model.secrets.secret import is_secret

_SQL = re.compile(
    r"\b(?:select|insert|update|delete|merge|where|join|filter|cond)\b", re.IGNORECASE
)
_END = r"(?=[\s);,]|::|\Z)"
_PARAMETER = re.compile(rf"(?:\$\d{{1,5}}|\?|%s|%\(\w{{1,63}}\)s){_END}")
_COLUMN = re.compile(
    rf"(?:\"?\w{{1,63}}\"?\.){{1,3}}\"?(?P<column>[a-z_]\w{{0,62}})\"?{_END}", re.I
)
_NO_VALUE = re.compile(rf":\w{{1,63}}{_END}|(?:null|default){_END}|\(|[a-z_][\w.]{{0,127}}\(", re.I)
_NUMBER = re.compile(rf"-?\d{{1,19}}{_END}")
_QUERY = re.compile(r"\(\s{0,9}(?:select|values|with|\$\d|:\w)\b", re.IGNORECASE)
_BARE = re.compile(rf"(?P<column>[a-z_]\w{{0,62}}){_END}", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:\b(?:where|and|or|on|set|when|not|having|filter|cond)\b:?[\s(]{1,9}|[(,]\s{0,9})\"?$",
    re.IGNORECASE,
)
"""What stands before a column in a statement or a plan, and not before a word of libpq."""
_OF_LIBPQ = re.compile(r"pass|pwd", re.IGNORECASE)


def has_sql(text: str) -> bool:
    """Whether a word of SQL is in it, or of a plan."""
    return _SQL.search(text) is not None


def follows_clause(before: str) -> bool:
    """Whether a name behind this text is that of a column, by the word of SQL before it."""
    return _CLAUSE.search(before) is not None


def is_compared(text: str, at: int, name: str, before: str, *, spaced: bool) -> bool:
    """Whether what stands behind a name and its =, outside of literals of a text with SQL, is a
    parameter, a column or a query, and no value; `spaced`: blanks are about the =."""
    if _PARAMETER.match(text, at):
        return True
    column = _COLUMN.match(text, at)
    alike = column is not None and (
        is_secret(column["column"]) or column["column"] == name.rpartition(".")[2]
    )
    if not spaced:
        return "." in name and alike
    if _OF_LIBPQ.search(name):
        clause = follows_clause(before)
        no_value = _NO_VALUE if clause else _QUERY
        return alike or no_value.match(text, at) is not None or (clause and _is_column(text, at))
    if column is not None or _NO_VALUE.match(text, at) or _is_column(text, at):
        return True
    return name.lower().endswith(("key", "keys")) and _NUMBER.match(text, at) is not None


def _is_column(text: str, at: int) -> bool:
    match = _BARE.match(text, at)
    return match is not None and is_secret(match["column"])
