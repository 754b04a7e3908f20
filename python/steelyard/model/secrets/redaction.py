"""Takes secrets out of text and of settings before they are printed or kept.

A text is what a server, libpq, a user or a log wrote: connection strings and URIs, SQL, lines of a
configuration, variables before a command, JSON. What stands at a secret name is replaced, and what
may be the rest of it too: rather too much is left out than a part is shown.

Finds the forms in which a text says a secret: SQL, connection strings, URIs, variables, JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from steelyard.model.secrets.secret import HIDDEN, is_line_of_secrets, is_secret

_MOST_PASSES = 8
"""Where a quote was taken out, another may begin elsewhere: nearly always the second pass, which
finds nothing, is the last."""
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|conn|command|dsn|jwt|cookie|://|bearer|basic|identified|scram-"
    r"|\bpw\b|%[0-9a-f]{2}|LINE \d|row contains|copy ",
    re.IGNORECASE,
)
"""Of a text without any of these nothing can be left out: most texts end here."""
_HISTOGRAM = re.compile(r"HISTFA[A-Za-z0-9+/]*={0,2}")
"""HdrHistogram V2, deflated, in base64, with the cookie that all begin with: chance puts names of
secrets into such texts, before the "=" at their ends too."""
_SWITCH = frozenset({"on", "off", "true", "false", "yes", "no", "0", "1"})


def redacted(text: str) -> str:
    """The text without what stands at secret names, in URIs before the host, in PASSWORD and
    IDENTIFIED BY clauses. Applied twice it is the same. A histogram of latencies is left whole."""
    if _HISTOGRAM.fullmatch(text) and len(text) % 4 == 0:
        return text
    for _ in range(_MOST_PASSES):
        before, text = text, _redacted_once(text)
        if text == before:
            break
    return text


def _redacted_once(text: str) -> str:
    if _HINT.search(text) is None:
        return text
    # Its patterns take longer to compile than a short command may take, and are rarely needed.

    return redact_forms(text)


def holds_secret(text: str) -> bool:
    """Whether `redacted` would leave something out."""
    return redacted(text) != text


def redacted_json(value: Any) -> Any:
    """The same value of JSON, its texts redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {_at_key(key): redacted_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(inner) for inner in value]
    return value


def is_secret_setting(name: str, value: str) -> bool:
    """Whether the value of a setting must not be shown: by its name, or by what it says."""
    if not value or value.lower() in _SWITCH:
        return False
    return is_secret(name) or holds_secret(value)


def hidden_settings(arms: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Arm → its settings, secret values replaced by a mark. Equal values of a setting have equal
    marks and others another, so that arms differ in the marks exactly where their values do."""
    marks: dict[str, dict[str, str]] = {}
    for settings in arms.values():
        for name, value in settings.items():
            if is_secret_setting(name, value):
                by_value = marks.setdefault(name, {})
                number = len(by_value) + 1
                by_value.setdefault(value, HIDDEN if number == 1 else f"{HIDDEN} {number}")
    return {
        arm: {name: marks.get(name, {}).get(value, value) for name, value in settings.items()}
        for arm, settings in arms.items()
    }


def _at_key(key: Any) -> Any:
    return redacted(key) if isinstance(key, str) else key


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
