"""Logs of every format and prefix are cut into the same entries."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from steelyard.workloads.capturing.logs.entry import Entry
from steelyard.workloads.capturing.logs.prefix import USUAL, prefix_pattern

MESSAGE = "duration: 1.5 ms  execute <unnamed>: SELECT *\n  FROM t\n WHERE a = $1"
DETAIL = "Parameters: $1 = 'it''s', $2 = NULL"


def csv_line(message: str, detail: str = "", session: str = "6.1") -> str:
    fields = [""] * 26
    fields[0], fields[1], fields[2], fields[3] = "2026-11-23 10:00:01.500 UTC", "app", "shop", "17"
    fields[5], fields[11], fields[13], fields[14] = session, "LOG", message, detail
    fields[22] = "web"
    return ",".join('"' + field.replace('"', '""') + '"' if field else "" for field in fields)


def told(path: Path, prefix: str | None = None) -> Entry:
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
    log.write_text("{broken\n")
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
