"""A plain dump falls into the statements that PostgreSQL's own scanner sees, however it is read."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.engines.postgres.intake.dumps import lexer
from steelyard.engines.postgres.intake.dumps.lexer import DumpLexer, PsqlCommand, SqlStatement
from steelyard.model.errors import UsageError

Parts = list[tuple[str, bytes]]


class Slow:
    """A file that gives few bytes at once."""

    def __init__(self, content: bytes, most: int) -> None:
        self._file = io.BytesIO(content)
        self._most = most

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, self._most))


class Repeated:
    """A file of gigabytes: a beginning, then the same piece again and again."""

    def __init__(self, beginning: bytes, piece: bytes, length: int = 3 << 30) -> None:
        self._beginning = beginning
        self._piece = piece
        self.left = length

    def read(self, size: int, /) -> bytes:
        if self._beginning:
            beginning, self._beginning = self._beginning, b""
            return beginning
        size = min(size, self.left)
        self.left -= size
        return (self._piece * (size // len(self._piece) + 1))[:size]


def parts(content: bytes, most: int = 1 << 20, *, standard: bool = True) -> Parts:
    """Statements, commands and rows."""
    dump = DumpLexer(Slow(content, most))
    dump.standard_strings = standard
    return list(_parts(dump))


def _parts(dump: DumpLexer) -> Iterator[tuple[str, bytes]]:
    for part in dump:
        yield "command" if isinstance(part, PsqlCommand) else "statement", part.text
        if isinstance(part, SqlStatement) and part.reads_rows:
            yield "rows", b"".join(dump.rows())


@pytest.mark.parametrize(
    "statement",
    [
        rb"SELECT 'a;b';",
        rb"SELECT 'it''s;';",
        rb"SELECT 'back\';",
        rb"SELECT E'quote\';still \\';",
        rb"SELECT e'a''\';';",
        b"SELECT E'a'\n  -- it's a comment\n 'b\\';c';",
        rb'SELECT "a;""\ b";',
        rb'SELECT U&"d\0061t;", U&' + rb"'\0441;';",
        rb"SELECT $$ ; ' \! id $$;",
        rb"SELECT $a$ $b$ ; $a; $ $$ $a$;",
        "SELECT $ä$ ; $ä$;".encode(),
        rb"SELECT a$b$;",
        rb"SELECT $1, $2;",
        b"SELECT /* ; /* nested ; */ ; */ 1;",
        b"SELECT 1 -- ; ' \\! id\n;",
        b"SELECT 2 - -3 / 4 */* c */ 5;",
        b"CREATE RULE r AS ON INSERT TO t DO INSTEAD (SELECT 1; DELETE FROM u;);",
        b"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 2 END; END;",
        b"create or replace procedure p() begin atomic select 1; select 2; end;",
        b"BEGIN;",
        b"CREATE TABLE t (\"case\" int, b text DEFAULT ';');",
        b"INSERT INTO t VALUES (1, 'a;\n\\! id\n'), (2, E'\\';'), (3, $$;$$);",
        b";",
        b"COMMENT ON TABLE t IS 'a''\n\\d+';",
    ],
)
@pytest.mark.parametrize("most", [1, 7, 1 << 20])
def test_a_statement_ends_at_its_semicolon(statement: bytes, most: int) -> None:
    text = b"-- before\n" + statement + b"\nSELECT 2;"
    assert parts(text, most) == [("statement", statement), ("statement", b"SELECT 2;")]


def test_backslashes_escape_where_the_server_says_so() -> None:
    assert parts(rb"SELECT 'a\';b'; SELECT 1;", standard=False) == [
        ("statement", rb"SELECT 'a\';b';"),
        ("statement", b"SELECT 1;"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (rb"SELECT 1; \! id", None),
        (b"\n  \\! id\n", None),
        (b"/*\nCOPY x FROM stdin;\n*/\n\\! id\n", None),
        (b"SELECT 1\n \\g |id\n", 2),
        (b"SELECT (1 \\; \\! id);", 1),
        (b"SELECT $$a$$ \\gexec\n", 1),
        (b"SELECT E'a'\n\\! id\n", 2),
        (b"COPY t FROM stdin;\n1\n\\.\nSELECT 'x' \\watch 1\n", 4),
    ],
)
def test_a_backslash_outside_of_quotes_is_a_command_or_refused(
    text: bytes, line: int | None
) -> None:
    if line is None:
        assert "command" in [kind for kind, _ in parts(text)]
        return
    with pytest.raises(UsageError, match=f"line {line} holds a command of psql"):
        parts(text)


@pytest.mark.parametrize("most", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("copy", "rows"),
    [
        (b"COPY public.t (a, b) FROM stdin;\n", b"1\t\\N\n\\\\.\n\\!\n"),
        (b"copy t from stdin;\n", b""),
        (b'COPY "t;1" FROM STDIN WITH (FORMAT csv, HEADER);\n', b'"a;\n\\N"\n\\.x\n'),
        (b"COPY t FROM STDIN -- c\n ; -- d\r\n", b"a\r\n\\.b\r\n"),
    ],
)
def test_rows_reach_to_their_end_alone(copy: bytes, rows: bytes, most: int) -> None:
    for end in (b"\\.\n", b"\\.\r\n"):
        assert parts(copy + rows + end + b"SELECT 1;", most)[1:] == [
            ("rows", rows),
            ("statement", b"SELECT 1;"),
        ]
    assert parts(copy + rows + b"\\.", most)[1:] == [("rows", rows)]


def test_rows_without_an_end_and_text_behind_copy_are_refused() -> None:
    with pytest.raises(UsageError, match="within the rows of the COPY at line 2"):
        parts(b"SELECT 1;\nCOPY t FROM stdin;\n1\n2\n")
    with pytest.raises(UsageError, match="line 1 goes on behind COPY"):
        parts(b"COPY t FROM stdin; SELECT 1;\n1\n\\.\n")
    with pytest.raises(UsageError, match="line 1 goes on behind COPY"):
        parts(b"COPY t FROM stdin;\r1\r\\.\rSELECT 1;\r")  # lines of an old Macintosh


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (beginning, piece)
        for beginning in (b"", b"SELECT '", b"SELECT E'", b"SELECT $x$", b"/*", b"--", b"((", b'"')
        for piece in (b"a", b" ", b"'", b"(", b"a ", b"\\\\")
        if (beginning, piece) != (b"", b"\\\\")
    ],
)
def test_what_has_no_end_is_refused_before_it_fills_the_memory(
    beginning: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexer, "LONGEST_STATEMENT_BYTES", 4 << 20)
    file = Repeated(beginning, piece)
    with pytest.raises(UsageError, match=r"is too long|holds a command"):
        list(_parts(DumpLexer(file)))
    assert file.left > (3 << 30) - (12 << 20)


def test_a_row_may_be_as_long_as_it_likes() -> None:
    dump = DumpLexer(Repeated(b"COPY t FROM stdin;\n", b"a"))
    assert next(iter(dump)).text.startswith(b"COPY")
    longest = total = 0
    for chunk in dump.rows():
        longest, total = max(longest, len(chunk)), total + len(chunk)
        if total > 200 << 20:
            break
    assert longest < 1 << 20


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="zero byte stands in line 3"):
        parts(b"SELECT 1;\n\nSELECT '\0';")
    assert parts(b"\xef\xbb\xbfSELECT 1;") == [("statement", b"SELECT 1;")]


def test_a_dump_that_was_cut_off_is_noticed() -> None:
    whole = b"--\n-- PostgreSQL database dump\n--\n\nSELECT 1;\n"
    end = b"--\n-- PostgreSQL database dump complete\n--\n\n"
    for text, cut in ((whole, True), (whole + end, False), (b"SELECT 1;", False)):
        dump = DumpLexer(io.BytesIO(text))
        assert list(dump)
        assert dump.cut_off is cut


PIECES = st.sampled_from(
    [
        "SELECT", "a", "CASE", "END", "E", "x1", "1", "1.5", "$1", "'", "''", "'a;'", r"'\'",
        "E'", r"\'", r"E'\';'", '"', '"a;"', "$$", "$a$", "$", "--", "\n", "/*", "*/", "(", ")",
        ";", " ", ",", "-", "/", "ä", "U&", "B'1'",
    ]
)  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=30).map("".join))
@example("SELECT E'a'\n'b\\';c'; SELECT 1")
@example("SELECT (1;2); a")
@example("SELECT 'a' /* ; */ ; SELECT $a$ ; $a$")
def test_statements_are_those_that_the_servers_scanner_sees(text: str) -> None:
    """pglast carries PostgreSQL's scanner; what it refuses has no right answer."""
    parser = pytest.importorskip("pglast.parser")
    try:
        tokens = parser.scan(text)
    except (parser.ParseError, UnicodeError, ValueError):
        return
    if "ASCII_92" in [token.name for token in tokens]:
        return  # a backslash outside of quotes is a command of psql
    ends, depth = [], 0
    for token in tokens:
        depth += {"ASCII_40": 1, "ASCII_41": -1 if depth else 0}.get(token.name, 0)
        if token.name == "ASCII_59" and not depth:
            ends.append(token.start + 1)
    content = text.encode()
    place, ours = 0, []
    for part in DumpLexer(io.BytesIO(content)):
        place = content.index(part.text, place) + len(part.text)
        if part.text.endswith(b";"):
            ours.append(len(content[:place].decode()))
    assert ours == ends


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(1, 9))
def test_it_does_not_matter_in_which_chunks_a_dump_comes(text: str, most: int) -> None:
    def ending(size: int) -> tuple[Parts, str]:
        try:
            return parts(text.encode(), size), ""
        except UsageError as error:
            return [], error.primary

    assert ending(most) == ending(1 << 20)
