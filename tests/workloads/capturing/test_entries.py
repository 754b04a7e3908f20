"""Logs of every format and prefix are cut into the same entries."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.logs.entry import LogEntry
from steelyard.workloads.capturing.logs.prefixes import USUAL, prefix_pattern

MESSAGE = "duration: 1.5 ms  execute <unnamed>: SELECT *\n  FROM t\n WHERE a = $1"
DETAIL = "Parameters: $1 = 'it''s', $2 = NULL"


def csv_line(message: str, detail: str = "", session: str = "6.1") -> str:
    fields = [""] * 26
    fields[0], fields[1], fields[2], fields[3] = "2026-11-23 10:00:01.500 UTC", "app", "shop", "17"
    fields[5], fields[11], fields[13], fields[14] = session, "LOG", message, detail
    fields[22] = "web"
    return ",".join('"' + field.replace('"', '""') + '"' if field else "" for field in fields)


def told(path: Path, prefix: str | None = None) -> LogEntry:
    [entry] = read_entries([path], prefix)
    assert (entry.message, entry.detail, entry.severity) == (MESSAGE, DETAIL, "LOG")
    return entry


def test_csvlog_is_read_with_line_breaks_in_statements(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(csv_line(MESSAGE, DETAIL) + "\n")
    entry = told(log)
    assert (entry.session, entry.user, entry.database) == ("6.1", "app", "shop")
    assert entry.application == "web"


def test_jsonlog_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    one = {
        "timestamp": "2026-11-23 10:00:01.500 UTC", "user": "app", "dbname": "shop", "pid": 17,
        "session_id": "6.1", "error_severity": "LOG", "message": MESSAGE, "detail": DETAIL,
        "application_name": "web",
    }  # fmt: skip
    log.write_text(json.dumps(one) + "\n")
    assert told(log).database == "shop"
    log.write_text('{"broken\n')
    with pytest.raises(UsageError, match="line 1 is no entry"):
        list(read_entries([log]))


FILLED = {
    "%m": "2026-11-23 10:00:01.500 UTC", "%t": "2026-11-23 10:00:01 UTC", "%p": "17", "%u": "app",
    "%d": "shop", "%q": "", "%l": "3", "%a": "web", "%h": "10.0.0.1", "%r": "10.0.0.1(5)",
    "%c": "6563.1a", "%n": "1700000000.250", "%e": "00000", "%%": "%", "%b": "client backend",
    "%v": "3/12", "%x": "0", "%i": "SELECT", "%Q": "-44", "%s": "2026-11-23 10:00:00 UTC",
    "%P": "", "%L": "local",
}  # fmt: skip


def stderr_lines(prefix: str) -> str:
    head = prefix
    for escape, words in FILLED.items():
        head = head.replace(escape, words)
    message = MESSAGE.replace("\n", "\n\t")
    return f"{head}LOG:  {message}\n{head}DETAIL:  {DETAIL}\n"


@pytest.mark.parametrize(
    "prefix", [*USUAL, "%n %c ", "100%% %p|%e|%b|%v|%x|%i|%Q|%s|%P|%L: ", "%m [%p:%l] %q%u@%d "]
)
def test_stderr_is_read_by_its_prefix(tmp_path: Path, prefix: str) -> None:
    log = tmp_path / "postgresql.log"
    log.write_text(stderr_lines(prefix))
    entry = told(log, prefix)
    assert entry.session in ("17", "6563.1a")
    assert entry.database == ("shop" if "%d" in prefix else "")


@pytest.mark.parametrize("prefix", USUAL)
def test_a_usual_prefix_needs_not_be_named(tmp_path: Path, prefix: str) -> None:
    log = tmp_path / "postgresql.log.gz"
    log.write_bytes(gzip.compress(stderr_lines(prefix).encode()))
    entry = told(log)
    assert entry.session == ("6563.1a" if "%c" in prefix else "17")
    assert entry.database == ("shop" if "%d" in prefix else "")


def test_another_prefix_and_one_that_tells_no_sessions_are_refused(tmp_path: Path) -> None:
    log = tmp_path / "postgresql.log"
    log.write_text("<app> LOG:  duration: 1 ms  statement: SELECT 1\n")
    with pytest.raises(UsageError) as refused:
        list(read_entries([log]))
    assert "--prefix" in str(refused.value.hint)
    with pytest.raises(UsageError, match="no line begins"):
        list(read_entries([log], "%m [%p] "))
    with pytest.raises(UsageError, match="tell sessions apart"):
        prefix_pattern("%m ")
    with pytest.raises(UsageError, match="unknown escape"):
        prefix_pattern("%p %y ")
    with pytest.raises(UsageError, match="No such file"):
        list(read_entries([tmp_path / "missing"]))


TEXTS = tuple(f"SELECT id\r\n  FROM t -- \u00fc\n WHERE id = {n}" for n in range(4))
STAMPS = tuple(f"2026-11-27 10:00:0{n}.250 UTC" for n in range(4))


def message(text: str) -> str:
    return f"duration: 0.1 ms  statement: {text}"


def stderr_line(prefix: str, text: str) -> str:
    return f"{prefix}LOG:  {message(text)}".replace("\n", "\n\t") + "\n"


def syslog_lines(number: int, text: str) -> str:
    """As write_syslog (elog.c) and rsyslog make them, cut short in words as long ones are."""
    prefix = f"{STAMPS[number]} [77] app@shop "
    parts = stderr_line(prefix, text).rstrip("\n").split("\n")
    words = parts[0].split(" FROM")
    lines = [words[0], *parts[1:]]
    cut = lines[-1].rindex(" = ")
    lines = [*lines[:-1], lines[-1][:cut], lines[-1][cut:]]
    head = "Nov 27 10:00:00 db1 postgres[77]: "
    return "".join(
        f"{head}[{number}-{place}] {line}\n".replace("\t", "#011").replace("\r", "#015")
        for place, line in enumerate(lines, 1)
    )


def enveloped(number: int, text: str) -> dict[str, dict[str, object]]:
    """By their writer, JSON objects around an entry."""
    stamp = STAMPS[number]
    line = stderr_line(f"{stamp} [77]: [{number}-1] db=shop,user=app ", text)
    columns = {
        "log_time": stamp, "user_name": "app", "database_name": "shop", "process_id": "77",
        "session_id": "6.4d", "error_severity": "LOG", "message": message(text),
    }  # fmt: skip
    azure = {
        "timestamp": stamp, "processId": 77, "errorLevel": "LOG", "message": message(text),
        "backend_type": "client backend",
    }  # fmt: skip
    return {
        "CloudNativePG": {"level": "info", "logger": "postgres", "record": columns},
        "Cloud SQL": {"severity": "INFO", "textPayload": line, "timestamp": stamp},
        "Azure": {"category": "PostgreSQLLogs", "time": stamp, "properties": azure},
        "Azure, prefix": {"properties": {"message": stderr_line(f"{stamp}-6.4d-", text)}},
        "Docker": {"log": line, "stream": "stderr", "time": stamp},
    }


def read_texts(path: Path, encoding: str | None = None) -> list[str]:
    entries = list(read_entries([path], encoding=encoding))
    seconds = [entry.seconds - entries[0].seconds for entry in entries]
    assert seconds == sorted(seconds)
    assert len({entry.session for entry in entries}) == 1
    return [entry.message.removeprefix(message("")) for entry in entries]


@pytest.mark.parametrize("writer", list(enveloped(0, "")))
def test_envelopes_of_operators_and_clouds_are_opened(tmp_path: Path, writer: str) -> None:
    log = tmp_path / "log.json"
    values = [enveloped(number, text)[writer] for number, text in enumerate(TEXTS)]
    others = [{"level": "info", "msg": "an operator's own"}]
    log.write_text("".join(json.dumps(value) + "\n" for value in [*values, *others]))
    assert read_texts(log) == list(TEXTS)
    for text in (json.dumps(values), json.dumps(values, indent=1), json.dumps({"records": values})):
        log.write_text(text)
        assert read_texts(log) == list(TEXTS)
    if writer == "Cloud SQL":  # its exports begin with the newest
        log.write_text("".join(json.dumps(value) + "\n" for value in reversed(values)))
        assert read_texts(log) == list(TEXTS)


def test_what_syslog_cuts_is_put_together(tmp_path: Path) -> None:
    log = tmp_path / "syslog"
    lines = [syslog_lines(number, text).splitlines() for number, text in enumerate(TEXTS)]
    other = "Nov 27 10:00:00 db1 sshd[5]: Accepted publickey\n"
    log.write_text(other + "".join(line + "\n" for message in lines for line in message))
    assert read_texts(log) == list(TEXTS)
    # Parts of two processes between each other.
    second = [line.replace("[77]", "[78]") for line in lines[1]]
    mixed = [line for pair in zip(lines[0], second, strict=True) for line in pair]
    log.write_text("".join(line + "\n" for line in mixed))
    entries = list(read_entries([log]))
    assert [entry.session for entry in entries] == ["77", "78"]
    assert [entry.message for entry in entries] == [message(text) for text in TEXTS[:2]]


PACKED = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda text: pytest.importorskip("zstandard").ZstdCompressor().compress(text),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(PACKED))
def test_packed_logs_are_read_whole_or_refused(tmp_path: Path, kind: str) -> None:
    log = tmp_path / f"log.{kind}"
    text = "".join(stderr_line(f"{s} [77] ", t) for s, t in zip(STAMPS, TEXTS, strict=True))
    pack = PACKED[kind]
    half = text.index(STAMPS[2])
    log.write_bytes(pack(text[:half].encode()) + pack(text[half:].encode()))
    assert read_texts(log) == list(TEXTS)
    log.write_bytes(pack(text.encode())[:-9])
    with pytest.raises(UsageError, match="could not unpack log"):
        list(read_entries([log]))


@pytest.mark.parametrize(
    ("codec", "named", "mark"),
    [
        ("utf-8", None, b""), ("utf-8", None, codecs.BOM_UTF8),
        ("utf-16-le", None, codecs.BOM_UTF16_LE), ("utf-16-be", None, codecs.BOM_UTF16_BE),
        ("utf-16-le", None, b""), ("latin-1", "LATIN1", b""), ("cp1252", "WIN1252", b""),
        ("iso8859-15", "LATIN9", b""), ("gb18030", "GB18030", b""), ("utf-8", "UTF8", b""),
    ],
)  # fmt: skip
def test_encodings_are_known_by_their_marks_or_by_name(
    tmp_path: Path, codec: str, named: str | None, mark: bytes
) -> None:
    log = tmp_path / "postgresql.log"
    text = "".join(stderr_line(f"{s} [77] ", t) for s, t in zip(STAMPS, TEXTS, strict=True))
    log.write_bytes(mark + text.encode(codec))
    assert read_texts(log, named) == list(TEXTS)


def test_an_encoding_that_is_not_named_or_not_known_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "postgresql.log"
    log.write_bytes(stderr_line(f"{STAMPS[0]} [77] ", TEXTS[0]).encode("latin-1"))
    with pytest.raises(UsageError, match="it is not UTF-8") as refused:
        list(read_entries([log]))
    assert "--encoding" in str(refused.value.hint)
    for name in ("SQL_ASCII", "rot13", "base64", "MULE_INTERNAL"):
        with pytest.raises(UsageError, match="unknown encoding"):
            list(read_entries([log], encoding=name))
    log.write_bytes(b"\x7fELF\x00\x00\x01\x02" * 40)
    with pytest.raises(UsageError, match="it is no text"):
        list(read_entries([log]))


def test_line_ends_of_the_file_are_none_of_a_value(tmp_path: Path) -> None:
    """A file that was written or copied on Windows; a value's own are told by the others."""
    log = tmp_path / "postgresql.log"
    text = "".join(stderr_line(f"{s} [77] ", t) for s, t in zip(STAMPS, TEXTS, strict=True))
    log.write_bytes(text.replace("\n", "\r\n").encode())
    assert read_texts(log) == list(TEXTS)


def test_headings_of_csvlog_are_taken_by_name(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    head = "message,process_id,log_time,error_severity,user_name\n"
    log.write_text(f'{head}"{message("SELECT 1")}",77,{STAMPS[0]},LOG,app\n')
    [entry] = read_entries([log])
    assert (entry.session, entry.message, entry.user) == ("77", message("SELECT 1"), "app")
    log.write_text("log_time,user_name,database_name\n" + csv_line(MESSAGE, DETAIL) + "\n")
    assert told(log).user == "app"


@pytest.mark.parametrize("kind", ["csv", "json", "stderr"])
@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_entry_that_is_still_being_written_is_not_whole(
    tmp_path: Path, kind: str, cut: int
) -> None:
    log = tmp_path / f"log.{kind}"
    text = message("SELECT 'a text, longer than what is cut off it ' || 'of some sixty letters'")
    lines = {
        "csv": csv_line(text) + "\n",
        "json": json.dumps(
            {"timestamp": STAMPS[0], "pid": 77, "error_severity": "LOG", "message": text}
        )
        + "\n",
        "stderr": stderr_line(f"{STAMPS[0]} [77] ", text[len(message("")) :]),
    }
    log.write_text(lines[kind] * 2 + lines[kind][: -cut - (0 if kind == "stderr" else 16)])
    entries = list(read_entries([log]))
    assert [entry.whole for entry in entries] == [True, True, False]
    assert entries[2].message.startswith("duration: 0.1 ms  statement: SE")


def test_files_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    paths = []
    for number, name in enumerate("cab"):
        path = tmp_path / name
        path.write_text(stderr_line(f"{STAMPS[number]} [77] ", TEXTS[number]))
        paths.append(path)
    messages = [entry.message for entry in read_entries(sorted(paths))]
    assert messages == [message(text) for text in TEXTS[:3]]
