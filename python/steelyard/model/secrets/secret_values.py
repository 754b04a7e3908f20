"""Finds where the value that follows a secret name ends: a literal, a word, braces or a line.

In SQL a comparison of columns is no secret (`t.token = u.token`), but `password=a.b`, as connection
strings and variables write it, always is. Every regular expression here is possessive or bounded,
so that reading takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from steelyard.model.secrets.secret import LEFT_OUT, is_secret

GAP = (
    r"(?>(?:\s++|/\*(?!M?!)(?>(?:(?!\*/)[\s\S]){0,1000})\*/|/\*M?!\d{0,6}|--[^\n]{0,300}+\n){0,12})"
)
"""Blanks and comments of SQL, not too many: each name may be followed by all of them. MySQL reads
what is in /*! … */: only its beginning is one."""
PART = r'(?:"[^"\n]{1,130}+"|`[^`\n]{1,130}+`|\[[^\]\n]{1,130}+\]|[\w$]{1,130}+)'
"""A name of SQL, in the quotes of any server."""
COLUMNS = r"\((?P<columns>[^()'=<>;]{1,2000}+)\)"
_TEXT = (
    r"(?:\b(?:e|n|b|x|u&|_\w++\s*+))?'(?>(?:[^'\\]++|''|\\[\s\S])*)(?:'|\Z)"
    r"|\$(?P<{tag}>\w*+)\$[\s\S]*?(?:\$(?P={tag})\$|\Z)"
    r"|\b0x[0-9a-f]++"
)
_NAMED_TEXT = r'"(?>(?:[^"\\]++|""|\\[\s\S])*)(?:"|\Z)'
_LITERAL = re.compile(f"{_TEXT.format(tag='first')}|{_NAMED_TEXT}", re.IGNORECASE)
"""A literal of SQL, a configuration or JSON; one that is not closed goes to the end."""
_NEXT = re.compile(rf"{GAP}(?:\|\|{GAP})?(?:{_TEXT.format(tag='next')})", re.IGNORECASE)
"""A piece of the same literal, behind a line's end or ||."""
_LISTED = re.compile(
    rf"{GAP}(?:(?:\|\||,|\band\b){GAP})?(?:{_TEXT.format(tag='listed')}|{_NAMED_TEXT})",
    re.IGNORECASE,
)
_WORD = re.compile(
    r"`[^`\n]*+`?|(?>(?:'[^']*+'|'[^'\n]*+|\"(?>(?:[^\"\\]|\\[\s\S])*)\"|\"[^\"\n]*+|\\[\s\S]"
    r"|\$\([^)\n]*+\)?|[^\s'\"\\])+)"
)
"""A word as a shell or libpq has it, with quotes and commands anywhere in it."""
_ESCAPED = re.compile(r"\\++[\"']")
_DOUBLED = re.compile(r"(['\"])\1")
_BRACES = re.compile(r"\{(?>(?:[^}\n]|\}\})*)\}?")
_FIELD = re.compile(r"(?>(?:[^;\"\n]|;(?![ \t]*[A-Za-z][\w .]*+=))*)")
_QUOTED_FIELD = re.compile(r"(?>(?:[^;\n]|;(?![ \t]*[A-Za-z][\w .]*+=))*)")
_NO_LITERAL = re.compile(r"[^'\"$()]+")
_NEXT_ROW = re.compile(r"\s{0,100},\s{0,100}(?:row\s{0,9})?\(", re.IGNORECASE)
_ARGUMENT = re.compile(rf"{GAP}(?:@\w{{1,128}}\s{{0,9}}=\s{{0,9}})?")
_NO_TEXT = re.compile(r"[\w@.$-]{0,128}+(?:\s{1,9}out(?:put)?\b)?", re.IGNORECASE)
COMMA = re.compile(rf"{GAP},")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*\r?\n(?>(?:[ \t]++[^\n]*+(?:\n|\Z)|[ \t]*\r?\n)*)")
_ABOUT_A_VALUE = "\"'`.,;:)(]}{\\| \t\r\n"
_SQL = re.compile(
    r"\b(?:select|insert|update|delete|merge|where|join|filter|cond)\b", re.IGNORECASE
)
_END = r"(?=[\s);,]|::|\Z)"
_PARAMETER = re.compile(rf"(?:\$\d{{1,5}}|\?|%s|%\(\w{{1,63}}\)s){_END}")
_COLUMN = re.compile(
    rf"(?:\"?\w{{1,63}}\"?\.){{1,3}}\"?(?P<column>[a-z_]\w{{0,62}})\"?{_END}", re.I
)
_NO_VALUE = re.compile(rf":\w{{1,63}}{_END}|(?:null|default){_END}|\(|[a-z_][\w.]{{0,127}}\(", re.I)
_NUMBER = re.compile(rf"-?\d{{1,19}}{_END}")
_QUERY = re.compile(r"\(\s{0,9}(?:select|values|with|\$\d|:\w)\b", re.IGNORECASE)
_BARE = re.compile(rf"(?P<column>[a-z_]\w{{0,62}}){_END}", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:\b(?:where|and|or|on|set|when|not|having|filter|cond)\b:?[\s(]{1,9}|[(,]\s{0,9})\"?$",
    re.IGNORECASE,
)
"""What stands before a column in a statement or a plan, and not before a word of libpq."""
_OF_LIBPQ = re.compile(r"pass|pwd", re.IGNORECASE)
_CASE = re.compile(r"case\b(?:[^';]|'(?>(?:[^']|'')*)'){1,2000}?\bend\b", re.IGNORECASE)
_BRANCH = re.compile(r"(\b(?:then|else)\s{1,9})([eEnN]?'(?>(?:[^']|'')*)')", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]++")
_PSQL_SET = re.compile(r"\\set(?:env)?[ \t]{1,9}$")
_NO_EXPRESSION = re.compile(r"(?![\d \t.+*/%-]*+(?:\n|\Z))[^\n(:'\";]++(?=\n|\Z)")
"""What pgbench's \\set does not take."""
_OF_A_ROLE = re.compile(
    r"\b(?:create|alter)\s{1,9}(?:user|role|group)\s[^;:'()]{1,70}$", re.IGNORECASE
)
_BARE_PASSWORD = re.compile(
    r"(?!(?:null|default|expire|history|reuse|require|never)\b)[^\s;'\"(]++"
    r"(?=[ \t]{0,9}(?:[;\n]|\Z|(?:valid|in|connection|login|no\w{1,20})\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Hidden:
    """What is replaced in a text, and by what."""

    start: int
    end: int
    mark: str


def hide(text: str, start: int, end: int) -> Hidden | None:
    """A value replaced within its quotes; None: it is empty, or hidden already."""
    value = text[start:end]
    if value.strip(_ABOUT_A_VALUE) in ("", LEFT_OUT):
        return None
    quotes = _ESCAPED.match(value) or _DOUBLED.match(value)
    quote = quotes[0] if quotes and value.endswith(quotes[0]) else value[0]
    if quote[-1] not in "\"'":
        quote = ""
    return Hidden(start, end, f"{quote}{LEFT_OUT}{quote}")


def left_out(text: str, start: int, end: int | None) -> tuple[str, int] | None:
    """The same as `replace_behind` takes it; None also where no value ends."""
    hidden = None if end is None else hide(text, start, end)
    return None if hidden is None else (hidden.mark, hidden.end)


@dataclass
class OpenQuotes:
    """Which quotes are open at a place, counted from the beginning of its line, of the text."""

    text: str
    at: int = 0
    line: dict[str, int] = field(default_factory=lambda: {"'": 0, '"': 0})
    whole: int = 0

    def move(self, to: int) -> None:
        """Further on in the text, never back."""
        last = max(self.text.rfind("\n", self.at, to) + 1, self.at)
        for quote in self.line:
            before = 0 if last > self.at else self.line[quote]
            self.line[quote] = before + self.text.count(quote, last, to)
        self.whole += self.text.count("'", self.at, to)
        self.at = to

    @property
    def in_literal(self) -> bool:
        """Whether a literal of SQL is open, by the line or by the text: a log has apostrophes."""
        return self.line["'"] % 2 == 1 or self.whole % 2 == 1


Replace = Callable[[re.Match[str]], tuple[str, int] | None]
"""Of a match what stands in place of the text behind it, and where that ends; None: it stays."""


def replace_behind(pattern: re.Pattern[str], text: str, replace: Replace) -> str:
    """The text with what is behind each match replaced, past which the next one is looked for."""
    parts, at = list[str](), 0
    while (match := pattern.search(text, at)) is not None:
        parts.append(text[at : match.end()])
        at = match.end()
        if (replaced := replace(match)) is not None:
            parts.append(replaced[0])
            at = replaced[1]
    return "".join([*parts, text[at:]])


def literal_end(text: str, at: int, *, listed: bool = False) -> int | None:
    """Past the literal that begins there, with those that go on with it or are listed with it; None
    where none begins."""
    if _ESCAPED.match(text, at):
        return _end_of_run(text, at, _ESCAPED)
    match = _LITERAL.match(text, at)
    if match is None:
        return None
    further = _LISTED if listed else _NEXT
    if match[0][0] == '"' and not listed:
        return match.end()
    while (more := further.match(text, match.end())) is not None:
        match = more
    return match.end()


def unquoted(name: str) -> str:
    """A name of SQL without the blanks and quotes about it."""
    return name.strip(' \t\r\n"`[]')


def inner_literal_end(text: str, at: int) -> int | None:
    """The same of a literal that may stand within another, whose quotes are two."""
    end = literal_end(text, at)
    return doubled_end(text, at) if end == at + 2 and text[end : end + 1].isalnum() else end


def hidden_branches(text: str, at: int) -> Hidden | None:
    """What a CASE that begins there may give, replaced; None where none begins."""
    match = _CASE.match(text, at)
    if match is None:
        return None
    mark = _BRANCH.sub(lambda branch: f"{branch[1]}'{LEFT_OUT}'", match[0])
    return Hidden(at, match.end(), mark)


def bare_word(text: str, at: int, name: str, before: str) -> re.Match[str] | None:
    """A value without quotes, behind a name that ends there: `\\set NAME word` of psql, and the
    password of a role, which is an error that servers log and quote."""
    blanks = _BLANKS.match(text, at)
    if blanks is None:
        return None
    if _PSQL_SET.search(before):
        return _NO_EXPRESSION.match(text, blanks.end())
    if name.lower() == "password" and _OF_A_ROLE.search(before):
        return _BARE_PASSWORD.match(text, blanks.end())
    return None


def doubled_end(text: str, at: int) -> int | None:
    """Past a literal within a literal, whose quotes are two: '' … ''; None where none begins."""
    return _end_of_run(text, at, _DOUBLED) if _DOUBLED.match(text, at) else None


def _end_of_run(text: str, at: int, pattern: re.Pattern[str]) -> int:
    """Past the same quotes as begin there; those with more backslashes are within the value."""
    match = pattern.match(text, at)
    assert match is not None  # the callers looked
    run, end = match[0], match.end()
    while (end := text.find(run, end)) >= 0:
        if run[0] != "\\" or text[end - 1] != "\\":
            return end + len(run)
        end += 1
    return len(text)


def word_end(text: str, at: int) -> int:
    """Past the word of a shell or of libpq, or what is in braces, as ODBC quotes."""
    match = (_BRACES if text.startswith("{", at) else _WORD).match(text, at)
    return at if match is None else match.end()


def field_end(text: str, at: int, *, quoted: bool) -> int:
    """Past a value of KEY=VALUE;KEY=VALUE, with its blanks, before the next key; `quoted`: the
    string stands in double quotes."""
    if text.startswith("{", at):
        return word_end(text, at)
    match = (_FIELD if quoted else _QUOTED_FIELD).match(text, at)
    assert match is not None  # it may be empty
    return match.end()


def next_at(text: str, mark: str, start: int, end: int) -> int:
    """Where the mark is next between two places, else the second one."""
    at = text.find(mark, start, end)
    return end if at < 0 else at


def line_end(text: str, at: int, closing: str = "") -> int:
    """The end of the line, or where the closing quote is."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    quote = text.find(closing, at, end) if closing else -1
    end = quote if quote >= 0 else end
    return end - 1 if text[at:end].endswith("\r") else end


def block_end(text: str, at: int) -> int | None:
    """Past a block of YAML, whose lines are indented; None where none begins."""
    match = _BLOCK.match(text, at)
    return None if match is None else match.end()


def without_literals(text: str, at: int) -> tuple[str, int]:
    """Rows in parentheses without their literals, and where they end."""
    return _without_literals(text, at, spared=0)


def without_later_literals(text: str, at: int) -> tuple[str, int]:
    """Arguments in parentheses without the literals behind the first one of them."""
    return _without_literals(text, at, spared=1)


def without_arguments(text: str, at: int) -> tuple[str, int]:
    """Arguments of a procedure, in no parentheses, without their literals, and where they end."""
    parts = list[str]()
    start = past(_ARGUMENT, text, at)
    while True:
        literal = inner_literal_end(text, start)
        hidden = None if literal is None else hide(text, start, literal)
        end = literal or past(_NO_TEXT, text, start)
        parts += [text[at:start], hidden.mark if hidden else text[start:end]]
        at = end
        comma = COMMA.match(text, at)
        if comma is None:
            return "".join(parts), at
        start = past(_ARGUMENT, text, comma.end())


def past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Past what matches there, which may be empty."""
    match = pattern.match(text, at)
    assert match is not None  # such patterns match anywhere
    return match.end()


def _without_literals(text: str, at: int, *, spared: int) -> tuple[str, int]:
    parts, depth = list[str](), 0
    while at < len(text):
        plain = _NO_LITERAL.match(text, at)
        end = plain.end() if plain else at
        if end == at and (literal := literal_end(text, at)) is not None:
            hidden = None if spared else hide(text, at, literal)
            parts.append(hidden.mark if hidden else text[at:literal])
            at = literal
            continue
        end = max(end, at + 1)
        if spared and depth == 1 and "," in text[at:end]:
            spared = 0
        parts.append(text[at:end])
        depth += {"(": 1, ")": -1}.get(text[at:end], 0)
        at = end
        if not depth and parts[-1] == ")" and not _NEXT_ROW.match(text, at):
            break
    return "".join(parts), at


def has_sql(text: str) -> bool:
    """Whether a word of SQL is in it, or of a plan."""
    return _SQL.search(text) is not None


def follows_clause(before: str) -> bool:
    """Whether a name behind this text is that of a column, by the word of SQL before it."""
    return _CLAUSE.search(before) is not None


def is_compared(text: str, at: int, name: str, before: str, *, spaced: bool) -> bool:
    """Whether what stands behind a name and its =, outside of literals of a text with SQL, is a
    parameter, a column or a query, and no value; `spaced`: blanks are about the =."""
    if _PARAMETER.match(text, at):
        return True
    column = _COLUMN.match(text, at)
    alike = column is not None and (
        is_secret(column["column"]) or column["column"] == name.rpartition(".")[2]
    )
    if not spaced:
        return "." in name and alike
    if _OF_LIBPQ.search(name):
        clause = follows_clause(before)
        no_value = _NO_VALUE if clause else _QUERY
        return alike or no_value.match(text, at) is not None or (clause and _is_column(text, at))
    if column is not None or _NO_VALUE.match(text, at) or _is_column(text, at):
        return True
    return name.lower().endswith(("key", "keys")) and _NUMBER.match(text, at) is not None


def _is_column(text: str, at: int) -> bool:
    match = _BARE.match(text, at)
    return match is not None and is_secret(match["column"])
