"""A file is text within limits, whatever made it, or it is refused with its place."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from foreign.reading import arms_of, refusal, sheet_of
from steelyard.foreign import source as source_module
from steelyard.foreign.source import TextPosition, open_source, quoted, source_of
from steelyard.model.errors import NumbersError

ROWS = "off,on\n1,2\n3,4\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + ROWS.encode(),
        ROWS.replace("\n", "\r\n").encode(),
        ROWS.replace("\n", "\r").encode(),
        ROWS.encode("utf-16"),
        ROWS.rstrip().encode(),
        b"# a comment\n\n" + ROWS.encode() + b"\n \n",
    ],
    ids=["byte order mark", "CRLF", "CR", "UTF-16", "no last line end", "comments and blanks"],
)
def test_what_other_systems_write_is_read_alike(content: bytes) -> None:
    assert arms_of(sheet_of(content)) == {"off": [1, 3], "on": [2, 4]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", '"f.txt": the file is empty'),
        (b" \n\t\n", '"f.txt": the file is empty'),
        (b"# nothing\n", '"f.txt": there are only comments in it'),
        (b"off,on\n1,\0\n", '"f.txt" line 2, column 3: a zero byte: this is not a text file'),
        (b"off,on\n1,\xff\n", '"f.txt" line 2, column 3: byte 0xff is not UTF-8'),
        (b"\x7fELF\x02\x01\x01" + bytes(40), '"f.txt" line 1, column 8: a zero byte'),
    ],
)
def test_what_is_not_text_is_refused_with_its_place(content: bytes, said: str) -> None:
    assert refusal(content).startswith(said)


def test_lines_beyond_the_limit_are_refused_with_their_number() -> None:
    long = "1," * 500_001
    assert refusal(f"off,on\n{long}\n") == (
        '"f.txt" line 2, column 1: a line of more than 1 000 000 characters'
    )


@pytest.mark.long
def test_json_may_stand_on_one_long_line() -> None:
    many = ", ".join(["1.5"] * 120_000)
    sheet = sheet_of(f'{{"off": [{many}], "on": [{many}]}}')
    assert [len(values) for values in arms_of(sheet).values()] == [120_000, 120_000]


def test_files_and_rows_beyond_the_limits_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(source_module, "MOST_ROWS", 3)
    assert (
        refusal("off,on\n" + "1,2\n" * 4)
        == '"f.txt" line 4, column 1: more than 3 lines, the limit'
    )
    monkeypatch.setattr(source_module, "MOST_BYTES", 1024**2)
    (tmp_path / "big").write_bytes(b"1\n" * 600_000)
    for made in (lambda: open_source(tmp_path / "big"), lambda: source_of(b"1\n" * 600_000, "big")):
        with pytest.raises(NumbersError, match="larger than 1 MB, the limit"):
            made()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.csv", "no such file or directory"),
        (".", "it is a directory"),
        ("a\0b", "could not"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(NumbersError) as refused:
        open_source(tmp_path / name)
    assert refused.value.primary.startswith('could not read "')
    assert said in refused.value.primary


def test_places_count_lines_and_characters_from_one() -> None:
    source = source_of("aé\nb".encode(), "f")
    assert [source.place_of(n) for n in (0, 1, 3)] == [
        TextPosition(1, 1),
        TextPosition(1, 2),
        TextPosition(2, 1),
    ]


def test_quoted_pieces_are_short_and_printable() -> None:
    assert quoted("x" * 100) == '"' + "x" * 39 + '…"'
    assert quoted("a\x1b[31m") == '"a\N{REPLACEMENT CHARACTER}[31m"'


def test_what_gzip_packed_is_read_within_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(ROWS.encode())
    assert arms_of(sheet_of(packed)) == {"off": [1, 3], "on": [2, 4]}
    assert 'could not unpack "f.txt"' in refusal(packed[:-9])
    monkeypatch.setattr(source_module, "MOST_BYTES", 1024**2)
    assert "larger than 1 MB, the limit" in refusal(gzip.compress(b"1\n" * 600_000))


@pytest.mark.parametrize(
    ("content", "what", "typed"),
    [
        (b"PK\x03\x04\x14\x00", "a spreadsheet", "as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "a spreadsheet", "as CSV"),
        (b"PAR1\x15\x04", "Parquet", "duckdb -csv"),
        (b"SQLite format 3\x00", "SQLite", "sqlite3 -header -csv"),
        (b"\x28\xb5\x2f\xfd\x04", "packed by zstd", "zstd -dc FILE | steelyard judge -"),
        (b"\xfd7zXZ\x00\x00", "packed by xz", "xz -dc FILE | steelyard judge -"),
        (b"BZh91AY&SY", "packed by bzip2", "bzip2 -dc FILE | steelyard judge -"),
    ],
)
def test_files_that_are_no_text_are_refused_with_what_to_type(
    content: bytes, what: str, typed: str
) -> None:
    with pytest.raises(NumbersError, match=f"this is no text: it is {what}") as refused:
        source_of(content, "f")
    assert typed in str(refused.value.hint)
