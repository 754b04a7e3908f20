"""Reads the text of a file of numbers, and names places in it for errors.

What is refused here, whatever the format: files that are not text, lines and files beyond the
limits below. A byte order mark, UTF-16 and the line ends of other systems are read.
"""

from __future__ import annotations

import codecs
import gzip
import io
import shlex
import zlib
from dataclasses import dataclass
from pathlib import Path

from steelyard.model.errors import NumbersError

MOST_BYTES = 512 * 1024 * 1024
LONGEST_LINE = 1_000_000
"""Characters; JSON may stand on one line and is not held to it."""
MOST_ROWS = 10_000_000
MOST_QUOTED = 40
"""Characters of a piece of a file that an error shows."""
_GZIP = b"\x1f\x8b"
_SHEET = "Save the sheet with the numbers as CSV, in UTF-8."
_UNREADABLE = (
    (b"PK\x03\x04", "a spreadsheet, or a zip archive", _SHEET),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet", _SHEET),
    (b"PAR1", "Parquet", "Write it as CSV: duckdb -csv -c \"FROM 'FILE'\" > FILE.csv"),
    (b"SQLite format 3\0", "SQLite", "Write the table as CSV: sqlite3 -header -csv FILE QUERY"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "zstd -dc FILE | steelyard judge -"),
    (b"\xfd7zXZ\0", "packed by xz", "xz -dc FILE | steelyard judge -"),
    (b"BZh", "packed by bzip2", "bzip2 -dc FILE | steelyard judge -"),
)
"""How files begin that are no text, what they are, and what to type."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A line and a column, both counted from 1, the column in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one file, lines ended by \\n, and the name it is called by."""

    name: str
    text: str

    def error(
        self,
        reason: str,
        position: TextPosition | None = None,
        *,
        detail: str | None = None,
        hint: str | None = None,
    ) -> NumbersError:
        """An error that names the file and, where there is one, the line and the column."""
        at = f" line {position.line}, column {position.column}" if position else ""
        return NumbersError(f'"{self.name}"{at}: {reason}', detail=detail, hint=hint)

    def place_of(self, offset: int) -> TextPosition:
        """The place of a character, counted from 0."""
        before = self.text.count("\n", 0, offset)
        return TextPosition(before + 1, offset - (self.text.rfind("\n", 0, offset) + 1) + 1)

    @property
    def begins_as_json(self) -> bool:
        """Whether it begins as a JSON object or list does."""
        return self.text.lstrip()[:1] in ("{", "[")


def open_source(path: Path, name: str | None = None) -> SourceText:
    """The source of a file; NumbersError where it cannot be read or is not text."""
    called = name or str(path)
    try:
        if path.is_dir():
            raise NumbersError(
                f'could not read "{called}": it is a directory',
                hint="Name a file, or the verdict.json of a record.",
            )
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise _too_large(called)
        with path.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise NumbersError(f'could not read "{called}": {cause.lower()}') from None
    return source_of(content, called)


def source_of(content: bytes, name: str) -> SourceText:
    """The source of these bytes; NumbersError where they are not text within the limits."""
    if content.startswith(_GZIP):
        content = _unpacked(content, name)
    if len(content) > MOST_BYTES:
        raise _too_large(name)
    for beginning, what, hint in _UNREADABLE:
        if content.startswith(beginning):
            raise SourceText(name, "").error(f"this is no text: it is {what}", hint=hint)
    text = _decoded(content, name).replace("\r\n", "\n").replace("\r", "\n")
    source = SourceText(name, text)
    if not text.strip():
        raise source.error("the file is empty", hint="It should hold numbers: see `judge -h`.")
    if "\0" in text:
        position = source.place_of(text.index("\0"))
        raise source.error("a zero byte: this is not a text file", position)
    if not source.begins_as_json:
        _refuse_long_lines(source)
    return source


def arm_of_file(source: str) -> str:
    """What an arm is called that has no name but that of its files: "off" of "b/off.1.txt"."""
    return source.rpartition("/")[2].partition(".")[0] or source


def quoted(text: str) -> str:
    """A piece of a file as an error shows it: quoted, cut short, nothing unprintable."""
    cut = text if len(text) <= MOST_QUOTED else text[: MOST_QUOTED - 1] + "…"
    return '"' + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cut) + '"'


def shell_word(text: str) -> str:
    """A name of a file as it is to be typed: whole, in the quotes that it needs."""
    own = set(text) & set('"$`\\!')
    return shlex.quote(text) if own or not text.isprintable() else f'"{text}"'


def _unpacked(content: bytes, name: str) -> bytes:
    """What gzip packed, at most one byte beyond the limit."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            return packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise NumbersError(f'could not unpack "{name}": {str(error).lower()}') from None


def _too_large(name: str) -> NumbersError:
    return NumbersError(
        f'"{name}" is larger than {MOST_BYTES // 1024**2} MB, the limit',
        hint="Judge a part of it, or the totals of intervals.",
    )


def _decoded(content: bytes, name: str) -> str:
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise SourceText(name, "").error(
            f"byte 0x{content[error.start]:02x} is not {encoding.removesuffix('-sig').upper()}",
            TextPosition(line, column),
            hint="This is not a text file, or it was saved in an old encoding: save it as UTF-8.",
        ) from None


def _refuse_long_lines(source: SourceText) -> None:
    lines = source.text.split("\n")
    if len(lines) <= MOST_ROWS and max(map(len, lines)) <= LONGEST_LINE:
        return
    start, line = 0, 1
    while (end := source.text.find("\n", start)) >= 0:
        if end - start > LONGEST_LINE:
            break
        start, line = end + 1, line + 1
        if line > MOST_ROWS:
            many = f"{MOST_ROWS:,}".replace(",", " ")
            raise source.error(f"more than {many} lines, the limit", TextPosition(line, 1))
    else:
        end = len(source.text)
    if end - start > LONGEST_LINE:
        raise source.error(
            f"a line of more than {LONGEST_LINE:,} characters".replace(",", " "),
            TextPosition(line, 1),
        )
