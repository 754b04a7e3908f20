"""Leaves out what stands at a secret name in a text, in whichever form the two stand together.

The names are found one after the other, and what follows each decides its form: SQL, connection
strings of libpq, .NET and ODBC, variables, YAML, headers, JSON (also within JSON), XML.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from steelyard.model.secrets.secret import (
    LEFT_OUT,
    is_line_of_secrets,
    is_method,
    is_perhaps_a_column,
    is_secret,
)
from steelyard.model.secrets.secret_values import (
    GAP,
    Hidden,
    OpenQuotes,
    bare_word,
    block_end,
    doubled_end,
    field_end,
    follows_clause,
    has_sql,
    hidden_branches,
    hide,
    is_compared,
    line_end,
    literal_end,
    next_at,
    word_end,
)

_NAME = re.compile(
    r"(?<![\w.%/-])-{0,2}(?:\w|%(?!3d)|\\u00[2-7][\da-f])(?>(?:[\w.-]|%(?!3d)|\\u00[2-7][\da-f])*)",
    re.IGNORECASE,
)
"""Behind a / it is the name of a file; %3D is a =; JSON may write a letter by its number."""
_ESCAPED_LETTER = re.compile(r"\\u(00[2-7][\da-f])", re.IGNORECASE)
_LONGEST_NAME = 200
_BEFORE = re.compile(r"(?:\\{0,9}[\"'`]{1,3}|\[)$")
_CAST = r"(?:[)\]]{0,8}\s{0,9}::\s{0,9}\w{1,63}(?:\s?\(\s?\d{1,9}\s?\))?){0,8}[)\]]{0,8}"
_OPENED = r"(?:[\w.]{1,63}\s?\(\s{0,9}|[(\[]\s{0,9}|array\s?\[\s{0,9}){0,4}"
"""A function or a list, in which the value is."""
_OPERATOR = re.compile(
    rf"""{_CAST}{GAP}(?:
      (?P<assigned>(?:\bfor\s[^=;]{{1,200}})?(?::=|=>|==?|%3d)) [ \t]*+ (?P<opened>{GAP}{_OPENED})
      | (?P<compared>!?~~?\*?|<>|!=|[<>]=?
         |\b(?:is\s{{1,9}}(?:not\s{{1,9}})?distinct\s{{1,9}}from
         |(?:not\s{{1,9}})?(?:i?like|between|similar\s{{1,9}}to|in(?=\s{{0,9}}\())
         |values(?=\s{{0,9}}\())\b) {GAP}{_OPENED}
      | (?P<declared>(?<=\s)(?:(?:constant|as|character)\s{{1,9}})?[\w.]{{1,63}}
         (?:\s?\(\s?\w{{1,9}}(?:\s?,\s?\d{{1,9}})?\s?\))?(?:\s{{1,9}}not\s{{1,9}}null)?
         \s{{0,9}}(?::=|=|\bdefault\b)) {GAP}
      | (?P<changed>\b(?:changed|set|reset)\s{{1,9}}to\b) [ \t]*+
      | (?P<colon>:(?!:))[ \t]*+ (?P<after>{GAP}(?:\[\s{{0,9}})?)
      | (?P<call>[(,]){GAP}
      | (?P<word>\b(?:to|by|as|is)\b){GAP}
      | (?P<none>))""",
    re.IGNORECASE | re.VERBOSE,
)
_VALUE_OF_PAIR = re.compile(
    r"\\{0,9}[\"']?\s{0,200}[,;]?\s{0,200}\\{0,9}[\"']?\bvalue\\{0,9}[\"']?\s?[:=]\s{0,9}",
    re.IGNORECASE,
)
"""name: NAME, value: X, as containers and configurations of .NET have variables."""
_TAG = re.compile(r"(?:\s[^<>]{0,200})?>(?:<!\[CDATA\[)?")
_IN_TAG = re.compile(r"<(?:[\w.-]{1,63}:)?$")
_REVERSED = re.compile(
    r"'(?:\s?::\s?\w{1,63})?\s{0,9}(?:=|<>|!=|\bas\b)\s{0,9}[\"`]?$", re.IGNORECASE
)
_ELEMENT = re.compile(
    r"(?:^|\n|[{\[,]\s{0,50})[ \t]{0,200}(?:-[ \t]{1,9}|[#>][ \t]{0,9})?$"
    r"|(?:--|/\*|(?<!:)//|\s#)[ \t]{0,9}$"
)
"""Of YAML, or of a comment."""
_HEADER = re.compile(
    r"(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]+|[\w-]+-(?:token|key)", re.IGNORECASE
)
_SET_BEFORE = re.compile(
    r"(?:^|[\s;&(\"'])set\s{1,9}(?:(?:local|session|global)\s{1,9})?[\"'`]?$", re.IGNORECASE
)
_FIELDS = re.compile(r"[^;\n]{0,200}+;[ \t]{0,9}[A-Za-z][\w .]{0,63}=")
_FIELD_BEFORE = re.compile(r";[ \t]{0,9}$")
_WEAK = re.compile(r"(?:.*[^a-z])?(?:auth|authorization|sig|signature)", re.IGNORECASE)
"""Also words of SQL and of prose: what they name stands behind = or a colon."""
_CUT_OFF = re.compile(r"[^\s<]+")
_GOES_ON = re.compile(r"[\w\\$'\"`]")
_LAST_WORDS = re.compile(r"[^\"'\n=]{0,200}(?=[\"'])")
_NO_SCALAR = re.compile(r"[{\[\r\n]|\Z|(?:null|true|false)\b")
_IN_FLOW = re.compile(r"[{\[,][ \t]{0,50}$")
_SCALAR_IN_FLOW = re.compile(r"[^,}\]\n]*+")
_NAME_OF_SETTING = re.compile(r"\w[._]\w")
_SET_TO_LIST = re.compile(
    r"\b(?:search_path|\w{1,40}_(?:path|tablespaces|libraries|extensions|roles|schemas))"
    r"[\"'`]{0,2}\s{0,9}(?:[=:]|\bto\b)[^;\n=]*\Z",
    re.IGNORECASE,
)
_LIST = re.compile(r'\s*+(?>(?:(?:"[^"\n]*+"|[\w$]++)\s*+(?:,\s*+|\Z))+)')
"""Names of SQL with commas, and nothing else."""
_LONGEST_LIST = 2000
_OPEN_CLAUSE = re.compile(
    r"\b(?:(?P<options>options)|(?:jsonb?_(?:build_)?object|hstore))\s{0,9}\("
    r"(?>(?:[^()]++|\([^()]*+\))*)\Z",
    re.IGNORECASE,
)
"""What is open at a name: options of SQL, or a call that makes JSON of keys and values."""
_DEFAULT = re.compile(r"default\b|\$\d|:\w", re.IGNORECASE)
_OPTION = re.compile(r"[ \t]++")
_BEHIND_CLOSED = re.compile(r"[\s,;:)\]}|.]|\Z")


@lru_cache(maxsize=10_000)
def _names_secret(word: str) -> bool:
    return _is_secret(word)


def _is_secret(word: str) -> bool:
    return is_secret(_ESCAPED_LETTER.sub(lambda code: chr(int(code[1], 16)), word))


@dataclass(frozen=True)
class _NameAt:
    """A secret name, and what is about it."""

    text: str
    name: str
    start: int  # where it begins, with the quotes around it
    end: int  # past those
    before: str  # some of the text before
    quoted: bool
    led_by: str  # a quote directly before it, which is not closed behind it
    in_literal: bool
    in_double: bool
    sql: bool
    run_is_doubled: bool  # its quotes are two, as CSV and literals within literals have them


def without_named(text: str) -> str:
    """The text with each value at a secret name replaced."""
    parts, copied, at = list[str](), 0, 0
    sql, quotes = has_sql(text), OpenQuotes(text)
    while (match := _NAME.search(text, at)) is not None:
        at = match.end()
        name = match[0]
        names_secret = _names_secret if len(name) < _LONGEST_NAME else _is_secret
        if not names_secret(name):
            continue
        quotes.move(match.start())
        hidden = _hidden(_about(text, match, quotes, sql=sql), copied)
        if hidden is not None:
            parts += [text[copied : hidden.start], hidden.mark]
            copied = hidden.end
            at = max(at, copied)
    return "".join([*parts, text[copied:]])


def _about(text: str, match: re.Match[str], quotes: OpenQuotes, *, sql: bool) -> _NameAt:
    start, end = match.span()
    opening = _BEFORE.search(text[max(0, start - 12) : start])
    run = opening[0] if opening else ""
    while run and not text.startswith("]" if run == "[" else run, end):
        run = run[1:]
    led_by = text[start - 1] if not run and start and text[start - 1] in "\"'" else ""
    first = start - len(run)
    return _NameAt(
        text=text,
        name=match[0],
        start=first,
        end=end + len(run),
        before=text[max(0, first - 80) : first],
        quoted=bool(run),
        led_by=led_by,
        in_literal=quotes.in_literal and run != "'",
        in_double=quotes.line['"'] % 2 == 1 and '"' not in run,
        sql=sql,
        run_is_doubled=run in ("''", '""'),
    )


def _hidden(name: _NameAt, copied: int) -> Hidden | None:
    """The value at a name, if it is there, and not hidden yet."""
    text = name.text
    if _IN_TAG.search(name.before):
        return _in_tag(name)
    if (pair := _VALUE_OF_PAIR.match(text, name.end)) is not None:
        end = literal_end(text, pair.end()) or line_end(text, pair.end())
        return hide(text, pair.end(), end)
    operator = _OPERATOR.match(text, name.end)
    assert operator is not None  # its last form is empty
    kind = next(kind for kind in _FORMS if operator[kind] is not None)
    if not _is_meant(name, operator):
        return None
    return _FORMS[kind](name, operator) or (_before(name, copied) if name.sql else None)


def _is_meant(name: _NameAt, operator: re.Match[str]) -> bool:
    """Whether a name that may also be a word of prose, a rule or a column stands for a secret."""
    is_set = bool(operator["assigned"] or operator["colon"])
    is_quoted = operator["call"] and name.text[name.start] == "'"
    if is_quoted and ("." in name.name or _HEADER.fullmatch(name.name)):
        return True  # a setting or a header, and the argument behind it: no column is quoted so
    if _WEAK.fullmatch(name.name):
        return is_set and not is_method(name.name, name.text[operator.end() : operator.end() + 30])
    if not is_perhaps_a_column(name.name) or name.name.startswith("--"):
        return True
    if _is_option_or_argument(name, operator):
        return True
    spaced = name.text[name.end : name.end + 1].isspace()
    if name.sql:
        in_text = name.in_literal or name.in_double or name.name.isupper()
        return is_set and in_text and not spaced
    return is_set and not (spaced and follows_clause(name.before))


def _is_option_or_argument(name: _NameAt, operator: re.Match[str]) -> bool:
    """Whether it is an option of a server, an argument by its name or a key of JSON, with a literal
    behind it: no columns are named so."""
    text = name.text
    if operator["assigned"]:
        by_name = operator["assigned"].lstrip().startswith((":=", "=>"))
        return by_name and literal_end(text, operator.end()) is not None
    clause = _OPEN_CLAUSE.search(text[max(0, name.start - 300) : name.start])
    if clause is None:
        return False
    is_option = clause["options"] is not None
    return operator["none" if is_option else "call"] is not None


def _in_tag(name: _NameAt) -> Hidden | None:
    """<password>…</password>, and one that is cut off; `<password>` alone is a placeholder."""
    text, tag = name.text, _TAG.match(name.text, name.end)
    if tag is None:
        return None
    if tag[0].endswith("["):
        return hide(text, tag.end(), next_at(text, "]]>", tag.end(), len(text)))
    end = next_at(text, "<", tag.end(), len(text))
    if text.startswith("</", end):
        return hide(text, tag.end(), end)
    word = _CUT_OFF.match(text, tag.end())
    return hide(text, tag.end(), word.end()) if word else None


def _assigned(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    text, at, literal_at = name.text, operator.start("opened"), operator.end("opened")
    if name.in_literal or name.run_is_doubled:
        end = doubled_end(text, at)
        if end is not None:
            return hide(text, at, end)
    end = literal_end(text, literal_at, listed=bool(operator["opened"].strip()))
    if end is not None:
        if name.sql and text[literal_at] == '"' and text.startswith(".", end):
            return None  # a column
        if literal_at == at and _GOES_ON.match(text, end):
            end = max(end, word_end(text, at))
        return hide(text, literal_at, end)
    branches = hidden_branches(text, literal_at) if name.sql else None
    if branches or "\n" in text[name.end : at] or at == len(text):
        return branches
    spaced = text[name.end].isspace() and text[at - 1].isspace()
    in_statement = name.sql and not name.in_literal and not name.in_double
    if in_statement and is_compared(text, at, name.name, name.before, spaced=spaced):
        return None
    return hide(text, at, _unquoted_end(name, at, spaced=spaced))


def _unquoted_end(name: _NameAt, at: int, *, spaced: bool) -> int:
    text = name.text
    if is_line_of_secrets(name.name) or (not spaced and _SET_BEFORE.search(name.before)):
        return line_end(text, at)
    fields = text.startswith("{", at) or _FIELDS.match(text, at)
    if fields or _FIELD_BEFORE.search(name.before):
        return field_end(text, at, quoted=name.in_double)
    end = word_end(text, at)
    rest = _LAST_WORDS.match(text, at) if name.led_by else None
    return max(end, rest.end()) if rest else end


def _compared(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    end = literal_end(name.text, operator.end(), listed=True)
    return None if end is None else hide(name.text, operator.end(), end)


def _changed(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    """In a message of PostgreSQL the value's own quotes are as they are: it ends with the line."""
    text, at = name.text, operator.end()
    end = literal_end(text, at)
    if end is None:
        return None
    return hide(text, at, max(end, line_end(text, at)) if name.quoted else end)


def _colon(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    text, at, literal_at = name.text, operator.start("after"), operator.end("after")
    if name.run_is_doubled and (doubled := doubled_end(text, literal_at)) is not None:
        return hide(text, literal_at, doubled)
    if _closes(name, at):
        return None
    element = _ELEMENT.search(name.before) is not None
    end = literal_end(text, literal_at, listed="[" in operator["after"])
    if end is not None:
        if element and _GOES_ON.match(text, end):
            end = max(end, line_end(text, at))
        return hide(text, literal_at, end)
    return _unquoted_scalar(name, at, element=element)


def _unquoted_scalar(name: _NameAt, at: int, *, element: bool) -> Hidden | None:
    """Of YAML, or of a header; elsewhere a colon belongs to prose."""
    text = name.text
    if (end := block_end(text, at)) is not None:
        return Hidden(at, end, f"{LEFT_OUT}\n")
    header = _HEADER.fullmatch(name.name) is not None
    if not (element or header or name.led_by) or _NO_SCALAR.match(text, at):
        return None
    if element and not header and _IN_FLOW.search(name.before):
        scalar = _SCALAR_IN_FLOW.match(text, at)
        return hide(text, at, scalar.end()) if scalar else None
    closing = name.led_by or ('"' if name.in_double else "")
    return hide(text, at, line_end(text, at, closing))


def _called(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    text, at = name.text, operator.end()
    if name.sql and text.startswith('"', at) and "." not in name.name:
        return None  # the next column of a list
    if name.quoted and text.startswith(",", operator.start("call")) and _is_in_list(name):
        return None
    end = literal_end(text, at)
    return None if end is None else hide(text, at, end)


def _is_in_list(name: _NameAt) -> bool:
    """Whether a quoted name is an element of the list that a setting is, as a schema may be."""
    if _SET_TO_LIST.search(name.text[max(0, name.start - 300) : name.start]):
        return True
    return len(name.text) <= _LONGEST_LIST and _LIST.fullmatch(name.text) is not None


def _worded(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    text, at = name.text, operator.end()
    if name.sql and text.startswith('"', at) and operator["word"].lower() == "as":
        return None  # another name of the column
    end = literal_end(text, at)
    if end is None and operator["word"].lower() == "to" and _NAME_OF_SETTING.search(name.name):
        is_set = _SET_BEFORE.search(name.before) and not _DEFAULT.match(text, at)
        end = word_end(text, at) if is_set else None
    return None if end is None else hide(text, at, end)


def _alone(name: _NameAt, operator: re.Match[str]) -> Hidden | None:
    text, at = name.text, operator.end()
    if name.name.startswith("--") and (option := _OPTION.match(text, name.end)) is not None:
        return hide(text, option.end(), word_end(text, option.end()))
    if (word := bare_word(text, name.end, name.name, name.before)) is not None:
        return hide(text, *word.span())
    if _closes(name, at):
        return None
    end = literal_end(text, at)
    return None if end is None else hide(text, at, end)


def _closes(name: _NameAt, at: int) -> bool:
    """Whether the quote there closes what the name stands in: 'enter a password', 'x'."""
    text = name.text
    if name.quoted or at >= len(text) or text[at - 1].isspace():
        return False
    is_open = {'"': name.in_double, "'": name.in_literal}.get(text[at], False)
    return is_open and _BEHIND_CLOSED.match(text, at + 1) is not None


def _before(name: _NameAt, copied: int) -> Hidden | None:
    """'…' = NAME, '…' AS NAME: the literal before the name, behind what was hidden already."""
    text = name.text
    match = _REVERSED.search(name.before)
    if match is None:
        return None
    end = name.start - len(name.before) + match.start() + 1
    start = text.rfind("'", copied, end - 1)
    while start > copied and text[start - 1] == "'":
        start = text.rfind("'", copied, start - 1)
    return hide(text, start, end) if start >= copied else None


_FORMS: dict[str, Callable[[_NameAt, re.Match[str]], Hidden | None]] = {
    "assigned": _assigned,
    "compared": _compared,
    "declared": _compared,
    "changed": _changed,
    "colon": _colon,
    "call": _called,
    "word": _worded,
    "none": _alone,
}
