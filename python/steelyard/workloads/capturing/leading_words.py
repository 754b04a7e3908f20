"""Reads the words with which a statement begins, between blanks and comments."""

from __future__ import annotations

import re

from steelyard.workloads.capturing.redacting import end_of_comment

_BLANK = re.compile(r"(?:\s|--[^\n\r]*)*+")
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
