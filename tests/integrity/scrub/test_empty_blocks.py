"""Blocks of zeroes are sound, cannot be told from lost ones, and are counted."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from integrity.made_files import empty_page, mapped_cluster_at
from steelyard.cli.views.scrubbed import render
from steelyard.integrity.scrub.outcome import ScrubOutcome, ScrubRequest
from steelyard.integrity.scrub.scrub import scrub

ZEROES = bytes(8192)
NOT_EMPTY = ZEROES[:-1] + b"x"


def scrubbed(path: Path) -> ScrubOutcome:
    return scrub(ScrubRequest(path, max_rate=0.0), lambda *_: None)


@pytest.mark.parametrize("form", ["directory", "tar", "tar.gz"])
def test_blocks_of_zeroes_are_counted(form: str, tmp_path: Path) -> None:
    data = mapped_cluster_at(tmp_path / "data")
    assert scrubbed(data).empty == 0
    assert "all zeroes" not in render(scrubbed(data))
    (data / "base/5/16390").write_bytes(empty_page() + ZEROES * 3 + NOT_EMPTY)
    (data / "base/5/16391_vm").write_bytes(ZEROES * 2 + ZEROES[:100])
    place = data
    if form != "directory":
        place = tmp_path / "backup"
        place.mkdir()
        with tarfile.open(place / f"base.{form}", "w:gz" if form == "tar.gz" else "w") as opened:
            opened.add(data, ".")
    outcome = scrubbed(place)
    assert (outcome.empty, outcome.to_json()["empty"]) == (5, 5)
    assert outcome.blocks == 3 + 5 + 2
    assert sorted(finding.reason for finding in outcome.bad) == ["not empty", "short"]
    assert "5 blocks are all zeroes: never written, or lost" in render(outcome)
