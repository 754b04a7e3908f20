"""Reads the words with which a statement begins, between blanks and comments."""

from __future__ import annotations

import re

from steelyard.workloads.capturing.redacting import end_of_comment

_BLANK = re.compile(r"(?>(?:\s|--[^\n\r]*)*)")
_WORD = re.compile(r"[a-zA-Z_]\w*")
_MOST = 5
"""ROLLBACK TRANSACTION AND NO CHAIN."""
_ENDS = {"commit", "end", "rollback", "abort"}
_FILLING = {"work", "transaction"}


def leading_words(text: str) -> tuple[str, ...]:
    """The first five at most, in lower case, up to what is no word."""
    words, at = list[str](), _past_blanks(text, 0)
    while len(words) < _MOST and (match := _WORD.match(text, at)) is not None:
        words.append(match[0].lower())
        at = _past_blanks(text, match.end())
    return tuple(words)


def _past_blanks(text: str, at: int) -> int:
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank is not None else at
        if not text.startswith("/*", at):
            return at
        at = end_of_comment(text, at)


def ending_words(text: str) -> tuple[str, ...]:
    """Of COMMIT, END, ROLLBACK and ABORT what follows, WORK and TRANSACTION aside; of others
    nothing."""
    first, *others = leading_words(text) or ("",)
    if first not in _ENDS:
        return ()
    return tuple(others[1:] if others and others[0] in _FILLING else others)


def is_local(text: str) -> bool:
    """Whether it sets what lasts for its transaction alone."""
    first, second = (*leading_words(text), "", "")[:2]
    return first == "set" and second in ("local", "transaction", "constraints")


_SETTING = re.compile(r"[a-z][a-z ]*|[a-z_][\w$]*(?:\.[a-z_][\w$]*)?")
_SET = re.compile(
    r"set\s+(?:session\s+)?(?P<name>time\s+zone|[a-z_][\w$]*(?:\.[a-z_][\w$]*)?)"
    r"(?:\s*=|\s+to\b)?(?P<value>[^;]*)",
    re.IGNORECASE,
)
_NAMED_OTHERWISE = {
    "schema": "search_path", "authorization": "session authorization",
    "characteristics": "session characteristics", "time zone": "timezone",
    "names": "client_encoding",
}  # fmt: skip
_WITHOUT_EFFECT = re.compile(
    r"application_name|client_encoding|client_min_messages|extra_float_digits|datestyle"
    r"|intervalstyle|timezone|standard_conforming_strings|escape_string_warning|bytea_output"
    r"|xmlbinary|xmloption|xml|(?:log|debug|tcp)_\w+|\w+_timeout"
)
"""With which statements meet the same tables by the same plans: drivers set most of them."""


_USUAL = {
    "datestyle": re.compile(r"iso(?:, *mdy)?|default"),
    "intervalstyle": re.compile("postgres(?:_verbose)?|iso_8601|default"),
    "standard_conforming_strings": re.compile("on|true|yes|1|default"),
}
"""Values with which texts say what they say to a server as it comes: 03/04/2026, and a backslash in
a string."""


def setting_of_session(text: str) -> str:
    """The setting that a SET leaves to what follows in its session, which may be driven otherwise
    without; empty: there is none such."""
    match = _SET.match(text, _past_blanks(text, 0))
    if match is None or is_local(text):
        return ""
    return setting_with_effect(" ".join(match["name"].lower().split()), match["value"])


def setting_with_effect(name: str, value: str) -> str:
    """The setting that a session gets by a name in lower case and a value, if statements may be
    driven otherwise without; else nothing."""
    usual = _USUAL.get(name)
    if usual is not None and not usual.fullmatch(value.strip().strip("'").lower()):
        return name
    return name_with_effect(_NAMED_OTHERWISE.get(name, name))


def name_with_effect(name: str) -> str:
    """The name of a setting, if statements may meet other tables or plans by it; else nothing."""
    is_name = _SETTING.fullmatch(name) is not None and _WITHOUT_EFFECT.fullmatch(name) is None
    return name if is_name else ""
