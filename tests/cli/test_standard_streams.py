"""Where output cannot be written the exit status says so, and never that a gate is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from history.made import keep_record
from thinned import thinned

COMMAND = (sys.executable, "-m", "steelyard", "history")
CLOSED_PIPE = 141


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A record, and what is none."""
    keep_record(tmp_path / "records" / "2026-03-01T120000Z")
    (tmp_path / "records" / "torn").mkdir()
    (tmp_path / "records" / "torn" / "plan.json").write_text("{")
    return tmp_path / "records"


def closing(descriptor: int) -> Callable[[], None]:
    return lambda: os.close(descriptor)


@pytest.mark.parametrize("descriptor", [1, 2])
@thinned(("place", "status"), [("records", 0), ("nowhere", 3)], 1)
def test_a_stream_that_is_closed_changes_no_status(
    records: Path, descriptor: int, place: str, status: int
) -> None:
    words = [*COMMAND, "trend", "checksums", "--records", str(records.parent / place), "--json"]
    ended = subprocess.run(
        words, capture_output=True, check=False, preexec_fn=closing(descriptor)
    )  # fmt: skip
    assert ended.returncode == status
    assert b"Traceback" not in ended.stdout + ended.stderr
    if descriptor == 2:
        assert ("error" in json.loads(ended.stdout)) is (status != 0)


def full() -> IO[bytes]:
    return Path("/dev/full").open("wb")


@pytest.mark.parametrize("place", ["records", "nowhere"])
@thinned("as_json", [True, False], 1)
def test_a_full_disk_is_an_error_of_the_output_alone(
    records: Path, place: str, as_json: bool
) -> None:
    words = [*COMMAND, "list", "--records", str(records.parent / place)]
    with full() as nowhere:
        ended = subprocess.run(
            [*words, *(["--json"] if as_json else [])],
            stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert ("could not write to standard output: no space left" in ended.stderr) is (
        place == "records"
    )


def test_what_is_said_on_the_way_may_be_lost_and_the_answer_is_not(records: Path) -> None:
    words = [*COMMAND, "trend", "checksums", "--records", str(records), "--json"]
    with full() as nowhere:
        ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=nowhere, check=False)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["unread"]


def test_a_pipe_that_is_closed_early_is_no_closed_gate(records: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [*COMMAND, "list", "--records", str(records)]
    ended = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert ended.returncode == CLOSED_PIPE
    assert ended.stderr == b""


def test_an_input_that_is_closed_is_an_empty_one(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "steelyard", "judge", "-"]
    ended = subprocess.run(words, capture_output=True, check=False, preexec_fn=closing(0))
    assert ended.returncode == 2
    assert b"empty" in ended.stderr
    assert b"Traceback" not in ended.stderr
