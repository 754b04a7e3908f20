"""An encoding that is named is the log's, or refused."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
from steelyard.workloads.capturing.mix import mix_of
from steelyard.workloads.capturing.statements import statements
from steelyard.workloads.capturing.transactions import transactions
from workloads.capturing.logs.log_lines import (
    CAPTURED,
    entries,
    jsonlog,
    message,
    outcomes,
    stamp,
    stderr,
    texts,
    written,
)

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


def of_names(names: Sequence[str | bytes]) -> bytes:
    rows = [stderr(n, "select a from t where b = '{}'") for n in range(len(names))]
    return b"".join(
        row.encode().replace(b"{}", name.encode() if isinstance(name, str) else name)
        for row, name in zip(rows, names, strict=True)
    )


UTF_8 = ["M\u00fcller"] * 9
BROKEN = b"M\xfcller"


@pytest.mark.parametrize("name", [None, "UTF8"])
@pytest.mark.parametrize("at", [0, 4, 9])
def test_a_statement_that_is_not_in_the_logs_encoding_is_counted(
    tmp_path: Path, name: str | None, at: int
) -> None:
    log = of_names([*UTF_8[:at], BROKEN, *UTF_8[at:]])
    read = read_entries(written(tmp_path, log), None, name)
    ledger = CaptureLedger()
    mix = mix_of(transactions(statements(read, ledger)), ledger=ledger)
    assert ledger.statements == {StatementOutcome.ENCODING: 1}
    assert [row for kind in mix.kinds for row in kind.rows] == [("'M\u00fcller'",)] * 9


def test_a_parameter_or_a_multiple_statement_that_is_not_is_counted(tmp_path: Path) -> None:
    rows = [
        b"LOG:  duration: 1.0 ms  execute <unnamed>: select a from t where b = $1",
        b"DETAIL:  parameters: $1 = 'M\xfcller'",
        b"LOG:  duration: 1.0 ms  statement: begin; select 'M\xfcller'; commit",
        b"LOG:  duration: 1.0 ms  execute a name: select 'M\xfcller'",
    ]
    log = b"".join(b"2026-11-28 03:00:01.000 UTC [7] " + row + b"\n" for row in rows)
    counted = outcomes(tmp_path, of_names(UTF_8) + log)
    assert counted.pop(CAPTURED) == 9
    assert counted.pop(StatementOutcome.ENCODING) >= 1
    assert set(counted) <= {StatementOutcome.SEVERAL}


@pytest.mark.parametrize("name", [None, "UTF8"])
def test_a_log_of_which_most_is_not_utf_8_is_refused(tmp_path: Path, name: str | None) -> None:
    for log in (of_names([BROKEN]), of_names([BROKEN] * 5 + UTF_8[:4]), of_names([BROKEN] * 9)):
        with pytest.raises(UsageError, match="it is not UTF") as refused:
            entries(tmp_path, ASCII.encode() + log, encoding=name)
        assert "--encoding" in str(refused.value.hint)


def test_an_encoding_of_which_few_lines_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="as LATIN1: it is UTF-8"):
        entries(tmp_path, of_names([BROKEN, *UTF_8]), encoding="LATIN1")
    few = of_names([BROKEN] * 9 + UTF_8[:2])
    assert len(entries(tmp_path, few, encoding="LATIN1")) == 11


@pytest.mark.parametrize("at", range(120, 135))
def test_letters_that_a_runtime_cut_are_whole_again(tmp_path: Path, at: int) -> None:
    line = stderr(1, "select '" + "\u30c7\u00e4\U0001f600" * 9 + "'").encode()
    stamped = b"2026-11-28T03:00:00.1Z stderr "
    log = stamped + b"P " + line[:at] + b"\n" + stamped + b"F " + line[at:]
    read = texts(entries(tmp_path, log * 3))
    assert read == ["select '" + "\u30c7\u00e4\U0001f600" * 9 + "'"] * 3


@pytest.mark.parametrize("key", ["log", "message", "record"])
def test_letters_that_an_envelope_lost_are_counted(tmp_path: Path, key: str) -> None:
    def row(letter: str, second: int) -> str:
        text = f"select a from t where b = 'M{letter}ller'"
        if key != "record":
            return json.dumps({key: stderr(second, text)}) + "\n"
        fields = {"log_time": stamp(second), "session_id": "6.4d", "error_severity": "LOG"}
        return json.dumps({"record": fields | {"message": message(text)}}) + "\n"

    log = row("\ufffd", 1) + row("\u00fc", 2) + row("\ufffd\ufffd", 3)
    assert outcomes(tmp_path, log) == {CAPTURED: 1, StatementOutcome.ENCODING: 2}


def test_a_replacement_character_that_the_server_wrote_is_the_value(tmp_path: Path) -> None:
    for log in (stderr(1, "select '\ufffd'"), jsonlog(1, "select '\ufffd'")):
        assert outcomes(tmp_path, log) == {CAPTURED: 1}


@pytest.mark.parametrize(
    ("pack", "program"),
    [(gzip.compress, "zcat"), (bz2.compress, "bzcat"), (lzma.compress, "xzcat")],
)
def test_what_is_cut_off_says_what_reads_the_rest(
    tmp_path: Path, pack: Callable[[bytes], bytes], program: str
) -> None:
    data = pack(ASCII.encode())
    log = tmp_path / "a b.log"
    log.write_bytes(data[:-20])
    with pytest.raises(UsageError, match="could not unpack") as refused:
        list(read_entries([log]))
    assert f"{program} '{log}' | steelyard workloads capture -" in str(refused.value.hint)
