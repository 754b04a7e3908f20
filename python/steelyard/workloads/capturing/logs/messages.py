"""Knows what messages of a server are of statements, and what a function wrote that looks so."""

from __future__ import annotations

import re
from typing import Literal

from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.shapes import shape_of

_DURATION = r"duration: (?P<ms>\d+(?:\.\d+)?) ms"
# A name may hold a colon; a blank behind it is rarer than the text's own. Where the text begins in
# another line, what carried the log may have taken the blank.
STATEMENT = re.compile(
    rf"^(?:{_DURATION}  )?(?:(?P<how>statement|parse|bind|execute)(?: (?P<name>.*?))?:(?: |(?=\n))"
    r"|(?P<fast>fastpath function call): )(?P<text>.*)$",
    re.DOTALL,
)
DURATION_ALONE = re.compile(rf"^{_DURATION}$")
PLAN = re.compile(rf"^{_DURATION}  plan:")
_WORDS = r"(?!duration|received replication)[^\W\d_]+(?: [^\W\d_]+){0,3}"
_OTHER_DURATION = re.compile(rf"{_WORDS} ?[:：] ?\d+[.,]\d+ \S+(?P<more>[\s,].*)?$", re.DOTALL)
_OTHER_TEXT = re.compile(rf"{_WORDS}(?: \S+?)? ?[:：] ?(?P<text>\S.*)$", re.DOTALL)
_PARAMETERS = re.compile(r"^(?:Query )?[Pp]arameters: ", re.DOTALL)
_PARAMETER = re.compile(r"\$(\d+) = (?:(NULL)|'((?:[^']|'')*)'(\.\.\.)?)(?:, |$)", re.DOTALL)
FETCH = "fetch from "
# "unnamed portal parameter $1 = 'x'" in the languages that are known; what an execution has too,
# "portal with parameters: $1 = 'x'", has a colon in all of them.
_BOUND = re.compile(
    r"параметр порталу|[^:]*(?:[Pp]ort[ae]|포탈|портал|პორტალ|ポータル)[^:]*?(?:\$|(?<!\w))\d+"
    r"(?: 매개 변수)?(?: = |$)"
)


def is_raised(entry: LogEntry) -> bool:
    """Whether a function wrote it (RAISE LOG): of its own entry of a statement the server hides
    where it arose."""
    return bool(entry.context or (entry.statement and entry.statement not in entry.message))


def other_language(message: str) -> Literal["statement", "duration"] | None:
    """What a message is of in a language that is not known: words with a duration or a statement
    behind them; None: it is neither, or its language is known."""
    duration = _OTHER_DURATION.match(message)
    if duration is not None:
        return "statement" if (duration["more"] or "").strip() else "duration"
    text = None if STATEMENT.match(message) else _OTHER_TEXT.match(message)
    is_text = text is not None and " " in text["text"] and shape_of(text["text"]) is not None
    return "statement" if is_text else None


def fails_at_bind(entry: LogEntry) -> bool:
    """Whether an error arose in reading a parameter: before the execution that it was sent for was
    logged, so that one in the log with the same text is another."""
    return _BOUND.match(entry.context.rpartition("\n")[2]) is not None


def is_loose(entry: LogEntry, match: re.Match[str]) -> bool:
    """Whether an entry of a statement has a line that the server does not write to one: of another
    entry, which is lost, or a function wrote all of it."""
    is_simple = match["how"] == "statement"
    more = entry.statement or entry.context or (is_simple and read_parameters(entry.detail)[0])
    return bool(entry.loose and more) and shape_of(match["text"]) is not None


def is_no_sql(match: re.Match[str]) -> bool:
    """Whether what looks like an execution has a name with blanks and a text that is no SQL: a
    function's words, in a log that does not say where they arose."""
    name = match["name"] or ""
    return " " in name and not name.startswith(FETCH) and shape_of(match["text"]) is None


def read_parameters(detail: str) -> tuple[tuple[str | None, ...], bool]:
    """Bind parameters in their order, and whether they are whole.

    log_parameter_max_length ends a value in dots within its quotes (appendStringInfoStringQuoted):
    one that ends so of its own is taken for cut too, for nothing tells them apart.
    """
    begins = _PARAMETERS.match(detail)
    if begins is None:
        return (), True
    values, at, whole = list[str | None](), begins.end(), True
    for match in _PARAMETER.finditer(detail, at):
        if match.start() != at or int(match[1]) != len(values) + 1:
            return tuple(values), False
        value = None if match[2] else match[3].replace("''", "'")
        values.append(value)
        whole = whole and not match[4] and not (value or "").endswith("...")
        at = match.end()
    return tuple(values), whole and at == len(detail)
