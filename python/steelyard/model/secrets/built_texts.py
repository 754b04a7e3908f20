"""Hides what statements build secrets of: literals that a function or an operator puts behind a
secret name in another literal, as format('PASSWORD %L', '…') and 'password=' || '…' do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.model.secrets.secret import is_surely_secret
from steelyard.model.secrets.secret_values import (
    GAP,
    bare_word,
    doubled_end,
    hide,
    inner_literal_end,
    left_out,
    literal_end,
    replace_behind,
    word_end,
)

_OPENING = re.compile(
    r"(?:(?<![\w'\"$\\])|(?<=\b[enEN])|(?<=\b[uU]&))(?P<quote>'++|\"|\$(?:[A-Za-z_]\w{0,62})?\$)"
)
_CLOSED = re.compile(r"(?P<content>(?>(?:[^'\\]++|''|\\[\s\S])*))'")
_CLOSED_DOUBLED = re.compile(r"(?P<content>(?>(?:[^']++|'{4})*))''")
_CLOSED_DOUBLE = re.compile(r'(?P<content>(?>(?:[^"\\\n]++|""|\\[\s\S])*))"')
_MOST_IN_DOLLARS = 4000
"""Characters."""
_BEHIND = re.compile(rf"{GAP}(?P<operator>\|\||\+(?=\s{{0,20}}[nN]?['\"(@])|,)")
_OPERATOR = re.compile(rf"{GAP}(?:\|\||\+){GAP}")
_PLACE = r"(?:%(?:(?:\d{1,3}\$)?-?\d{0,3}[LIsSvd]|(?=[\s'\",;)]|\Z))|(?P<last>\Z))"
"""Where a value is put: what format takes for one, or the end of the literal."""
_NAMED = re.compile(
    r"(?<![\w.])(?P<name>[\w.-]{1,100}+)[\"'`\]\\]{0,6}"
    rf"(?:(?P<assigned>\s{{0,9}}(?:=>?|:=?|>|\bto\b)\s{{0,9}})|\s{{1,9}})[\"'`\\]{{0,8}}{_PLACE}",
    re.IGNORECASE,
)
_IDENTIFIED = re.compile(
    rf"\bidentified\b[^;]{{0,100}}?\b(?:by|as|using)\s{{1,9}}(?:password\s{{1,9}})?['\"\\]{{0,8}}"
    rf"{_PLACE}",
    re.IGNORECASE,
)
_OF_A_ROLE = re.compile(r"\b(?:role|user|group|login|mapping|options|encrypted)\b", re.IGNORECASE)
"""Before a password with nothing but a blank behind its name: SELECT password ends so too."""
_WEAK = re.compile(r"(?:.*[^a-z])?(?:auth|authorization|sig|signature)", re.IGNORECASE)
_PLAIN = re.compile(r"[^'\"$()\[\];]++")
_WORD = re.compile(r"[\w.@:]{1,128}+(?!')")
_CALLED = re.compile(r"\s{0,9}\(")
_CAST = re.compile(r"(?>(?:\s{0,9}::\s{0,9}\w{1,63}){1,9})")
_VARIABLE = re.compile(r"(?<![\w.])@?[A-Za-z_]\w{0,62}\b(?!\s{0,3}\()|\$\d{1,5}")
_ASSIGNED = re.compile(
    r"(?:(?<![\w.$@])(?!(?:begin|declare|then|else|loop|set)\b)(?P<name>@?[A-Za-z_]\w{0,62})"
    r"(?:\s{1,9}(?:constant\s{1,9})?[\w.]{1,63}(?:\s?\(\s?\w{1,9}\s?\))?"
    r"(?:\s{1,9}not\s{1,9}null)?\s{1,9}(?:default\b|:?=)|\s{0,9}:?=)"
    rf"|\bexecute\b[^;]{{1,600}}?\busing\b(?:[^;']{{0,300}},)?){GAP}(?=[eEnN]?['$\"])",
    re.IGNORECASE,
)
"""Before the literal that a variable is set to."""
_USED = re.compile(
    rf"(?<![\w.])(?P<name>[\w.-]{{1,100}}+)[\"'`]?{GAP}(?:(?:=>?|:=|\bto\b|\b(?P<by>by)\b){GAP})?"
    r":(?P<quote>['\"]?)(?P<variable>\w{1,63})(?P=quote)(?!\w)",
    re.IGNORECASE,
)
"""A variable of psql at a name."""
_SET = re.compile(
    r"(?:\\set[ \t]{1,9}(?P<set>\w{1,63})[ \t]{1,9}"
    r"|\s(?:-v[ \t]{0,9}|--(?:set|variable)[ \t=]{1,9})(?P<opened>['\"]?)(?P<option>\w{1,63})=)"
)


def without_built(text: str) -> str:
    """The text without the literals that are put behind a secret name in another."""
    parts, copied = list[str](), 0
    for built in _built(text):
        parts += [text[copied : built.start], *built.parts]
        copied = built.end
    return "".join([*parts, text[copied:]])


def without_assigned(text: str) -> str:
    """The text without the literals of the variables of a function, or of a session, that are put
    behind a secret name in a literal, and of the parameters that EXECUTE … USING puts there."""
    names = {word.lower() for b in _built(text) for word in _VARIABLE.findall("".join(b.parts))}
    if not names:
        return text

    def value(match: re.Match[str]) -> tuple[str, int] | None:
        name, at = match["name"], match.end()
        if (name or "$1").lower() not in names:
            return None
        end = inner_literal_end(text, at) if name else literal_end(text, at, listed=True)
        return left_out(text, at, end)

    return replace_behind(_ASSIGNED, text, value)


def _built(text: str) -> Iterator[_Built]:
    """What is put behind secret names, one place after the other."""
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        at, quote = opening.end(), opening["quote"]
        doubled = quote[0] == "'" and len(quote) % 4 == 2
        literal = _literal(text, opening.start("quote"), quote, doubled=doubled)
        if literal is None:
            continue
        content, past = literal
        behind = _BEHIND.match(text, past)
        if behind is None or not _leads_to_value(content, joined=behind["operator"] != ","):
            continue
        listed = behind["operator"] == ","
        built = _Built(text, quote, behind.end() if listed else past, doubled=doubled)
        built.end = at = built.arguments(built.start) if listed else built.operands(built.start)
        yield built


def without_variables(text: str) -> str:
    """The text without the values of those variables of psql that are used at secret names."""
    used = {use["variable"] for use in _USED.finditer(text) if _is_used_as_secret(use)}

    def value(match: re.Match[str]) -> tuple[str, int] | None:
        at = match.end()
        if (match["set"] or match["option"]) not in used:
            return None
        end = literal_end(text, at)
        if end is None and match["option"]:
            quoted = text.find(match["opened"], at) if match["opened"] else -1
            end = word_end(text, at) if quoted < 0 else quoted
        if end is None and (word := bare_word(text, at - 1, "", "\\set ")) is not None:
            end = word.end()
        return left_out(text, at, end)

    return replace_behind(_SET, text, value) if used else text


def _is_used_as_secret(use: re.Match[str]) -> bool:
    name = use["name"]
    if use["by"] or name.lower() == "by":
        return "identified" in use.string[max(0, use.start() - 100) : use.end()].lower()
    return is_surely_secret(name)


def _literal(text: str, at: int, quote: str, *, doubled: bool) -> tuple[str, int] | None:
    """What is in the literal that a quote there begins, and where that ends: `doubled`, as one
    within another has it. None: it is none, or has no end."""
    if quote[0] == "$":
        start = at + len(quote)
        end = text.find(quote, start, start + _MOST_IN_DOLLARS)
        return None if end < 0 else (text[start:end], end + len(quote))
    if quote[0] == "'" and len(quote) % 4 == 0:
        return None  # a quote by itself
    closed = _CLOSED_DOUBLE if quote == '"' else _CLOSED_DOUBLED if doubled else _CLOSED
    match = closed.match(text, at + (2 if doubled else 1))
    return None if match is None else (match["content"], match.end())


def _leads_to_value(content: str, *, joined: bool) -> bool:
    """Whether a value is put behind a secret name in a literal; `joined`: at its end alone."""
    for match in (*_NAMED.finditer(content), *_IDENTIFIED.finditer(content)):
        if joined and match["last"] is None:
            continue
        if match.re is _IDENTIFIED or _is_secret(match, content):
            return True
    return False


def _is_secret(match: re.Match[str], content: str) -> bool:
    name = match["name"]
    if not is_surely_secret(name):
        return False
    if match["assigned"]:
        return True
    if _WEAK.fullmatch(name):
        return False
    alone = name.lower() == "bearer" or content.strip() == name
    return match["last"] is None or alone or _OF_A_ROLE.search(content) is not None


class _Built:
    """What is put there, in pieces of the text without its literals."""

    def __init__(self, text: str, quote: str, start: int, *, doubled: bool) -> None:
        self.start = self.end = start
        self._text = text
        self._double = quote == '"'  # else a name stands in such quotes
        self._doubled = doubled
        self.parts = list[str]()

    def arguments(self, at: int) -> int:
        """Up to the parenthesis that closes the call, where that is."""
        text, depth = self._text, 0
        while at < len(text):
            if (plain := _PLAIN.match(text, at)) is not None:
                self.parts.append(plain[0])
                at = plain.end()
                continue
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
            if depth < 0 or text[at] == ";" or self._closes_outer(at):
                break
            at = self._past_piece(at)
        return at

    def operands(self, at: int) -> int:
        """Those of || or +, and past them."""
        text = self._text
        while (operator := _OPERATOR.match(text, at)) is not None:
            self.parts.append(operator[0])
            at = operator.end()
            word = _WORD.match(text, at)
            if word is not None:
                self.parts.append(word[0])
                at = word.end()
            called = _CALLED.match(text, at)
            if called is not None:
                self.parts.append(called[0])
                at = self.arguments(called.end())
                self.parts.append(text[at : at + 1])
                at += 1
            elif word is None and at < len(text) and not self._closes_outer(at):
                at = self._past_piece(at)
            cast = _CAST.match(text, at)
            self.parts.append(cast[0] if cast else "")
            at = cast.end() if cast else at
        return min(at, len(text))

    def _closes_outer(self, at: int) -> bool:
        """Whether the quote there closes the literal in which all of it stands."""
        return self._doubled and self._text[at] == "'" and not self._text.startswith("''", at)

    def _past_piece(self, at: int) -> int:
        """Past a literal, which is hidden, or one character."""
        text = self._text
        end = doubled_end(text, at) if self._doubled else inner_literal_end(text, at)
        hidden = None
        if end is not None and (text[at] != '"' or self._double):
            hidden = hide(text, at, end)
        end = end or at + 1
        self.parts.append(hidden.mark if hidden else text[at:end])
        return end
