"""`steelyard fleet` shows what hosts answered, and takes records in, by the program as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from records.conftest import unpack


@pytest.mark.long
def test_records_are_taken_in_and_shown_host_by_host(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    unpack("settings", tmp_path / "theirs")
    taken = steelyard("fleet", "collect", "theirs", "--json")
    assert taken.returncode == 0, taken.stderr
    assert len(json.loads(taken.stdout)["taken"]) == 1
    known = steelyard("fleet", "collect", "theirs")
    assert known.stdout.startswith("known    theirs/settings -> records/fleet/")
    shown = steelyard("fleet")
    assert "of 1 host" in shown.stdout
    told = json.loads(steelyard("fleet", "--question", "settings", "--json").stdout)
    [one] = told["questions"]
    assert len(one["hosts"]) == 1
    assert one["estimate_percent"] is None, "one host tells of no kind of machine"


def test_the_kind_of_a_collected_host_is_shown_and_what_is_unfinished_is_skipped(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    (tmp_path / "theirs").mkdir()
    unpack("settings", tmp_path / "theirs")
    running = unpack("aa", tmp_path / "theirs")
    (running / "verdict.json").unlink()
    taken = steelyard("fleet", "collect", "theirs", "--kind", "m7a.large")
    assert taken.returncode == 0
    assert "skipped  theirs/aa: it has no verdict" in taken.stdout
    assert steelyard("fleet").stdout.splitlines()[0].endswith(", m7a.large")


def test_what_is_refused_is_said_and_ends_with_1(steelyard: Steelyard, tmp_path: Path) -> None:
    place = unpack("settings", tmp_path)
    (place / "verdict.json").write_text("{")
    said = steelyard("fleet", "collect", "settings")
    assert said.returncode == 1
    assert said.stdout.startswith("refused  settings: ")
    assert steelyard("fleet", "collect", "nowhere").returncode == 3
