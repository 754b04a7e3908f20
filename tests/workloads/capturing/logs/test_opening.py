"""An encoding that is named is the log's, or refused."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from workloads.capturing.logs.log_lines import entries, stderr, texts

ASCII = "".join(stderr(n, "select 'abc'") for n in range(3000))


@pytest.mark.parametrize("letters", ["M\u00fcller", "\u4e2d\u6587" * 5, "\U0001f600" * 9])
@pytest.mark.parametrize("name", ["LATIN1", "WIN1252", "KOI8R", "GB18030", "EUC_JP", "SJIS"])
@pytest.mark.parametrize("late", [False, True])
def test_a_log_that_is_utf_8_is_no_other(
    tmp_path: Path, letters: str, name: str, late: bool
) -> None:
    text = ASCII * late + stderr(1, f"select '{letters * 9}'")
    with pytest.raises(UsageError, match="it is UTF-8") as refused:
        entries(tmp_path, text, encoding=name)
    assert "--encoding" in str(refused.value.hint)
    assert len(entries(tmp_path, text, encoding="UTF8")) == 1 + 3000 * late


@pytest.mark.parametrize(
    ("name", "codec", "letters"),
    [
        ("LATIN1", "latin-1", "M\u00fcller"), ("WIN1252", "cp1252", "\u20ac \u00e9"),
        ("GB18030", "gb18030", "\u8054\u901a"), ("EUC_JP", "euc-jp", "\u65e5\u672c\u8a9e"),
        ("SJIS", "shift-jis", "\u65e5\u672c\u8a9e"), ("LATIN1", "ascii", "Miller"),
        ("WIN1252", "utf-8", "Miller"),
    ],
)  # fmt: skip
def test_a_log_in_the_encoding_that_is_named_is_read(
    tmp_path: Path, name: str, codec: str, letters: str
) -> None:
    text = stderr(1, f"select '{letters}'").encode(codec)
    assert texts(entries(tmp_path, text, encoding=name)) == [f"select '{letters}'"]


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\x00\x00\x01\x02" * 40, b"a\x00b\x00c\x00d\x00e\x00ff\x00g\n" * 3, bytes(range(256))],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UsageError, match="it is no text"):
        entries(tmp_path, data)


@pytest.mark.parametrize(
    ("name", "data", "typed"),
    [
        ("a b.lz4", b"\x04\x22\x4d\x18d@\xa7" + b"x" * 40, "lz4 -dc '{}' > NEW"),
        ("a.zip", b"PK\x03\x04\x14\x00" + b"x" * 40, "unzip -p {} > NEW"),
        ("logs.tar", b"", "tar -xf {}"),
        ("logs.tgz", b"gzip", "tar -xf {}"),
    ],
)
def test_what_must_be_unpacked_first_is_refused_with_what_does_so(
    tmp_path: Path, name: str, data: bytes, typed: str
) -> None:
    log = tmp_path / name
    if not data or data == b"gzip":
        (tmp_path / "postgresql.log").write_text(ASCII)
        with tarfile.open(log, "w:gz" if data else "w") as archive:
            archive.add(tmp_path / "postgresql.log", "postgresql.log")
    else:
        log.write_bytes(data)
    with pytest.raises(UsageError) as refused:
        list(read_entries([log]))
    assert typed.format(log) in str(refused.value.hint)
