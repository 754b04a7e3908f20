"""Hashes the texts of captured values, the same one always alike, and leaves out comments."""

from __future__ import annotations

import hashlib
import re
import sys

_TEXT_LITERAL = re.compile(
    r"^(?:(?:[eEnN]|(?P<unicode>[uU]&))?'(?P<text>.*?)'(?: UESCAPE '(?P<escape>.)')?"
    r"|(?P<tag>\$\w*\$)(?P<quoted>.*)(?P=tag))$",
    re.DOTALL,
)
_HEX_LITERAL = re.compile(r"^[xX]'(.*)'$", re.DOTALL)
_PLAIN = re.compile(
    r"^(?:[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|t|f|true|false"
    r"|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[-+]\d\d(?::?\d\d)?)?)?"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
)
# Numbers that are texts: of telephones, cards and accounts.
_TEXT_NUMBER = re.compile(r"^(?:\+\d{2,}|0\d{3,}|\d{12,})$")
_UUID = re.compile(r"^[0-9a-fA-F]{8}-")


def redacted(value: str | None, salt: bytes, *, literal: bool, secret: bool = False) -> str | None:
    """A value with its text hashed, the same text always alike; numbers, dates, truths and UUIDs
    stay, unless it is `secret`: then a number becomes another number, a UUID another UUID."""
    if value is None:
        return None
    if not literal:
        return _hashed(value, salt, secret=secret)
    if (bits := _HEX_LITERAL.match(value)) is not None:
        return f"X'{_hash(bits[1], salt)}'"
    match = _TEXT_LITERAL.match(value)
    if match is None:
        return _hashed(value, salt, secret=secret) if _PLAIN.match(value) else value
    text = match["text"] if match["text"] is not None else match["quoted"]
    if match["unicode"]:
        text = _plain(text, match["escape"] or "\\")
    return f"'{_hashed(text, salt, secret=secret)}'"


def _plain(text: str, escape: str) -> str:
    """The text that one with Unicode escapes stands for."""
    mark = re.escape(escape)

    def character(match: re.Match[str]) -> str:
        digits = match[1] or match[2]
        return chr(min(int(digits, 16), sys.maxunicode)) if digits else escape

    escapes = rf"{mark}(?:{mark}|\+([0-9a-fA-F]{{6}})|([0-9a-fA-F]{{4}}))"
    halves = re.sub(escapes, character, text)
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _hashed(text: str, salt: bytes, *, secret: bool) -> str:
    if not _PLAIN.match(text):
        return _hash(text, salt)
    return _hashed_alike(text, salt) if secret or _TEXT_NUMBER.match(text) else text


def _hashed_alike(text: str, salt: bytes) -> str:
    """A number of as many digits, or a UUID; a date or a truth is no secret."""
    drawn = hashlib.blake2b(text.encode(), key=salt, digest_size=32).hexdigest()
    if (digits := text.removeprefix("+")).isdecimal():
        return f"{text[: len(text) - len(digits)]}{_digits(drawn, len(digits))}"
    if _UUID.match(text):
        return f"{drawn[:8]}-{drawn[8:12]}-{drawn[12:16]}-{drawn[16:20]}-{drawn[20:32]}"
    return text


def _digits(drawn: str, count: int) -> str:
    return str(int(drawn * (1 + count // 60), 16))[:count]


def _hash(text: str, salt: bytes) -> str:
    return hashlib.blake2b(text.encode(), key=salt, digest_size=8).hexdigest()


_COMMENT = re.compile(r"(\"(?:[^\"]|\"\")*\")|(/\*\+.*?\*/)|/\*|--[^\n]*", re.DOTALL)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PLAIN_NAME = re.compile(r"^[a-z_][a-z0-9_$]*$")


def redacted_piece(text: str, salt: bytes) -> str:
    """SQL between values without comments, which may hold anything; hints for the planner stay,
    which decide what is driven. Names stay but those that only quotes make names."""
    parts, at = list[str](), 0
    while (match := _COMMENT.search(text, at)) is not None:
        parts.append(text[at : match.start()])
        at = match.end()
        if match[1] is not None:
            name = match[1][1:-1]
            parts.append(match[1] if _PLAIN_NAME.match(name) else f'"h{_hash(name, salt)}"')
        elif match[2] is not None:
            parts.append(match[2])
        else:
            parts.append(" ")
            if match[0] == "/*":
                at = end_of_comment(text, match.start())
    return "".join([*parts, text[at:]])


def end_of_comment(text: str, at: int) -> int:
    """Past a comment that begins there, which may hold others."""
    depth = 0
    for match in _COMMENT_EDGE.finditer(text, at):
        depth += 1 if match[0] == "/*" else -1
        if not depth:
            return match.end()
    return len(text)
