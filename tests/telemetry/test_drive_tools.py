"""A program is found where administrators' programs are, and ends in time or is left behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from steelyard.telemetry import drive_health
from steelyard.telemetry.drive_health import answer_of, find_program
from telemetry.drive_reports import program


def test_a_program_is_found_beside_the_path_of_an_ordinary_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(drive_health, "PLACES", (str(tmp_path / "sbin"),))
    assert find_program("smartctl") is None
    there = program(tmp_path / "sbin", "smartctl", "")
    assert find_program("smartctl") == str(there)
    first = program(tmp_path / "bin", "smartctl", "")
    assert find_program("smartctl") == str(first)


def test_an_answer_has_both_outputs_and_the_status(tmp_path: Path) -> None:
    said = answer_of([str(program(tmp_path, "x", "out", 64, "wrong"))], 10)
    assert said is not None
    assert (said.output.strip(), said.errors.strip(), said.status) == ("out", "wrong", 64)


def test_what_cannot_be_started_is_an_answer_too(tmp_path: Path) -> None:
    said = answer_of([str(tmp_path / "nothing")], 10)
    assert said is not None
    assert said.status == 127
    assert "No such file" in said.errors


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    path = tmp_path / "hangs"
    path.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/number"\nsleep 60 &\nsleep 60\n')
    path.chmod(0o755)
    assert answer_of([str(path)], 1.0) is None
    group = int((tmp_path / "number").read_text())
    deadline = time.monotonic() + 10
    while _lives(group):
        assert time.monotonic() < deadline, "its children live on"
        time.sleep(0.05)


def _lives(group: int) -> bool:
    """Whether a process of the group runs; one that waits to be reaped does not."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, own = each.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(own) == group and state != "Z" and int(each.parent.name) != os.getpid():
            return True
    return False


def test_the_words_are_those_of_the_c_locale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    path = tmp_path / "tells"
    path.write_text('#!/bin/sh\necho "$LC_ALL"\n')
    path.chmod(0o755)
    said = answer_of([str(path)], 10)
    assert said is not None
    assert said.output == "C\n"
