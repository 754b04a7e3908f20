"""Splits a plain dump into statements, rows of COPY, and commands of psql, in bounded memory.

The lexical structure is that of chapter 4.1 of PostgreSQL's documentation: literals with and
without escapes, dollar quotes, nested comments, semicolons within parentheses (rules) and within
BEGIN ATOMIC (functions). Statements are sent to the server by libpq: a place that is split wrongly
ends as an error of syntax, and nothing here or there takes text for a command of psql.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from steelyard.engines.postgres.intake.dumps.tokens import (
    BEHIND_WORDS,
    BETWEEN_LITERALS,
    BETWEEN_WORDS,
    BLANK,
    BLOCK_EDGE,
    ESCAPED,
    IN_PARENTHESES,
    LAST_ROW,
    LINE,
    NO_ROW,
    OPEN_ENDED,
    REST_OF_COPY,
    TAIL_BYTES,
    TOKEN,
    blocks_after,
    is_routine,
)
from steelyard.model.errors import UsageError

CHUNK_BYTES = 1 << 18
LONGEST_STATEMENT_BYTES = 64 << 20
"""The text of a statement stands in memory three times over: here, and in two buffers of libpq.
Rows of COPY are passed on in chunks and may be as long as the server takes them."""
MOST_TOKENS = 4_000_000
"""Of a statement; literals and the like count only where they are not whole, as in E'…'."""
_WORDS = 64
_BEGUN, _COMPLETE = b"-- PostgreSQL database dump", b"-- PostgreSQL database dump complete"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ByteReader(Protocol):
    """What a dump is read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none: the end."""


@dataclass(frozen=True)
class SqlStatement:
    """A statement of SQL."""

    line: int
    text: bytes
    words: tuple[str, ...]
    """The first words outside of quotes and parentheses, in upper case; '"' for a quoted name."""

    @property
    def reads_rows(self) -> bool:
        """Whether rows follow it: COPY … FROM STDIN."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return self.words[:1] == ("COPY",) and ("FROM", "STDIN") in pairs

    def begins(self, *words: str) -> bool:
        """Whether these are its first words."""
        return self.words[: len(words)] == words


@dataclass(frozen=True)
class PsqlCommand:
    """A line that begins with a backslash where a statement could begin."""

    line: int
    text: bytes


class DumpLexer:
    """Yields what a dump consists of; after a statement that reads rows, take its `rows()`."""

    def __init__(self, file: ByteReader) -> None:
        self._file = file
        self._text = bytearray()
        self._at = 0  # where the next part begins
        self._counted = 0  # to where lines were counted
        self._line = 1
        self._ended = False
        self._first = True
        self.standard_strings = True
        """As the server reports standard_conforming_strings; off: a backslash escapes in every
        literal. Set it after each statement."""
        self.is_of_pg_dump = False
        """Whether the line was read that pg_dump writes first."""
        self.cut_off = False
        """Whether the line was read that pg_dump writes first, and not yet the one it writes
        last."""

    def __iter__(self) -> Iterator[SqlStatement | PsqlCommand]:
        while True:
            self._skip()
            if self._at == len(self._text):
                return
            self._begin()
            yield self._command() if self._text[self._at] == 0x5C else self._statement()

    def rows(self) -> Iterator[bytes]:
        """The rows of COPY, in chunks that end anywhere. UsageError: they have no end."""
        line = self._current_line()
        rest = self._match_line(REST_OF_COPY)
        self._at = rest
        self._fill(TAIL_BYTES)
        none = NO_ROW.match(self._text, self._at)
        if none is not None:
            self._at = none.end()
            return
        while True:
            last = LAST_ROW.search(self._text, self._at)
            if last is not None:
                yield bytes(self._text[self._at : last.start() + 1])
                self._at = last.end()
                return
            until = max(self._at, len(self._text) - TAIL_BYTES)
            yield bytes(self._text[self._at : until])
            self._at = until
            self._begin()
            if not self._read():
                break
        rest_of_rows = bytes(self._text[self._at :])
        self._at = len(self._text)
        if not rest_of_rows.rstrip(b"\r").endswith(b"\n\\."):
            raise UsageError(
                f"it ends within the rows of the COPY at line {line}",
                detail='A line "\\." ends them.',
                hint="The file was cut off: dump the database again, or copy the file again.",
            )
        yield rest_of_rows.rstrip(b"\r")[:-2]

    def _skip(self) -> None:
        """Pass over blanks and comments before a statement."""
        length = 0
        while True:
            self._begin()
            blank = BLANK.match(self._text, self._at)
            assert blank is not None  # it may be empty
            end = blank.end()
            if end < len(self._text):
                token = self._token(end)
                if token.lastgroup in ("comment", "block"):
                    end = self._end_of_comment(token)
            self._note_comments(end)
            length += end - self._at
            if length > LONGEST_STATEMENT_BYTES:
                raise self._too_long("what stands before the statement")
            if end == self._at and (end < len(self._text) or not self._read()):
                return
            self._at = end

    def _note_comments(self, end: int) -> None:
        last = self._text.rfind(_BEGUN, self._at, end)
        if last >= 0:
            self.is_of_pg_dump = True
            self.cut_off = not self._text.startswith(_COMPLETE, last)

    def _statement(self) -> SqlStatement:
        start, line = self._at, self._current_line()
        words: list[str] = []
        depth = blocks = tokens = 0
        before: re.Match[bytes] | None = None
        at = start
        while at < len(self._text) or self._read():
            span = self._span(words, depth).match(self._text, at)
            if span is not None and self.standard_strings and not _marks_escapes(before):
                at, before = span.end(), None
                continue
            token = self._token(at)
            kind = token.lastgroup
            at = token.end()
            tokens += 1
            if tokens > MOST_TOKENS:
                raise self._too_long("the statement")
            if kind == "word" and not depth:
                word = token[0].upper().decode("utf-8", "replace")
                blocks = blocks_after(word, words, blocks)
                _append(words, word)
            elif kind == "literal":
                at = self._end_of_literal(at, escapes=self._escapes(token, before))
            elif kind == "name":
                at = self._find(b'"', at)
                _append(words, '"' if not depth else "")
            elif kind == "dollar":
                at = self._find(token[0], at)
            elif kind in ("comment", "block"):
                at = self._end_of_comment(token)
            elif kind == "open":
                depth += len(token[0])
            elif kind == "close":
                depth = max(0, depth - len(token[0]))
            elif kind == "command":
                raise self._refused(token)
            elif kind == "end" and not depth and not blocks:
                break
            before = token
        self._at = at
        return SqlStatement(line, bytes(self._text[start:at]), tuple(words[:_WORDS]))

    def _span(self, words: list[str], depth: int) -> re.Pattern[bytes]:
        """What may be passed over: words count outside of parentheses, as far as they are kept,
        and in a routine, whose body they may begin and end."""
        if depth:
            return IN_PARENTHESES
        counted = len(words) < _WORDS or is_routine(words)
        return BETWEEN_WORDS if counted else BEHIND_WORDS

    def _command(self) -> PsqlCommand:
        line = self._current_line()
        end = self._match_line(LINE)
        text = bytes(self._text[self._at : end])
        self._at = end
        return PsqlCommand(line, text)

    def _escapes(self, literal: re.Match[bytes], before: re.Match[bytes] | None) -> bool:
        """Whether a backslash escapes in a literal: E'…', and all of them by an old setting."""
        marked = _marks_escapes(before) and before is not None and before.end() == literal.start()
        return marked or not self.standard_strings

    def _token(self, at: int) -> re.Match[bytes]:
        while True:
            token = TOKEN.match(self._text, at)
            assert token is not None  # any byte is a token
            if token.end() < len(self._text) or token.lastgroup not in OPEN_ENDED:
                return token
            if not self._read():
                return token

    def _end_of_literal(self, at: int, *, escapes: bool) -> int:
        if not escapes:
            return self._find(b"'", at)  # a doubled quote begins the next literal at once
        while True:
            piece = ESCAPED.match(self._text, at)
            assert piece is not None  # it may be empty
            at = piece.end()
            if self._text[at : at + 1] == b"'":
                again = self._next_piece(at + 1)
                if again is None:
                    return at + 1
                at = again
            elif not self._read():
                return len(self._text)

    def _next_piece(self, at: int) -> int | None:
        """Where a literal goes on behind a quote: after a second one, or in another line, whose
        piece then has escapes too (4.1.2.1)."""
        while True:
            between = BETWEEN_LITERALS.match(self._text, at)
            assert between is not None  # it may be empty
            if between.end() + 1 < len(self._text) or not self._read():
                break
        goes_on = self._text[between.end() : between.end() + 1] == b"'"
        joined = not between[0] or b"\n" in between[0] or b"\r" in between[0]
        return between.end() + 1 if goes_on and joined else None

    def _end_of_comment(self, token: re.Match[bytes]) -> int:
        if token.lastgroup == "comment":
            return token.end()
        depth, at = 1, token.end()
        while depth:
            edge = BLOCK_EDGE.search(self._text, at)
            if edge is not None:
                depth += 1 if edge[0] == b"/*" else -1
                at = edge.end()
            else:
                at = max(at, len(self._text) - 1)
                if not self._read():
                    return len(self._text)
        return at

    def _find(self, mark: bytes, at: int) -> int:
        """Behind the next `mark`; the end of the text where there is none."""
        while True:
            index = self._text.find(mark, at)
            if index >= 0:
                return index + len(mark)
            at = max(at, len(self._text) - len(mark) + 1)
            if not self._read():
                return len(self._text)

    def _match_line(self, pattern: re.Pattern[bytes]) -> int:
        """The end of the line that begins here. UsageError: it is not what may stand here."""
        while b"\n" not in self._text[self._at :] and self._read():
            pass
        if b"\n" not in self._text[self._at :]:
            self._text += b"\n"
        match = pattern.match(self._text, self._at)
        if match is None:
            raise UsageError(
                f"line {self._current_line()} goes on behind COPY … FROM stdin",
                hint="The rows begin in the line after it, and lines end with a line feed.",
            )
        return match.end()

    def _refused(self, token: re.Match[bytes]) -> UsageError:
        line = self._line + self._text.count(b"\n", self._counted, token.start())
        self._find(b"\n", token.start())
        command = re.match(rb"\\\S*", self._text[token.start() : token.start() + 40])
        assert command is not None  # it begins with a backslash
        return refused_command(PsqlCommand(line, command[0]))

    def _too_long(self, what: str) -> UsageError:
        return UsageError(
            f"{what} at line {self._current_line()} is too long",
            detail=f"{LONGEST_STATEMENT_BYTES >> 20} MB and {MOST_TOKENS:,} tokens are read.",
            hint="Rows of COPY may be longer: dump without --inserts.",
        )

    def _current_line(self) -> int:
        self._line += self._text.count(b"\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _begin(self) -> None:
        """Forget what was read, once that is most of the text."""
        if self._at >= CHUNK_BYTES or self._at == len(self._text):
            self._current_line()
            del self._text[: self._at]
            self._at = self._counted = 0

    def _fill(self, count: int) -> None:
        while len(self._text) - self._at < count and self._read():
            pass

    def _read(self) -> bool:
        """Append to the text, as much again as there is: what is scanned anew stays proportional.
        UsageError: a statement is too long, or this is no text."""
        if self._ended:
            return False
        size = len(self._text) - self._at
        if size > LONGEST_STATEMENT_BYTES:
            raise self._too_long("the statement")
        chunk = self._file.read(max(CHUNK_BYTES, size))
        self._ended = not chunk
        if b"\0" in chunk:
            line = self._line + self._text.count(b"\n", self._counted)
            line += chunk.count(b"\n", 0, chunk.index(b"\0"))
            raise UsageError(f"it is no text: a zero byte stands in line {line}")
        if self._first:
            chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
            self._first = False
        self._text += chunk
        return bool(chunk)


def refused_command(command: PsqlCommand) -> UsageError:
    """The error for a command of psql."""
    word = command.text.split(None, 1)[0].decode(errors="replace")
    return UsageError(
        f"line {command.line} holds a command of psql, {word}",
        hint="Only SQL and rows are restored: leave the line out, or execute the file with psql "
        "on a server of yours and dump that.",
    )


def _marks_escapes(word: re.Match[bytes] | None) -> bool:
    return word is not None and word[0] in (b"E", b"e")


def _append(words: list[str], word: str) -> None:
    """The last one is remembered too, for what follows it."""
    if word:
        words[_WORDS:] = []
        words.append(word)
