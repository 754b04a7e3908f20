"""Pipes are read whole, and nothing is read twice."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.entries import read_entries
from thinned import thinned
from workloads.capturing.logs.log_lines import csv, entries, jsonlog, stderr, texts, written

WRITERS = {"stderr": stderr, "csv": csv, "json": jsonlog}
MANY = 4000


def log(kind: str, seconds: range) -> str:
    return "".join(WRITERS[kind](second / 10, f"select {second}") for second in seconds)


@pytest.mark.parametrize("kind", list(WRITERS))
@thinned("packed", [False, True], 1)
def test_a_pipe_is_read_from_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, packed: bool
) -> None:
    data = log(kind, range(MANY)).encode()
    data = gzip.compress(data) if packed else data
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    expected = [f"select {number}" for number in range(MANY)]
    assert texts(list(read_entries([pipe]))) == expected
    writer.join()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert texts(list(read_entries([Path("-")]))) == expected


def test_copies_of_pipes_are_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = log("stderr", range(300)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    read = read_entries([Path("-")])
    next(read)
    assert list(tmp_path.iterdir())
    read.close()  # type: ignore[attr-defined]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("second", list(WRITERS))
@pytest.mark.parametrize("first", list(WRITERS))
@thinned("whole_seconds", [False, True], 1)
def test_the_same_entries_in_two_logs_are_refused(
    tmp_path: Path, first: str, second: str, whole_seconds: bool
) -> None:
    def both(seconds: range, others: range) -> None:
        logs = [log(first, seconds), log(second, others)]
        if whole_seconds and first == "stderr":  # %t
            logs[0] = "".join(line[:19] + line[23:] for line in logs[0].splitlines(True))
        entries(tmp_path, *logs)

    for seconds, others in (
        (range(200), range(200)), (range(2000), range(1500, 2500)), (range(5), range(5)),
        (range(300, 900), range(700)),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="have the same entries"):
            both(seconds, others)
    both(range(200), range(200, 400))
    both(range(200), range(203, 400))


def test_a_session_that_repeats_itself_over_a_change_of_files_is_no_copy(tmp_path: Path) -> None:
    line = stderr(1, "select 1").replace(".000 UTC", " UTC").replace("duration: 1.000 ms  ", "")
    later = line.replace("03:00:01", "03:00:02")
    assert len(entries(tmp_path, line * 900, line * 90 + later * 300)) == 1290


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    [path] = written(tmp_path, log("stderr", range(5)))
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    for other in (path, tmp_path / "link", tmp_path / "hard", tmp_path / "." / path.name):
        with pytest.raises(UsageError, match="is named twice"):
            list(read_entries([path, other]))


@pytest.mark.parametrize("empty", [b"", b"\n\n", b"\0" * 4096, gzip.compress(b""), b"\xef\xbb\xbf"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_log_without_a_word_among_others_is_none(
    tmp_path: Path, empty: bytes, place: int
) -> None:
    """As rotation leaves where an hour had no traffic."""
    logs: list[str | bytes] = [log("stderr", range(20)), log("stderr", range(20, 40))]
    logs.insert(place, empty)
    assert texts(entries(tmp_path, *logs)) == [f"select {number}" for number in range(40)]


@pytest.mark.parametrize("logs", [[b""], [b"\n"], [b"", b"\n"]])
def test_logs_all_without_a_word_are_refused(tmp_path: Path, logs: list[bytes]) -> None:
    with pytest.raises(UsageError, match="it is empty") as refused:
        entries(tmp_path, *logs)
    assert "log_directory" in str(refused.value.hint)


def test_a_directory_is_refused_with_what_names_its_logs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is a directory") as refused:
        list(read_entries([tmp_path]))
    assert f"{tmp_path}/*.log" in str(refused.value.hint)
