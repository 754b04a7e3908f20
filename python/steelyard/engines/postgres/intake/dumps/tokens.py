"""The tokens of SQL, as far as the end of a statement depends on them."""

from __future__ import annotations

import re

_L = rb"A-Za-z_\x80-\xff"
TOKEN = re.compile(
    rb"(?P<plain>[\s,=*+<>~!@#%^&|`?:.0-9\[\]{}]+)"
    rb"|(?P<word>[" + _L + rb"][" + _L + rb"0-9$]*)"
    rb"|(?P<literal>')"
    rb'|(?P<name>")'
    rb"|(?P<comment>--[^\r\n]*)"
    rb"|(?P<block>/\*)"
    rb"|(?P<parameter>\$[0-9]+)"
    rb"|(?P<dollar>\$(?:[" + _L + rb"][" + _L + rb"0-9]*)?\$)"
    rb"|(?P<partial>\$(?:[" + _L + rb"][" + _L + rb"0-9]*)?\Z)"
    rb"|(?P<open>\(+)|(?P<close>\)+)|(?P<end>;)|(?P<command>\\)"
    rb"|(?P<other>.)",
    re.DOTALL,
)
OPEN_ENDED = frozenset({"word", "comment", "parameter", "partial", "other"})
"""Tokens that the next bytes may make longer, or another one."""

# What is passed over in one piece, for speed: only what is whole and cannot mean anything else,
# where literals have no escapes. Possessive (++): a match of many pieces then needs no memory.
_PLAIN = rb"[^'\"$\\()/;\-" + _L + rb"]++|'[^']*+'|-(?=[^-])|/(?=[^*])"
_WORDY = _PLAIN + rb'|"[^"]*+"|[' + _L + rb"][" + _L + rb"0-9$]*+(?=[^'" + _L + rb"0-9$])"
_FLAT = rb"|\((?>(?:" + _WORDY + rb"|;)*)\)"
BETWEEN_WORDS = re.compile(rb"(?>(?:" + _PLAIN + _FLAT + rb")+)")
BEHIND_WORDS = re.compile(rb"(?>(?:" + _WORDY + _FLAT + rb")+)")
IN_PARENTHESES = re.compile(rb"(?>(?:" + _WORDY + _FLAT + rb"|;)+)")

BLANK = re.compile(rb"(?>(?:\s++|--[^\r\n]*+[\r\n]|/\*[^*/]*+\*/)*)")
LINE = re.compile(rb"[^\n]*\n")
BLOCK_EDGE = re.compile(rb"/\*|\*/")
ESCAPED = re.compile(rb"(?>(?:[^'\\]++|\\.|'')*)", re.DOTALL)
BETWEEN_LITERALS = re.compile(rb"(?>(?:\s++|--[^\r\n]*+)*)")
LAST_ROW = re.compile(rb"\n\\\.\r?\n")
NO_ROW = re.compile(rb"\\\.\r?(?:\n|\Z)")
REST_OF_COPY = re.compile(rb"[ \t]*(?:--[^\r\n]*)?\r?\n")
TAIL_BYTES = len(b"\n\\.\r")


def is_routine(words: list[str]) -> bool:
    """Whether a statement defines a function or procedure."""
    kind = words[3:4] if words[1:3] == ["OR", "REPLACE"] else words[1:2]
    return words[:1] == ["CREATE"] and kind in (["FUNCTION"], ["PROCEDURE"])


def blocks_after(word: str, words: list[str], blocks: int) -> int:
    """How many BEGIN ATOMIC and CASE are open behind a word of a routine's definition."""
    if blocks:
        return blocks + {"CASE": 1, "END": -1}.get(word, 0)
    return int(word == "ATOMIC" and words[-1:] == ["BEGIN"] and is_routine(words))
