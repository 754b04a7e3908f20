"""Writes a kind of transactions as a script, in which every statement is sent as it was.

A `:name` in a literal or a comment is text: a script would replace it where the variable exists.
A carriage return in a literal is text too: read as a line's end, it would become a line feed.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from steelyard.model.secrets.redaction import holds_secret
from steelyard.model.secrets.redaction import redacted as without_secrets
from steelyard.workloads.capturing.mix import TransactionKind
from steelyard.workloads.capturing.redacting import end_of_comment, redacted, redacted_piece
from steelyard.workloads.capturing.shapes import Shape
from steelyard.workloads.capturing.statements import Protocol

_START = r"A-Za-z_\x80-\U0010ffff"
_NAME = rf"[{_START}][{_START}0-9]*"
_MENTION = re.compile(rf"(?<!:):(?={_NAME})")
_MENTION_NAME = re.compile(rf"(?<!:):{_NAME}")
_COLON = r"\x3A"
_RETURN, _ESCAPED_RETURN = "\r", r"\r"
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_QUOTED_WITH_ESCAPES = re.compile(r"(?s)'((?:[^'\\]|''|\\.)*)'")
_CONTINUED = re.compile(rf"{_QUOTED.pattern}(?:\s+{_QUOTED.pattern})*")
"""A string, and what continues it on further lines."""
_OWN_ESCAPE = re.compile(r"' UESCAPE '(.)'$")
_REGION = re.compile(r'"(?:[^"]|"")*"|--[^\n]*|/\*')
_KNOWN_NAMES = re.compile(r"^(?:client_id|scale|random_seed|default_seed|clients|think|p\d+)$")
"""Variables that exist while a captured script is driven."""
_TOUCHES_BEFORE = re.compile(rf"[{_START}0-9$:+\-*/<>=~!@#%^&|`?]$")
_TOUCHES_AFTER = re.compile(rf"^[{_START}0-9$:'\"]")

Rows = list[list[str | None]]


@dataclass
class _Drawn:
    """The variables of a script, each with its column of values."""

    columns: list[Sequence[str | None]] = field(default_factory=list)
    names: dict[object, str] = field(default_factory=dict)

    def name(self, key: object, values: Sequence[str | None]) -> str:
        """The variable of a value; the same key has the same one."""
        if key not in self.names:
            self.columns.append(values)
            self.names[key] = f":p{len(self.columns)}"
        return self.names[key]


def script_of(
    name: str, kind: TransactionKind, mode: Protocol, salt: bytes | None = None
) -> tuple[str, Rows]:
    """The script of a kind, and the rows that it draws from: only values that differ are drawn.
    A parameter is one variable however often it is used."""
    drawn, lines, at = _Drawn(), list[str](), 0
    columns = list(zip(*kind.rows, strict=True)) if kind.rows else []
    declared = kind.declared
    for number, shape in enumerate(kind.shapes):
        pieces = [p if salt is None else redacted_piece(p, salt) for p in shape.pieces]
        expressions = []
        secrets = [False] * len(shape.numbers) if salt is None else _secret_places(shape)
        for index, parameter in enumerate(shape.numbers):
            secret = secrets[index]
            values = [
                _written(value, mode, parameter is None, salt, secret)
                for value in columns[at + index]
            ]
            key = (number, index) if parameter is None else (number, "$", parameter)
            expression = _word(values, mode, parameter is None, drawn, key)
            expressions.append(_typed(expression, declared[at + index]))
        texts = [_piece(piece, mode, drawn, len(kind.rows)) for piece in pieces]
        lines.append(f"{_woven(texts, expressions).strip()}\n;")
        at += len(shape.numbers)
    if kind.implicit:
        lines = ["BEGIN\n;", *lines, "COMMIT\n;"]
    if drawn.columns:
        variables = " ".join(word[1:] for word in drawn.names.values())
        lines.insert(0, f"\\draw {name} {variables}")
    think_us = round(1e6 * statistics.median(kind.think_s)) if kind.think_s else 0
    if think_us:
        lines.append(f"\\if :think\n\\sleep {think_us} us\n\\endif")
    return "\n".join(lines) + "\n", [list(row) for row in zip(*drawn.columns, strict=True)]


def _secret_places(shape: Shape) -> list[bool]:
    """Of each place of a value, whether it is one of a secret: behind its name, in a row of columns
    one of which is secret, or among the arguments of a cipher."""
    marks = [f"steelyard-{number}-" for number in range(len(shape.numbers))]
    texts = (f"{piece}'{mark}'" for piece, mark in zip(shape.pieces, marks, strict=False))
    plain = without_secrets("".join([*texts, shape.pieces[-1]]))
    return [
        mark not in plain or holds_secret(f"{piece}'x'")
        for mark, piece in zip(marks, shape.pieces, strict=False)
    ]


def texts_of(kind: TransactionKind, mode: Protocol) -> list[str]:
    """Its statements as a server gets them, in simple mode those of the first execution."""
    texts, at, declared = list[str](), 0, kind.declared
    for shape in kind.shapes:
        row = kind.rows[0][at : at + len(shape.numbers)]
        types = declared[at : at + len(shape.numbers)]
        expressions = [
            _typed(
                f"${number}"
                if number is not None and mode != "simple"
                else str(_written(value, mode, number is None, None, False)),
                type_,
            )
            for number, value, type_ in zip(shape.numbers, row, types, strict=True)
        ]
        texts.append(
            "".join(
                part for pair in zip(shape.pieces, [*expressions, ""], strict=True) for part in pair
            )
        )
        at += len(shape.numbers)
    return texts


def _word(
    values: Sequence[str | None], mode: Protocol, literal: bool, drawn: _Drawn, key: object
) -> str:
    """What stands in place of a value: itself if it never differs, else its variable."""
    first = values[0]
    if first is not None and len(set(values)) == 1 and (literal or mode == "simple"):
        if _MENTION.search(first) is None and _RETURN not in first:
            return first
        if mode != "simple":
            return escaped_literal(first)
    return drawn.name(key, values)


def _typed(word: str, type_: str | None) -> str:
    """A parameter of the type that its client declared: to the server the same statement as with a
    declared type. In brackets, for what follows may belong to a value and not to a type."""
    return word if type_ is None else f"({word}::{type_})"


def _woven(texts: Sequence[str], expressions: Sequence[str]) -> str:
    """A statement of its pieces and values; a variable stands apart from words and operators."""
    woven = texts[0]
    for expression, text in zip(expressions, texts[1:], strict=True):
        is_variable = expression.startswith(":")
        if is_variable and _TOUCHES_BEFORE.search(woven):
            woven += " "
        woven += expression
        if is_variable and _TOUCHES_AFTER.match(text) and not text.startswith("::"):
            woven += " "
        woven += text
    return woven


def _piece(piece: str, mode: Protocol, drawn: _Drawn, rows: int) -> str:
    """SQL between values, as the script language writes it."""
    parts = []
    for text, is_region in _regions(piece):
        if not is_region:
            # A colon of a slice: `a[i:j]`.
            parts.append(_MENTION.sub(": ", text))
        elif mode == "simple":
            parts.append(_MENTION_NAME.sub(_as_variable(drawn, rows), text))
        else:
            parts.append(_escaped_identifier(text) if text.startswith('"') else text)
    return "".join(parts)


def _as_variable(drawn: _Drawn, rows: int) -> Callable[[re.Match[str]], str]:
    """Puts a variable in place of a word that looks like one, whose value is that word."""
    return lambda match: drawn.name(match[0], [match[0]] * rows)


def _regions(piece: str) -> Iterator[tuple[str, bool]]:
    """Parts of a text, and whether each is a comment or a quoted identifier."""
    at = 0
    while (match := _REGION.search(piece, at)) is not None:
        end = end_of_comment(piece, match.start()) if match[0] == "/*" else match.end()
        yield piece[at : match.start()], False
        yield piece[match.start() : end], True
        at = end
    yield piece[at:], False


def _is_known(text: str, at: int) -> bool:
    match = re.match(_NAME, text[at + 1 :])
    return match is not None and _KNOWN_NAMES.match(match[0]) is not None


def _without_mentions(text: str, colon: str) -> str:
    return _MENTION.sub(lambda match: colon if _is_known(text, match.start()) else match[0], text)


def escaped_literal(literal: str) -> str:
    """The same string without `:name` of variables that exist, for protocols in which a script
    refuses them within quotes, and without carriage returns."""
    mentions = (_is_known(literal, match.start()) for match in _MENTION.finditer(literal))
    if _RETURN not in literal and not any(mentions):
        return literal
    dollar = re.match(r"(?s)^(\$\w*\$)(.*)\1$", literal)
    if dollar is not None or _CONTINUED.fullmatch(literal):
        parts = _QUOTED.findall(literal) if dollar is None else [dollar[2].replace("'", "''")]
        body = "".join(parts).replace("\\", "\\\\")
        return f"E'{_without_marks(body, _COLON, _ESCAPED_RETURN)}'"
    if literal[:2] in ("E'", "e'"):
        body = "".join(_QUOTED_WITH_ESCAPES.findall(literal))
        body = re.sub(r"(?s)\\(.)", lambda m: m[1] if m[1] in ":\r" else m[0], body)
        return f"{literal[0]}'{_without_marks(body, _COLON, _ESCAPED_RETURN)}'"
    if literal[:2] in ("U&", "u&"):
        own = _OWN_ESCAPE.search(literal)
        escape, end = ("\\", len(literal)) if own is None else (own[1], own.start() + 1)
        body = "".join(_QUOTED.findall(literal[:end]))
        body = _without_marks(body, f"{escape}003A", f"{escape}000D")
        return f"{literal[:2]}'{body}'{literal[end:]}"
    if literal[:2] in ("N'", "n'"):
        return f"NCHAR {escaped_literal(literal[1:])}"
    return literal


def _without_marks(text: str, colon: str, carriage_return: str) -> str:
    return _without_mentions(text, colon).replace(_RETURN, carriage_return)


def _escaped_identifier(quoted: str) -> str:
    if not any(_is_known(quoted, match.start()) for match in _MENTION.finditer(quoted)):
        return quoted
    body = quoted[1:-1].replace("\\", "\\\\")
    return f'U&"{_without_mentions(body, chr(92) + "003A")}"'


def _written(
    value: str | None, mode: Protocol, literal: bool, salt: bytes | None, secret: bool
) -> str | None:
    """A value as the script has it: in simple mode as SQL, else as a parameter."""
    if salt is not None:
        value = redacted(value, salt, literal=literal, secret=secret)
    if literal or mode != "simple":
        return value
    if value is None:
        return "NULL"
    if "\\" in value:
        return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return "'" + value.replace("'", "''") + "'"
