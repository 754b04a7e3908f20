"""A capture ends with what to type next, and a log that holds nothing is said to be empty."""

from __future__ import annotations

import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.workloads.capturing.ledger import CaptureLedger
from steelyard.workloads.capturing.mix import TransactionKind
from steelyard.workloads.capturing.writing import Captured
from steelyard.workloads.reading.arrivals import MOST_ARRIVALS
from steelyard.workloads.reading.folder import read_workload
from thinned import thinned

LINE = (
    '2026-11-27 10:00:0{n}.000 UTC,"app","my shop",7,"[local]",65f0.7,{n},"SELECT",'
    "2026-11-27 09:00:00 UTC,3/0,{xid},LOG,00000,"
    '"duration: 1.5 ms  statement: {sql}",,,,,,,,,"psql","client backend",,0\n'
)


def capture(directory: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "workloads", "capture", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.long
def test_a_capture_says_what_to_type_next_with_its_database(tmp_path: Path) -> None:
    statements = ("SELECT 1 FROM t", "SELECT 1 FROM t", "UPDATE t SET a = 1")
    lines = [LINE.format(n=n, xid=n if n == 2 else 0, sql=sql) for n, sql in enumerate(statements)]
    (tmp_path / "day.csv").write_text("".join(lines))
    said = capture(tmp_path, "day.csv", "-o", "o u r s", "--database", "my shop").splitlines()
    command = next(line for line in said if line.startswith("next    "))
    assert shlex.split(command.removeprefix("next    ")) == [
        "steelyard", "weigh", "checksums", "--workload", "o u r s", "--from", "DATA",
        "--database", "my shop",
    ]  # fmt: skip
    [left_out] = [line for line in said if "transactions that write" in line]
    assert left_out.endswith("; --writes takes them")
    named_alike = capture(tmp_path, "day.csv", "-o", "queue")
    assert "--workload ./queue " in named_alike, "there is a built-in workload of this name"
    every = capture(tmp_path, "day.csv", "-o", "all", "--writes")
    assert "takes them" not in every
    assert "--database" not in every


@thinned(
    ("folder", "log", "table", "name"),
    [
        ("Gr\u00f6\u00dfen", "M\u00e4rz.csv", "stra\u00dfe", "Gr--en"),
        ("\u0437\u0430\u043a\u0430\u0437\u044b", "a.csv", "\u0442", "captured------"),
        ("day\U0001f4c8", "\U0001f418.csv", "\U00020bb7", "day-"),
    ],
    1,
)
def test_a_capture_with_letters_of_any_language_can_be_read(
    tmp_path: Path, folder: str, log: str, table: str, name: str
) -> None:
    line = LINE.format(n=0, xid=0, sql=f"SELECT 1 FROM {table}")
    (tmp_path / log).write_text(line, encoding="utf-8")
    capture(tmp_path, log, "-o", folder)
    workload = read_workload(tmp_path / folder)
    assert workload.name == name
    assert list(workload.scripts) == [f"01-select-{table}"]
    assert log in workload.title


@pytest.mark.parametrize("name", ["empty.csv", "empty.log"])
def test_an_empty_log_is_said_to_be_empty(
    refused: Callable[..., str], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("")
    said = refused("workloads", "capture", str(tmp_path / name), "-o", str(tmp_path / "x"))
    assert "it is empty" in said
    assert "prefix" not in said


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        ("AUDIT: SESSION,1,1,READ,SELECT,,,select 1,<not logged>", "Entries of pgAudit are none."),
        ("duration: 7.1 ms  plan:\n\tQuery Text: select 1", "Plans of auto_explain are none."),
        ("checkpoint starting: time", ""),
    ],
)
def test_a_log_of_other_entries_is_said_to_hold_no_statement(
    refused: Callable[..., str], tmp_path: Path, message: str, detail: str
) -> None:
    (tmp_path / "a.log").write_text(f"2026-11-28 03:00:00.000 UTC [100] LOG:  {message}\n" * 3)
    words = refused("workloads", "capture", str(tmp_path / "a.log"), "-o", str(tmp_path / "x"))
    assert "the log holds no statement" in words
    assert detail in words
    assert ("are none" in words) == bool(detail)


def test_what_was_captured_is_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text(LINE.format(n=1, xid=0, sql="SELECT 1 FROM t"))
    capture(tmp_path, "day.csv", "-o", "ours")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == 0o700


def test_more_arrivals_than_are_kept_are_noted(tmp_path: Path) -> None:
    kind = TransactionKind((), MOST_ARRIVALS + 1)
    captured = Captured(tmp_path, "simple", (("01", kind),), CaptureLedger())
    assert captured.too_many_arrivals == MOST_ARRIVALS + 1
    assert replace(captured, arrivals=7).too_many_arrivals is None
    kind.count = MOST_ARRIVALS
    assert captured.too_many_arrivals is None, "their times are not known"
