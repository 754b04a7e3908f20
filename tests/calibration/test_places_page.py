"""docs/results/file-systems.md says what was read of arms on file systems of their own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from steelyard.study.read import read_study
from validation import places
from validation.pages.places import page

MACHINE = {
    "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1], "memory_bytes": 8e9,
    "virtual": True,
}  # fmt: skip
CONTRAST = {
    "arm": "xfs", "control": "ext4", "estimate_percent": -4.1, "low_percent": -6.0,
    "high_percent": None, "verdict": "slower", "epochs": 12, "sentence": "xfs costs 4.1 %",
    "threats": [{"name": "data directory tied to the arm"}], "unit": "transactions/s",
}  # fmt: skip
VERDICT = {
    "contrasts": [CONTRAST],
    "pairs": [CONTRAST | {"control": "btrfs"}],
    "whole_seconds": 1500.0,
}


def test_each_arm_has_its_row_and_its_doubts(tmp_path: Path) -> None:
    (tmp_path / "environment.json").write_text(json.dumps({"machine": MACHINE}))
    text = page([places.result_of(["mine.toml", "--seed", "16"], VERDICT, tmp_path)])
    assert "\nsteelyard weigh mine.toml --seed 16\n" in text
    assert "| xfs against ext4 | −4.1 % | [−6.0, unbounded] % | slower | 12 |" in text
    assert "| xfs against btrfs | −4.1 % |" in text
    assert "25 minutes. Doubts: data directory tied to the arm. Measured on 2 proc" in text
    assert "Not yet weighed." in page([])


def test_the_page_is_what_the_results_say() -> None:
    assert places.PAGE.read_text(encoding="utf-8") == page(list(places.RESULTS))


def test_every_arm_has_a_place_that_is_made() -> None:
    [(study, *_)] = places.WEIGHINGS.values()
    weighed = read_study(str(Path(__file__).parents[2] / study))
    named = {arm.directory for arm in weighed.every_arm}
    assert named == {str(places.PLACES / kind) for kind in places.KINDS}


@pytest.mark.long
@pytest.mark.skipif(
    os.geteuid() != 0 or not (shutil.which("mkfs.xfs") and shutil.which("mkfs.btrfs")),
    reason="file systems are mounted by root, and made by xfsprogs and btrfs-progs",
)
def test_file_systems_are_there_within_the_block_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PLACES", tmp_path)
    mounts = Path("/proc/self/mounts")
    with places.mounted():
        lines = [line.split() for line in mounts.read_text().splitlines()]
        there = {place: kind for _, place, kind, *_ in lines if place.startswith(str(tmp_path))}
        assert there == {str(tmp_path / kind): kind for kind in places.KINDS}
    assert str(tmp_path) not in mounts.read_text()
