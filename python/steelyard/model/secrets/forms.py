"""Finds the forms in which a text says a secret: SQL, connection strings, URIs, variables, JSON."""

from __future__ import annotations

import re

from steelyard.model.secrets.secret import is_line_of_secrets, is_secret

LEFT_OUT = "…"
_NAME = (
    r"(?P<name>(?<![\w.%/-])-{0,2}"  # behind a / it is the name of a file
    r"(?=[\w.%-]*?(?:pass|pwd|secret|token|key|cred|conn|command|dsn|bearer|jwt|cookie|pw|%))"
    r"[a-z_%][\w.%-]*+)"
)
_QUOTED = (
    r"(?:\b(?:e|n|b|x|u&|_\w+\s*))?'(?:[^'\\]|''|\\.)*+(?:'|$)"
    r'|"(?:[^"\\]|""|\\.)*+(?:"|$)'
    r"|(?P<tag>\$\w*\$).*?(?:(?P=tag)|$)"
    r"|\b0x[0-9a-f]+"
)
"""A literal of SQL, a configuration or JSON; one that is not closed goes to the end."""
_WORD = r"(?:'[^']*'|'[^'\n]*|\"(?:[^\"\\]|\\.)*\"|\"[^\"\n]*|\\.|[^\s'\"\\])+"
"""A word as a shell or libpq has it, with quotes anywhere in it."""
_COMMENT = r"(?:\s|/\*.{0,1000}?\*/|--[^\n]*\n)"
_CAST = r"(?:\)*\s*::\s*\w+(?:\s*\(\s*\d+\s*\))?)*\)*"
_NAMED = re.compile(
    rf"""(?:(?P<in_double>(?<="))|(?P<in_single>(?<='))|(?<!["'])) {_NAME}
    (?P<between>(?(in_double)"?+|(?(in_single)'?+|)) [`\]]? {_CAST}
      (?:(?:{_COMMENT}+ for {_COMMENT}+ [^=;]{{1,200}}?)?{_COMMENT}* (?::=|=>|==?|~|<>|!=)
        |{_COMMENT}* (?:[:,(]|\b(?:to|by|as|is|like)\b)
        |) {_COMMENT}*)
    (?P<literal>{_QUOTED})""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_UNQUOTED = re.compile(
    rf"""{_NAME}(?P<before>[ \t]*)=(?P<after>[ \t]*)(?P<value>{_WORD})(?P<rest>[^\n]*)""",
    re.IGNORECASE | re.VERBOSE,
)
_OPTION = re.compile(
    rf"(?P<name>(?<![\w-])--[a-z][\w-]*)(?P<between>[ \t]+)(?P<literal>{_WORD})", re.IGNORECASE
)
_SQL = re.compile(
    r"\b(?:select|insert|update|delete|merge|where|join|filter|cond)\b", re.IGNORECASE
)
_NO_VALUE = re.compile(r"(?:\$\d+|:\w+|\?|%s|null|default|[a-z_]\w*\.[a-z_]\w*|\(.*)[);,]*$", re.I)
"""What SQL compares with, and is no value: a parameter, another column, a query."""
_IDENTIFIED = re.compile(
    rf"\b(identified{_COMMENT}+(?:(?:with|via){_COMMENT}+\S+{_COMMENT}+)?(?:by|as|using)"
    rf"{_COMMENT}+(?:password{_COMMENT}+)?|replace{_COMMENT}+)(?:{_QUOTED})",
    re.IGNORECASE | re.DOTALL,
)
_ACCESS = re.compile(r"(://[^\s:/@\[?#]*):(?:[^\s]*@|(?!\d{1,5}(?:[^\w]|$))[^\s\"']+)")
_PLAIN = (
    re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(\bscram-sha-256\$)[^\s'\"]+", re.IGNORECASE),
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END[^\n]*|$)", re.DOTALL),
    re.compile(r"(\bCOPY [^\n]*, line \d+(?:, column [^\n]*)?: )\"[^\n]*"),
    re.compile(r"(\bFailing row contains )\([^\n]*"),
    re.compile(r"(\bKey \([^)\n]*(?:pass|pwd|secret|token|key)[^)\n]*\)=)\([^\n]*", re.IGNORECASE),
    re.compile(r"(^LINE \d+: )\.\.\.[^\n]*['\"$][^\n]*", re.MULTILINE),
)
"""Of PostgreSQL the last four: rows that it quotes, of which only their tables are told, and an
excerpt of a statement that begins anywhere, also within a literal."""


def redact_forms(text: str) -> str:
    """The text with each secret of these forms replaced. What comes of it may hold others, where a
    quote was taken out."""
    text = _ACCESS.sub(_without_access, text)
    text = _IDENTIFIED.sub(rf"\1{LEFT_OUT}", text)
    text = _NAMED.sub(_without_value, text)
    text = _OPTION.sub(_without_value, text)
    text = _by_line(text)
    for pattern in _PLAIN:
        text = pattern.sub(rf"\1{LEFT_OUT}", text)
    return text


def _without_access(match: re.Match[str]) -> str:
    tail = f"{LEFT_OUT}@" if match[0].endswith("@") else LEFT_OUT
    return f"{match[1]}:{tail}"


def _without_value(match: re.Match[str]) -> str:
    if not is_secret(match["name"]):
        return match[0]
    quote = match["literal"][0] if match["literal"][0] in "'\"" else ""
    return f"{match['name']}{match['between']}{quote}{LEFT_OUT}{quote}"


def _by_line(text: str) -> str:
    """Without unquoted values; a command or a connection string goes to the end of its line."""
    parts, at = list[str](), 0
    sql = _SQL.search(text) is not None
    while match := _UNQUOTED.search(text, at):
        name, value = match["name"], match["value"]
        done = value.rstrip("\"'`.,;)]") == LEFT_OUT
        if done or not is_secret(name) or (sql and _NO_VALUE.match(value)):
            parts.append(text[at : match.start("after")])
            at = match.start("after")
            continue
        whole = is_line_of_secrets(name)
        parts.append(text[at : match.start("value")] + LEFT_OUT)
        at = match.end("rest" if whole else "value")
    return "".join([*parts, text[at:]])
